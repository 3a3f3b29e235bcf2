//! Tables of figures with the bars that they must meet.

use serde::Serialize;

use crate::race::Series;

/// Everything that a run measured.
#[derive(Serialize)]
pub struct Report {
    pub seed: u64,
    pub quick: bool,
    pub tables: Vec<Table>,
}

/// One title with one row for each contestant.
#[derive(Serialize)]
pub struct Table {
    pub line: &'static str,
    pub title: String,
    pub unit: &'static str,
    /// Which figure the bars are about.
    pub judged_by: Judged,
    pub rows: Vec<Row>,
    /// On average while the line ran.
    pub cores_used_by_others: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Judged {
    Best,
    Median,
}

#[derive(Serialize)]
pub struct Row {
    pub name: String,
    pub best: f64,
    pub median: f64,
    pub samples: usize,
    pub bars: Vec<Bar>,
}

/// A figure and the limit that it must keep.
#[derive(Serialize)]
pub struct Bar {
    pub measured: f64,
    /// What the figure is, for example `x rayon`.
    pub what: String,
    pub sense: Sense,
    pub limit: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sense {
    AtMost,
    Below,
    AtLeast,
    /// A limit that some rows may exceed; another figure says how many do.
    Counted,
    /// No limit: the figure is there to be read.
    Reported,
}

impl Bar {
    pub fn is_met(&self) -> bool {
        match self.sense {
            Sense::AtMost => self.measured <= self.limit,
            Sense::Below => self.measured < self.limit,
            Sense::AtLeast => self.measured >= self.limit,
            Sense::Counted | Sense::Reported => true,
        }
    }

    fn text(&self) -> String {
        let sign = match self.sense {
            Sense::AtMost => "<=",
            Sense::Below => "<",
            Sense::AtLeast => ">=",
            Sense::Counted => {
                let verdict = if self.measured <= self.limit { "ok" } else { "above" };
                return format!("{:.3} {} [<= {}] {verdict}", self.measured, self.what, short(self.limit));
            }
            Sense::Reported => return format!("{:.3} {}", self.measured, self.what),
        };
        let verdict = if self.is_met() { "ok" } else { "MISSED" };
        format!("{:.3} {} [{sign} {}] {verdict}", self.measured, self.what, short(self.limit))
    }
}

impl Table {
    /// `unit_ns` is how many nanoseconds the unit has.
    pub fn new(
        line: &'static str,
        title: impl Into<String>,
        (unit, unit_ns): (&'static str, f64),
        judged_by: Judged,
        series: &[Series],
    ) -> Table {
        let rows = series
            .iter()
            .map(|series| Row {
                name: series.name.clone(),
                best: series.best_ns() / unit_ns,
                median: series.median_ns() / unit_ns,
                samples: series.samples_ns.len(),
                bars: Vec::new(),
            })
            .collect();
        Table::with_rows(line, title, unit, judged_by, rows)
    }

    /// A table of figures that come from elsewhere than a race.
    pub fn with_rows(
        line: &'static str,
        title: impl Into<String>,
        unit: &'static str,
        judged_by: Judged,
        rows: Vec<Row>,
    ) -> Table {
        Table { line, title: title.into(), unit, judged_by, rows, cores_used_by_others: 0.0 }
    }

    /// The judged figure of a row.
    pub fn figure(&self, name: &str) -> f64 {
        let row = &self.rows[self.find(name)];
        match self.judged_by {
            Judged::Best => row.best,
            Judged::Median => row.median,
        }
    }

    /// `name` may take at most `limit` times as long as `peer`.
    pub fn at_most(&mut self, name: &str, limit: f64, peer: &str) {
        let measured = self.figure(name) / self.figure(peer);
        self.bar(name, Bar { measured, what: format!("x {peer}"), sense: Sense::AtMost, limit });
    }

    /// `name` must be at least `limit` times as fast as `peer`.
    pub fn speedup_at_least(&mut self, name: &str, limit: f64, peer: &str) {
        let measured = self.figure(peer) / self.figure(name);
        self.bar(
            name,
            Bar { measured, what: format!("times as fast as {peer}"), sense: Sense::AtLeast, limit },
        );
    }

    /// How many times as fast as `peer` everyone is, for reading.
    pub fn report_speedups(&mut self, names: &[&str], peer: &str) {
        for name in names {
            let measured = self.figure(peer) / self.figure(name);
            let what = format!("times as fast as {peer}");
            self.bar(name, Bar { measured, what, sense: Sense::Reported, limit: f64::NAN });
        }
    }

    /// How long `name` takes in terms of `peer`, for reading.
    pub fn report_ratio(&mut self, name: &str, peer: &str) {
        let measured = self.figure(name) / self.figure(peer);
        self.bar(name, Bar { measured, what: format!("x {peer}"), sense: Sense::Reported, limit: f64::NAN });
    }

    /// How many millions a second it is, for reading; the figures are nanoseconds each.
    pub fn report_rate(&mut self, name: &str) {
        let measured = 1e3 / self.figure(name);
        self.bar(name, Bar { measured, what: "M/s".into(), sense: Sense::Reported, limit: f64::NAN });
    }

    pub fn bar(&mut self, name: &str, bar: Bar) {
        let row = self.find(name);
        self.rows[row].bars.push(bar);
    }

    fn find(&self, name: &str) -> usize {
        let row = self.rows.iter().position(|row| row.name == name);
        row.unwrap_or_else(|| panic!("{:?} has no row {name:?}", self.title))
    }

    pub fn print(&self) {
        let judged = match self.judged_by {
            Judged::Best => "best",
            Judged::Median => "median",
        };
        println!("\n{}: {} ({}; judged by {judged})", self.line, self.title, self.unit);
        let width = self.rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
        println!("  {:width$}  {:>10}  {:>10}  {:>7}", "", "best", "median", "samples");
        for row in &self.rows {
            let (name, best, median) = (&row.name, short(row.best), short(row.median));
            let mut bars = row.bars.iter().map(Bar::text);
            let first = bars.next().unwrap_or_default();
            let line = format!("  {name:width$}  {best:>10}  {median:>10}  {:>7}  {first}", row.samples);
            println!("{}", line.trim_end());
            for bar in bars {
                println!("  {:width$}  {:>10}  {:>10}  {:>7}  {bar}", "", "", "", "");
            }
        }
    }
}

impl Report {
    fn bars(&self) -> impl Iterator<Item = (&Table, &Row, &Bar)> {
        self.tables.iter().flat_map(|table| {
            table.rows.iter().flat_map(move |row| row.bars.iter().map(move |bar| (table, row, bar)))
        })
    }

    /// Prints how many bars were met and which were not; true if none was missed.
    pub fn print_verdict(&self) -> bool {
        let limited =
            self.bars().filter(|(.., bar)| !matches!(bar.sense, Sense::Counted | Sense::Reported)).count();
        let missed: Vec<_> = self.bars().filter(|(.., bar)| !bar.is_met()).collect();
        println!("\n{} of {limited} bars met", limited - missed.len());
        for (table, row, bar) in &missed {
            println!("  missed: {}: {}: {}: {}", table.line, table.title, row.name, bar.text());
        }
        missed.is_empty()
    }
}

/// Three or four significant digits.
fn short(figure: f64) -> String {
    match figure.abs() {
        size if size >= 1000.0 => format!("{figure:.0}"),
        size if size >= 100.0 => format!("{figure:.1}"),
        size if size >= 10.0 => format!("{figure:.2}"),
        _ => {
            let text = format!("{figure:.3}");
            text.strip_suffix('0').map_or(text.clone(), str::to_owned)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(figures: &[(&str, f64)]) -> Table {
        let series: Vec<Series> =
            figures.iter().map(|(name, ns)| Series { name: (*name).into(), samples_ns: vec![*ns] }).collect();
        Table::new("some", "title", ("ns", 1.0), Judged::Best, &series)
    }

    #[test]
    fn bars_compare_in_the_right_direction() {
        let mut table = table(&[("slow", 20.0), ("fast", 10.0)]);
        table.at_most("fast", 0.5, "slow");
        table.at_most("slow", 1.9, "fast");
        table.speedup_at_least("fast", 2.0, "slow");
        table.speedup_at_least("fast", 2.1, "slow");
        let met = |row: usize| table.rows[row].bars.iter().map(Bar::is_met).collect::<Vec<_>>();
        assert_eq!(met(1), [true, true, false]);
        assert_eq!(met(0), [false]);
    }

    #[test]
    #[should_panic(expected = "has no row")]
    fn a_bar_for_nobody_is_noticed() {
        table(&[("a", 1.0)]).at_most("a", 1.0, "b");
    }

    #[test]
    fn the_verdict_names_what_was_missed() {
        let mut table = table(&[("slow", 20.0), ("fast", 10.0)]);
        table.at_most("fast", 0.5, "slow");
        let mut report = Report { seed: 0, quick: true, tables: vec![table] };
        assert!(report.print_verdict());
        report.tables[0].at_most("slow", 1.0, "fast");
        assert!(!report.print_verdict());
    }
}
