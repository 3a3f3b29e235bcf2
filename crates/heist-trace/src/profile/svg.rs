//! A profile as a picture: the speed-up that is to be expected, by the number of workers.

use super::{Prediction, Profile};
use std::io::{self, Write};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 48.0;
/// Both axes go from 1 to 2^8.
const BITS: u32 = 8;

fn x(workers: f64) -> f64 {
    LEFT + workers.log2() / f64::from(BITS) * (WIDTH - LEFT - RIGHT)
}

fn y(speed_up: f64) -> f64 {
    HEIGHT - BOTTOM - speed_up.max(1.0).log2() / f64::from(BITS) * (HEIGHT - TOP - BOTTOM)
}

fn points(all: impl Iterator<Item = (f64, f64)>) -> String {
    all.map(|(workers, speed_up)| format!("{:.1},{:.1}", x(workers), y(speed_up)))
        .collect::<Vec<_>>()
        .join(" ")
}

const STYLE: &str = "text{font:12px sans-serif;fill:#222}.g{stroke:#ccc}.l{stroke:#888;stroke-dasharray:4 4}\
    .b{fill:#3b7dd8;opacity:.25}.e{fill:none;stroke:#1f5fae;stroke-width:2}.p{fill:#fff}\
    @media(prefers-color-scheme:dark){text{fill:#ddd}.g{stroke:#444}.l{stroke:#999}.e{stroke:#7fb2f5}.p{fill:#1b1b1b}}";

impl Profile {
    /// Draws the speed-up that is to be expected for 1 to 256 workers, with its bounds, as an SVG file. If it is too fine to tell, the picture
    /// says so.
    ///
    /// ```
    /// let (_, profile) = heist::profile(|| std::thread::sleep(std::time::Duration::from_millis(1)));
    /// let mut svg = Vec::new();
    /// profile.write_svg(&mut svg)?;
    /// assert!(svg.starts_with(b"<svg "));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_svg(&self, mut out: impl Write) -> io::Result<()> {
        self.write_to(&mut out)
    }

    fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
             aria-label=\"speed-up by workers\"><style>{STYLE}</style><rect class=\"p\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>"
        )?;
        for bits in 0..=BITS {
            let n = f64::from(1 << bits);
            let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
            writeln!(
                out,
                "<line class=\"g\" x1=\"{0:.1}\" y1=\"{TOP}\" x2=\"{0:.1}\" y2=\"{bottom}\"/>\
                 <line class=\"g\" x1=\"{LEFT}\" y1=\"{1:.1}\" x2=\"{right}\" y2=\"{1:.1}\"/>\
                 <text x=\"{0:.1}\" y=\"{2:.1}\" text-anchor=\"middle\">{n}</text>\
                 <text x=\"{3:.1}\" y=\"{4:.1}\" text-anchor=\"end\">{n}</text>",
                x(n),
                y(n),
                bottom + 18.0,
                LEFT - 8.0,
                y(n) + 4.0
            )?;
        }
        writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">workers</text><text x=\"{LEFT}\" y=\"20\">{}</text>",
            (LEFT + WIDTH - RIGHT) / 2.0,
            HEIGHT - 10.0,
            self.headline()
        )?;
        let all: Vec<Prediction> = self.predictions().collect();
        if !all.is_empty() {
            let most = f64::from(1 << BITS);
            let line = points([(1.0, 1.0), (most, most)].into_iter());
            let upper = all.iter().map(|p| (p.workers as f64, p.upper));
            let lower = all.iter().rev().map(|p| (p.workers as f64, p.lower));
            writeln!(
                out,
                "<polyline class=\"l\" fill=\"none\" points=\"{line}\"/><polygon class=\"b\" points=\"{}\"/>\
                 <polyline class=\"e\" points=\"{}\"/>",
                points(upper.chain(lower)),
                points(all.iter().map(|p| (p.workers as f64, p.expected)))
            )?;
        }
        writeln!(out, "</svg>")
    }

    fn headline(&self) -> String {
        match (self.parallelism(), self.burdened_parallelism()) {
            (Some(plain), Some(burdened)) => {
                format!("speed-up: parallelism {plain:.1}, burdened {burdened:.1}")
            }
            _ => "too fine to tell: the pieces take less than a microsecond on average".into(),
        }
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::super::Figures;
    use super::*;

    fn svg(work_ns: u64) -> String {
        let figures =
            Figures { work_ns, span_ns: 10_000, burdened_ns: 20_000, pieces: 10, ..Figures::default() };
        let mut out = Vec::new();
        Profile::from(figures).write_svg(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_picture_has_bounds_and_a_line_inside_of_the_axes() {
        let text = svg(1_000_000);
        assert!(text.contains("parallelism 100.0, burdened 50.0"), "{text}");
        let band = text.split("class=\"b\" points=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(band.split(' ').count(), 18);
        for point in band.split(' ') {
            let (x, y) = point.split_once(',').unwrap();
            let (x, y): (f64, f64) = (x.parse().unwrap(), y.parse().unwrap());
            assert!((LEFT..=WIDTH - RIGHT).contains(&x) && (TOP..=HEIGHT - BOTTOM).contains(&y), "{point}");
        }
    }

    #[test]
    fn a_fine_one_says_so() {
        let text = svg(1_000);
        assert!(text.contains("too fine to tell") && !text.contains("polygon"), "{text}");
    }
}
