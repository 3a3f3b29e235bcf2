//! Where the runs of a tick, or of all ticks of a pool, are added up.

use super::counts::Counts;
use super::percentiles::Percentiles;
use super::pool::Ended;
use super::rings::Rings;
use super::shown::{Distribution, Stats, Totals, WindowStats};
use super::window::Window;
use crate::cell::schedule::Ledger;
use std::time::Duration;

/// Hears of everything that a tick does. For the pool there is one that hears of all ticks.
///
/// It takes 1 KiB, and with percentiles 32 KiB. Times are those of the caller's clock; one that goes back stands still here.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Recorder {
    start_ns: u64,
    /// How long after the start the last thing has happened.
    age_ns: u64,
    totals: Totals,
    percentiles: Option<Box<Rings<Box<Percentiles>, 4>>>,
    counts: Rings<Counts, 7>,
}

impl Recorder {
    /// One for a tick that exists from `start_ns` on.
    pub(crate) fn new(percentiles: bool, start_ns: u64) -> Self {
        Self {
            start_ns,
            age_ns: 0,
            totals: Totals::default(),
            counts: Rings::new(),
            percentiles: percentiles.then(|| Box::new(Rings::new())),
        }
    }

    /// A run has ended, and what is to be said of it.
    pub(crate) fn record_ended(&mut self, run: Ended) {
        if run.skipped > 0 {
            self.record_skipped(run.begun_ns, run.skipped);
        }
        self.record_run(run.ended_ns, run.lateness_ns, run.took_ns());
        if run.has_overrun {
            self.record_overrun(run.ended_ns);
        }
        if run.has_panicked {
            self.record_panic();
        }
    }

    /// A run has ended.
    pub(crate) fn record_run(&mut self, at_ns: u64, lateness_ns: u64, run_ns: u64) {
        self.totals.runs += 1;
        self.record(at_ns, |counts| {
            counts.runs = counts.runs.saturating_add(1);
            counts.run_ns = counts.run_ns.saturating_add(run_ns);
            counts.run_most_ns = counts.run_most_ns.max(run_ns);
            counts.late_ns = counts.late_ns.saturating_add(lateness_ns);
            counts.late_most_ns = counts.late_most_ns.max(lateness_ns);
        });
        if let Some(percentiles) = &mut self.percentiles {
            percentiles.record(|slice| {
                slice.run.record(run_ns);
                slice.late.record(lateness_ns);
            });
        }
    }

    /// `n` periods were skipped.
    pub(crate) fn record_skipped(&mut self, at_ns: u64, n: u64) {
        let n = u32::try_from(n).unwrap_or(u32::MAX);
        self.record(at_ns, |counts| counts.skipped = counts.skipped.saturating_add(n));
    }

    /// A run has ended after the next one was due.
    pub(crate) fn record_overrun(&mut self, at_ns: u64) {
        self.totals.overruns += 1;
        self.record(at_ns, |counts| counts.overruns = counts.overruns.saturating_add(1));
    }

    /// A worker has taken the tick from another one.
    pub(crate) fn record_steal(&mut self, at_ns: u64) {
        self.totals.steals += 1;
        self.record(at_ns, |counts| counts.steals = counts.steals.saturating_add(1));
    }

    /// A run has panicked.
    pub(crate) fn record_panic(&mut self) {
        self.totals.panics += 1;
    }

    /// A submitted closure has ended.
    pub(crate) fn record_closure(&mut self, at_ns: u64, ns: u64) {
        self.totals.closures += 1;
        self.record(at_ns, |counts| counts.closure_ns = counts.closure_ns.saturating_add(ns));
    }

    fn record(&mut self, at_ns: u64, add: impl FnOnce(&mut Counts)) {
        let age_ns = self.age_at(at_ns);
        self.counts.advance(self.age_ns, age_ns);
        if let Some(percentiles) = &mut self.percentiles {
            percentiles.advance(self.age_ns, age_ns);
        }
        self.age_ns = age_ns;
        self.counts.record(add);
    }

    fn age_at(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.start_ns).max(self.age_ns)
    }

    /// How the tick with this ledger is doing at `now_ns`.
    pub(crate) fn snapshot(&self, ledger: Ledger, now_ns: u64) -> Stats {
        Stats { ledger, totals: self.totals, windows: Window::ALL.map(|window| self.window(window, now_ns)) }
    }

    fn window(&self, window: Window, now_ns: u64) -> WindowStats {
        let now_ns = self.age_at(now_ns);
        let (counts, covered_ns) = self.counts.sum(window, self.age_ns, now_ns);
        let percentiles =
            self.percentiles.as_ref().map(|percentiles| percentiles.sum(window, self.age_ns, now_ns).0);
        let mean = |sum_ns: u64| Duration::from_nanos(sum_ns.checked_div(counts.runs.into()).unwrap_or(0));
        let per_ns = |n: u64| if covered_ns == 0 { 0.0 } else { n as f64 / covered_ns as f64 };
        WindowStats {
            covered: Duration::from_nanos(covered_ns),
            runs: counts.runs.into(),
            tps: per_ns(counts.runs.into()) * 1e9,
            mspt: Distribution {
                mean: mean(counts.run_ns),
                max: Duration::from_nanos(counts.run_most_ns),
                ..Distribution::of(percentiles.as_ref().map(|both| &both.run))
            },
            lateness: Distribution {
                mean: mean(counts.late_ns),
                max: Duration::from_nanos(counts.late_most_ns),
                ..Distribution::of(percentiles.as_ref().map(|both| &both.late))
            },
            utilisation: per_ns(counts.run_ns.saturating_add(counts.closure_ns)),
            overruns: counts.overruns.into(),
            skipped: counts.skipped.into(),
            steals: counts.steals.into(),
            closure_time: Duration::from_nanos(counts.closure_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_as_promised() {
        let all = size_of::<Recorder>();
        assert!(all <= 1024, "{all} bytes a tick");
        let slices = size_of::<Rings<Box<Percentiles>, 4>>() / size_of::<Box<Percentiles>>();
        let with_percentiles =
            all + size_of::<Rings<Box<Percentiles>, 4>>() + slices * size_of::<Percentiles>();
        // The pool's has some 64 more.
        assert!(with_percentiles + 64 <= 32 * 1024, "{with_percentiles} bytes with percentiles");
    }
}
