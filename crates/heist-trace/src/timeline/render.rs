//! A timeline as text for a terminal.

use super::{Activity, Row, Timeline};
use std::fmt::Write;

/// The bar gives up the figures beside it rather than become narrower than this.
const BAR_MIN: usize = 16;

/// The character for each activity; each must be one column wide.
///
/// ```
/// use heist::trace::{Glyphs, Style};
/// let style = Style::new(80).glyphs(Glyphs { parked: '_', ..Glyphs::ASCII });
/// assert_ne!(style, Style::new(80).glyphs(Glyphs::ASCII));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glyphs {
    /// For [`Activity::Own`].
    pub own: char,
    /// For [`Activity::Stolen`].
    pub stolen: char,
    /// For [`Activity::Searching`].
    pub searching: char,
    /// For [`Activity::Parked`].
    pub parked: char,
    /// For [`Activity::Blocked`].
    pub blocked: char,
    /// For [`Activity::Absent`].
    pub absent: char,
}

impl Glyphs {
    /// Block characters, for terminals with Unicode.
    ///
    /// ```
    /// assert_eq!(heist::trace::Glyphs::BLOCKS.own, '\u{2588}');
    /// ```
    pub const BLOCKS: Glyphs = Glyphs {
        own: '\u{2588}',
        stolen: '\u{2592}',
        searching: '~',
        parked: '\u{b7}',
        blocked: 'x',
        absent: ' ',
    };

    /// Plain characters.
    ///
    /// ```
    /// assert!(heist::trace::Glyphs::ASCII.own.is_ascii());
    /// ```
    pub const ASCII: Glyphs =
        Glyphs { own: '#', stolen: '%', searching: '~', parked: '.', blocked: 'x', absent: ' ' };

    const fn of(&self, activity: Activity) -> char {
        match activity {
            Activity::Own => self.own,
            Activity::Stolen => self.stolen,
            Activity::Searching => self.searching,
            Activity::Parked => self.parked,
            Activity::Blocked => self.blocked,
            Activity::Absent => self.absent,
        }
    }
}

/// How a timeline is drawn.
///
/// ```
/// use heist::trace::{Glyphs, Style};
/// let quiet = Style::new(100).max_rows(16).glyphs(Glyphs::ASCII);
/// assert_eq!(quiet, Style::new(100).glyphs(Glyphs::ASCII).max_rows(16));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    width: usize,
    max_rows: usize,
    glyphs: Glyphs,
}

impl Style {
    /// For a terminal of this many columns: all workers, in block characters.
    ///
    /// ```
    /// use heist::trace::{Style, Timeline, Trace};
    /// println!("{}", Timeline::new(&Trace::default()).render(&Style::new(80)));
    /// ```
    #[must_use]
    pub const fn new(width: usize) -> Self {
        Self { width, max_rows: usize::MAX, glyphs: Glyphs::BLOCKS }
    }

    /// Draws at most this many workers and says how many were left out.
    ///
    /// ```
    /// use heist::trace::Style;
    /// assert_ne!(Style::new(80).max_rows(16), Style::new(80));
    /// ```
    #[must_use]
    pub const fn max_rows(self, max_rows: usize) -> Self {
        Self { max_rows, ..self }
    }

    /// Draws with these characters.
    ///
    /// ```
    /// use heist::trace::{Glyphs, Style};
    /// assert_ne!(Style::new(80).glyphs(Glyphs::ASCII), Style::new(80));
    /// ```
    #[must_use]
    pub const fn glyphs(self, glyphs: Glyphs) -> Self {
        Self { glyphs, ..self }
    }
}

impl Timeline {
    /// Draws one line per worker, a time axis, a legend, and a warning if events were lost.
    ///
    /// A column stands for an equal share of the time and shows the activity that took most of it. No line is wider than the
    /// style says, unless that is too narrow for a label and one column of time, or for one entry of the legend.
    ///
    /// ```
    /// use heist::trace::{Event, Glyphs, Kind, Style, Timeline, Trace};
    /// let at = |at_ns, kind, arg| Event { at_ns, kind, thread: 0, worker: Some(0), arg };
    /// let trace = Trace::builder()
    ///     .events([
    ///         at(0, Kind::JobStart, 0),
    ///         at(5_000, Kind::JobEnd, 0),
    ///         at(6_000, Kind::Park, 0),
    ///         at(8_000, Kind::Steal, 1),
    ///         at(8_000, Kind::JobStart, 0),
    ///         at(10_000, Kind::JobEnd, 0),
    ///     ])
    ///     .finish();
    /// let text = Timeline::new(&trace).render(&Style::new(46).glyphs(Glyphs::ASCII));
    /// assert_eq!(text.lines().next().unwrap(), "w0 ###############~~~......%%%%%%  70% 1 steal");
    /// ```
    #[must_use]
    pub fn render(&self, style: &Style) -> String {
        let shown = &self.rows[..self.rows.len().min(style.max_rows)];
        let labels: Vec<String> = shown.iter().map(|row| format!("w{}", row.worker)).collect();
        let figures: Vec<String> = shown.iter().map(|row| self.figures(row)).collect();
        let columns = |texts: &[String]| texts.iter().map(String::len).max().unwrap_or(0);
        let label_width = columns(&labels);
        let room = style.width.saturating_sub(label_width + 1);
        let with_figures = room.checked_sub(columns(&figures) + 1).filter(|&bar| bar >= BAR_MIN);
        let bar_width = with_figures.unwrap_or(room).max(1);

        let mut out = String::new();
        for ((row, label), figures) in shown.iter().zip(&labels).zip(&figures) {
            let figures = if with_figures.is_some() { figures } else { "" };
            let bar = self.bar(row, bar_width, &style.glyphs);
            push_line(&mut out, &format!("{label:label_width$} {bar} {figures}"));
        }
        if shown.len() < self.rows.len() {
            let more = self.rows.len() - shown.len();
            let s = if more == 1 { "" } else { "s" };
            push_line(&mut out, &format!("and {more} more worker{s}"));
        }
        if !shown.is_empty() {
            push_line(&mut out, &format!("{:label_width$} {}", "", axis(self.duration_ns(), bar_width)));
        }
        legend(&mut out, style);
        if self.lost > 0 {
            let s = if self.lost == 1 { "" } else { "s" };
            push_line(&mut out, &format!("{} event{s} lost", self.lost));
        }
        out
    }

    /// What stands beside a bar, as wide for each row.
    fn figures(&self, row: &Row) -> String {
        let most = self.rows.iter().map(Row::steals).max().unwrap_or(0);
        let digits = most.checked_ilog10().unwrap_or(0) as usize + 1;
        let steals = if row.steals == 1 { "steal" } else { "steals" };
        format!("{:3.0}% {:digits$} {steals}", 100.0 * row.utilisation(), row.steals)
    }

    fn bar(&self, row: &Row, width: usize, glyphs: &Glyphs) -> String {
        // Times are multiplied by the width, so that the columns' borders are whole numbers and no column is empty.
        let column_length = u128::from(self.duration_ns());
        let scaled = |ns: u64| u128::from(ns - self.start_ns) * width as u128;
        let mut intervals = row.intervals.iter().peekable();
        let mut bar = String::new();
        for column in 0..width as u128 {
            let (start, end) = (column * column_length, (column + 1) * column_length);
            let mut spent = [0; Activity::ALL.len()];
            while let Some(interval) = intervals.peek() {
                let overlap =
                    scaled(interval.end_ns).min(end).saturating_sub(scaled(interval.start_ns).max(start));
                spent[interval.activity as usize] += overlap;
                if scaled(interval.end_ns) > end {
                    break;
                }
                intervals.next();
            }
            // The first of equals: work rather than the want of it.
            let most = Activity::ALL.into_iter().rev().max_by_key(|&activity| spent[activity as usize]);
            bar.push(match most {
                Some(activity) if spent[activity as usize] > 0 => glyphs.of(activity),
                _ => glyphs.absent,
            });
        }
        bar
    }
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line.trim_end());
    out.push('\n');
}

/// The beginning and the end of the time, under the ends of the bars.
fn axis(duration_ns: u64, width: usize) -> String {
    let end = readable(duration_ns);
    match width.checked_sub(end.len() + 1) {
        Some(room) => format!("0{:room$}{end}", ""),
        None if end.len() <= width => end,
        None => String::new(),
    }
}

/// A time with its unit, rounded down.
fn readable(ns: u64) -> String {
    let (unit, name) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (1_000, "us"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    format!("{}.{:02} {name}", ns / unit, ns % unit / (unit / 100))
}

fn legend(out: &mut String, style: &Style) {
    let entries = [
        (Activity::Own, "own work"),
        (Activity::Stolen, "stolen work"),
        (Activity::Searching, "searching"),
        (Activity::Parked, "parked"),
        (Activity::Blocked, "blocked"),
    ];
    let (mut line, mut columns) = (String::new(), 0);
    for (activity, meaning) in entries {
        let entry_columns = 2 + meaning.len();
        if columns > 0 && columns + 3 + entry_columns > style.width {
            push_line(out, &line);
            (line, columns) = (String::new(), 0);
        }
        if columns > 0 {
            line.push_str("   ");
            columns += 3;
        }
        // Writing to a string cannot fail.
        let _ = write!(line, "{} {meaning}", style.glyphs.of(activity));
        columns += entry_columns;
    }
    push_line(out, &line);
}
