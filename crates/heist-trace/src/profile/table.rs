//! A profile as a table.

use super::{Figures, Part, Profile, Runs, Site, Waited};
use std::fmt;
use std::time::Duration;

/// What stands in the place of a number.
const TOO_FINE: &str = "too fine to tell";

/// Sites that are shown.
const SITES: usize = 12;

/// A time with three digits.
struct Time(Duration);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0.as_nanos() as f64;
        let (value, unit) = match ns {
            ..1e3 => (ns, "ns"),
            ..1e6 => (ns / 1e3, "us"),
            ..1e9 => (ns / 1e6, "ms"),
            _ => (ns / 1e9, "s"),
        };
        let digits = if value >= 99.95 || unit == "ns" { 0 } else { usize::from(value < 9.995) + 1 };
        let text = format!("{value:.digits$} {unit}");
        f.pad(&text)
    }
}

fn time(ns: u64) -> Time {
    Time(Duration::from_nanos(ns))
}

/// A number of steals, forks or workers.
fn number(value: f64) -> String {
    if value >= 99.95 { format!("{value:.0}") } else { format!("{value:.1}") }
}

/// So many of something.
fn counted(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn or_too_fine(value: Option<impl fmt::Display>) -> String {
    value.map_or(TOO_FINE.into(), |value| value.to_string())
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figures = &self.figures;
        let row = |f: &mut fmt::Formatter<'_>, name: &str, text: String| writeln!(f, "{name:<14} {text}");
        row(
            f,
            "work",
            format!(
                "{} in {} of {}",
                Time(self.work()),
                counted(figures.pieces, "piece"),
                Time(self.mean_piece())
            ),
        )?;
        if figures.outside_ns > 0 {
            row(
                f,
                "  outside",
                format!("{} of it outside of heist, which counts as serial", time(figures.outside_ns)),
            )?;
        }
        let (span, burdened) = (self.span().map(Time), self.burdened_span().map(Time));
        row(f, "span", format!("{}, burdened {}", or_too_fine(span), or_too_fine(burdened)))?;
        let (plain, burdened) = (self.parallelism().map(number), self.burdened_parallelism().map(number));
        row(f, "parallelism", format!("{}, burdened {}", or_too_fine(plain), or_too_fine(burdened)))?;
        let busy = self.utilisation() * 100.0;
        row(
            f,
            "elapsed",
            format!(
                "{} on {}, of which {busy:.0} % was work",
                Time(self.elapsed()),
                counted(self.workers() as u64, "worker")
            ),
        )?;
        let (searching, waiting) = (time(figures.searching_ns), time(figures.waiting_ns));
        row(
            f,
            "idle",
            format!(
                "searching {searching}, waiting awake {waiting}, asleep or elsewhere {}",
                Time(self.asleep())
            ),
        )?;
        let Figures { forks, stolen, steals, tries, .. } = figures;
        row(f, "forks", format!("{forks}, of which {stolen} were stolen"))?;
        let fit = or_too_fine(self.steals_in_span().map(number));
        row(f, "steals", format!("{steals} of {tries} tried; into P x span fit {fit}"))?;
        let (steal, wake) = (time(figures.steal_ns), time(figures.wake_ns));
        row(f, "this machine", format!("{steal} to take a job, {wake} to wake a thread for one"))?;
        for (name, runs) in [("tasks", figures.polls), ("ticks", figures.ticks)] {
            let Runs { count, ns, longest_ns, wakes, self_wakes, waited } = runs;
            if count == 0 {
                continue;
            }
            let what = if name == "tasks" { counted(count, "poll") } else { counted(count, "run") };
            row(f, name, format!("{what}, {} in all, the longest {}", time(ns), time(longest_ns)))?;
            if wakes > 0 {
                let by_itself = format!("{self_wakes} of them in the middle of a poll of their own");
                row(f, "  made ready", format!("{}, {by_itself}", counted(wakes, "time")))?;
            }
            let Waited { count, mean_ns, p50_ns, p99_ns, longest_ns } = waited;
            if count > 0 {
                let name = if name == "tasks" { "  then waited" } else { "  late by" };
                let (mean, p50, p99) = (time(mean_ns), time(p50_ns), time(p99_ns));
                let most = time(longest_ns);
                row(f, name, format!("{mean} on average, half {p50}, 99 % {p99}, at most {most}"))?;
            }
        }
        self.write_predictions(f)?;
        self.write_parts(f)?;
        self.write_sites(f)
    }
}

impl Profile {
    fn write_predictions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figures { forks, polls, ticks, .. } = self.figures();
        if self.is_too_fine() && *forks == 0 && polls.count + ticks.count > 0 {
            return writeln!(
                f,
                "\nNothing was forked but in tasks and ticks, which are no part of work and span: their time is in the rows above."
            );
        }
        if self.is_too_fine() {
            return writeln!(
                f,
                "\nThe pieces take less than a microsecond on average: what was measured is the measuring. Fork less finely, or measure a \
                 larger part."
            );
        }
        writeln!(f, "\n{:>7}  {:>17}  {:>7}  {:>7}", "workers", "speed-up at least", "about", "at most")?;
        for p in self.predictions() {
            let (lower, expected, upper) = (number(p.lower), number(p.expected), number(p.upper));
            writeln!(f, "{:>7}  {lower:>17}  {expected:>7}  {upper:>7}", p.workers)?;
        }
        Ok(())
    }

    fn write_parts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.figures.parts.is_empty() {
            writeln!(f, "\n{:>9}  {:>9}  {:>11}  {:>7}  region", "work", "span", "parallelism", "times")?;
        }
        for Part { name, times, work_ns, span_ns } in &self.figures.parts {
            let is_fine = self.is_too_fine();
            let parallelism = if is_fine { "-".into() } else { number(super::ratio(*work_ns, *span_ns)) };
            let span = if is_fine { "-".into() } else { time(*span_ns).to_string() };
            writeln!(f, "{:>9}  {span:>9}  {parallelism:>11}  {times:>7}  {name}", time(*work_ns))?;
        }
        Ok(())
    }

    fn write_sites(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sites: Vec<&Site> = self.figures.sites.iter().collect();
        sites.sort_by_key(|site| std::cmp::Reverse(site.work_ns));
        if !sites.is_empty() {
            writeln!(f, "\n{:>9}  {:>9}  {:>9}  {:>9}  forked", "work", "forks", "stolen", "each")?;
        }
        for site in sites.iter().take(SITES) {
            let Site { code, file, name, forks, stolen, work_ns } = site;
            let each = time(work_ns / (2 * forks).max(1));
            let place = match (name, file) {
                (Some(name), _) => name.clone(),
                (None, Some(file)) => format!("{file}+{code:#x}"),
                (None, None) => format!("{code:#x}"),
            };
            writeln!(f, "{:>9}  {forks:>9}  {stolen:>9}  {each:>9}  {place}", time(*work_ns))?;
        }
        match sites.len().saturating_sub(SITES) {
            0 => Ok(()),
            more => writeln!(f, "{:>9}  and {more} more", ""),
        }
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits() {
        let show = |ns| time(ns).to_string();
        assert_eq!(
            [0, 999, 1_000, 12_345, 123_456, 9_996_000, 2_500_000_000].map(show),
            ["0 ns", "999 ns", "1.00 us", "12.3 us", "123 us", "10.0 ms", "2.50 s"]
        );
    }

    #[test]
    fn a_fine_profile_says_so_instead_of_numbers() {
        let fine = Profile::from(Figures { work_ns: 900, pieces: 1, span_ns: 300, ..Figures::default() });
        let text = fine.to_string();
        assert!(text.contains("span           too fine to tell, burdened too fine to tell"), "{text}");
        assert!(!text.contains("speed-up") && text.contains("Fork less finely"), "{text}");
    }

    #[test]
    fn tasks_and_ticks_are_rows() {
        let waited = Waited { count: 3, mean_ns: 2_000, p50_ns: 1_500, p99_ns: 8_000, longest_ns: 8_100 };
        let polls = Runs { count: 1, ns: 5_000, longest_ns: 5_000, wakes: 3, self_wakes: 1, waited };
        let ticks = Runs { count: 2, ns: 7_000, longest_ns: 4_000, waited, ..Runs::default() };
        let text = Profile::from(Figures { polls, ticks, ..Figures::default() }).to_string();
        let rows = "\
tasks          1 poll, 5.00 us in all, the longest 5.00 us
  made ready   3 times, 1 of them in the middle of a poll of their own
  then waited  2.00 us on average, half 1.50 us, 99 % 8.00 us, at most 8.10 us
ticks          2 runs, 7.00 us in all, the longest 4.00 us
  late by      2.00 us on average, half 1.50 us, 99 % 8.00 us, at most 8.10 us
";
        assert!(text.contains(rows), "{text}");
        assert!(
            text.contains("Nothing was forked but in tasks and ticks") && !text.contains("Fork less"),
            "{text}"
        );
    }

    #[test]
    fn regions_and_sites_are_rows() {
        let site = Site { code: 16, forks: 4, stolen: 1, work_ns: 80_000, ..Site::default() };
        let part = Part { name: "fold".into(), times: 1, work_ns: 90_000, span_ns: 30_000 };
        let profile = Profile::from(Figures {
            work_ns: 100_000,
            span_ns: 40_000,
            burdened_ns: 50_000,
            pieces: 9,
            sites: vec![site],
            parts: vec![part],
            ..Figures::default()
        });
        let text = profile.to_string();
        assert!(text.contains("  90.0 us    30.0 us          3.0        1  fold"), "{text}");
        assert!(text.contains("  80.0 us          4          1    10.0 us  0x10"), "{text}");
        assert!(text.contains("    256                1.0      2.0      2.5"), "{text}");
    }
}
