//! A timeline as a picture.

use super::{Activity, Row, Timeline};
use std::io::{self, Write};

/// The picture's inner width in pixels. What is shorter than a pixel is not drawn unless it is the most of it.
const COLUMNS: u64 = 800;
const LEFT: u64 = 84;
const RIGHT: u64 = 60;
const TOP: u64 = 56;
const ROW: u64 = 26;
const BAR: u64 = 18;

/// Shown in the legend, in this order; the colours can be told apart by those who see no red or no green.
const SHOWN: [(Activity, &str, &str); 5] = [
    (Activity::Own, "own", "own work"),
    (Activity::Stolen, "stolen", "stolen work"),
    (Activity::Searching, "searching", "searching"),
    (Activity::Blocked, "blocked", "blocked"),
    (Activity::Parked, "parked", "parked"),
];

const STYLE: &str = "text{font:13px system-ui,sans-serif;fill:#1f2328}.dim{fill:#656d76;font-size:12px}\
.own{fill:#0072b2}.stolen{fill:#d55e00}.searching{fill:#e6b800}.blocked{fill:#b05790}.parked{fill:#d8dee4}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.dim{fill:#8d96a0}.own{fill:#56a8e0}.stolen{fill:#f0803c}.parked{fill:#30363d}}";

fn class(activity: Activity) -> Option<&'static str> {
    SHOWN.iter().find(|(shown, ..)| *shown == activity).map(|&(_, class, _)| class)
}

impl Timeline {
    /// Draws the timeline as an SVG picture that follows the reader's light or dark theme. Its size depends on how many workers there are,
    /// and not on how much they did.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    ///
    /// ```
    /// use heist::trace::{Timeline, Trace};
    /// let mut svg = Vec::new();
    /// Timeline::new(&Trace::default()).write_svg("nothing at all", &mut svg)?;
    /// assert!(svg.starts_with(b"<svg") && svg.ends_with(b"</svg>\n"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write_svg(&self, title: &str, mut w: impl Write) -> io::Result<()> {
        self.write_to(title, &mut w)
    }

    fn write_to(&self, title: &str, w: &mut dyn Write) -> io::Result<()> {
        let height = TOP + ROW * self.rows.len() as u64 + 34;
        let width = LEFT + COLUMNS + RIGHT;
        writeln!(
            w,
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">"#
        )?;
        writeln!(w, "<title>{}</title><style>{STYLE}</style>", Escaped(title))?;
        writeln!(w, r#"<text x="0" y="16">{}</text>"#, Escaped(title))?;
        let mut x = 0;
        for (_, class, name) in SHOWN {
            writeln!(w, r#"<rect class="{class}" x="{x}" y="28" width="12" height="12" rx="2"/>"#)?;
            writeln!(w, r#"<text class="dim" x="{}" y="38">{name}</text>"#, x + 18)?;
            x += 112;
        }
        for (n, row) in self.rows.iter().enumerate() {
            self.write_row(row, TOP + ROW * n as u64, w)?;
        }
        let (y, ms) = (height - 12, self.duration_ns() as f64 / 1e6);
        writeln!(w, r#"<text class="dim" x="{LEFT}" y="{y}">0</text>"#)?;
        writeln!(
            w,
            r#"<text class="dim" x="{}" y="{y}" text-anchor="end">{ms:.1} ms</text>"#,
            LEFT + COLUMNS
        )?;
        writeln!(w, "</svg>")
    }

    fn write_row(&self, row: &Row, y: u64, w: &mut dyn Write) -> io::Result<()> {
        writeln!(w, r#"<text x="0" y="{}">worker {}</text>"#, y + 14, row.worker())?;
        let mut from = 0;
        let columns: Vec<Option<Activity>> = (0..COLUMNS).map(|column| self.most_of(row, column)).collect();
        for run in columns.chunk_by(|a, b| a == b) {
            let length = run.len();
            if let Some(class) = run[0].and_then(class) {
                writeln!(
                    w,
                    r#"<rect class="{class}" x="{}" y="{y}" width="{length}" height="{BAR}"/>"#,
                    LEFT + from
                )?;
            }
            from += length as u64;
        }
        let share = row.utilisation() * 100.0;
        writeln!(w, r#"<text class="dim" x="{}" y="{}">{share:.0} %</text>"#, LEFT + COLUMNS + 8, y + 14)
    }

    /// What the worker did for most of the time that a column stands for.
    fn most_of(&self, row: &Row, column: u64) -> Option<Activity> {
        let at = |column: u64| {
            self.start_ns + (u128::from(self.duration_ns()) * u128::from(column) / u128::from(COLUMNS)) as u64
        };
        let (from_ns, to_ns) = (at(column), at(column + 1));
        let first = row.intervals().partition_point(|interval| interval.end_ns <= from_ns);
        let mut times = [0; Activity::ALL.len()];
        for interval in row.intervals()[first..].iter().take_while(|interval| interval.start_ns < to_ns) {
            let ns = interval.end_ns.min(to_ns) - interval.start_ns.max(from_ns);
            times[Activity::ALL.iter().position(|&a| a == interval.activity)?] += ns;
        }
        let (most, &ns) = times.iter().enumerate().max_by_key(|&(_, ns)| ns)?;
        (ns > 0).then(|| Activity::ALL[most])
    }
}

/// A text between tags.
struct Escaped<'a>(&'a str);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for c in self.0.chars() {
            match c {
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '&' => f.write_str("&amp;")?,
                c if c.is_control() => f.write_str("\u{fffd}")?,
                c => write!(f, "{c}")?,
            }
        }
        Ok(())
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use crate::{Event, Kind, Timeline, Trace};

    fn drawn(trace: &Trace, title: &str) -> String {
        let mut svg = Vec::new();
        Timeline::new(trace).write_svg(title, &mut svg).unwrap();
        String::from_utf8(svg).unwrap()
    }

    #[test]
    fn each_activity_has_its_share_of_the_width() {
        let at = |at_ns, kind| Event { at_ns, kind, thread: 0, worker: Some(0), arg: 0 };
        let trace = Trace::builder()
            .events([
                at(0, Kind::JobStart),
                at(500, Kind::JobEnd),
                at(500, Kind::Park),
                at(1_000, Kind::Lend),
            ])
            .finish();
        let svg = drawn(&trace, "a");
        assert!(svg.contains(r#"class="own" x="84" y="56" width="400""#), "{svg}");
        assert!(svg.contains(r#"class="parked" x="484" y="56" width="400""#), "{svg}");
        assert!(svg.contains(">50 %<"), "{svg}");
    }

    #[test]
    fn a_title_is_a_text() {
        assert!(
            drawn(&Trace::default(), "</svg><script>").contains("<title>&lt;/svg&gt;&lt;script&gt;</title>")
        );
    }

    proptest::proptest! {
        #[test]
        fn any_trace_is_drawn_in_a_bounded_size(trace in crate::arbitrary::any_trace()) {
            let svg = drawn(&trace, "any");
            let rows = Timeline::new(&trace).rows().len();
            proptest::prop_assert!(svg.len() < 2_000 + rows * 800 * 80);
            proptest::prop_assert_eq!(svg.matches("<svg").count(), svg.matches("</svg>").count());
        }
    }
}
