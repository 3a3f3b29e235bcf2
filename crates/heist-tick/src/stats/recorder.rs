//! Where the runs of a tick, or of all ticks of a pool, are added up.

use super::Histogram;
use super::counts::Counts;
use super::percentiles::Percentiles;
use super::pool::Ended;
use super::rings::{Rings, Slice};
use super::shown::{Distribution, Stats, Totals, WindowStats};
use super::window::Window;
use crate::cell::schedule::Ledger;
use std::time::Duration;

/// Hears of everything that a tick does, or that all ticks do on one index.
///
/// It takes 1 KiB, and with percentiles 32 KiB. Times are those of the caller's clock; one that goes back stands still here.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Recorder {
    start_ns: u64,
    /// How long after the start the last thing has happened.
    age_ns: u64,
    totals: Totals,
    percentiles: Option<Box<Rings<Box<Percentiles>, 3, 4>>>,
    counts: Rings<Counts, 6, 7>,
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
        let mut total = Total::at(now_ns);
        total.add(self, ledger);
        total.into_stats()
    }
}

/// What recorders that have the same start say together.
pub(super) struct Total {
    now_ns: u64,
    stats: Stats,
    windows: [(Counts, Option<Box<Percentiles>>); Window::ALL.len()],
}

impl Total {
    pub(super) fn at(now_ns: u64) -> Self {
        Self { now_ns, stats: Stats::default(), windows: Default::default() }
    }

    /// Adds what one of them knows.
    pub(super) fn add(&mut self, recorder: &Recorder, ledger: Ledger) {
        self.stats.ledger.follow(Ledger::default(), ledger);
        self.stats.totals.add(&recorder.totals);
        let now_ns = recorder.age_at(self.now_ns);
        for (place, window) in Window::ALL.into_iter().enumerate() {
            let (counts, covered_ns) = recorder.counts.sum(window, recorder.age_ns, now_ns);
            let shown = &mut self.stats.windows[place];
            shown.covered = shown.covered.max(Duration::from_nanos(covered_ns));
            let sum = &mut self.windows[place];
            sum.0.merge(&counts);
            if let Some(percentiles) = &recorder.percentiles {
                let (slice, _) = percentiles.sum(window, recorder.age_ns, now_ns);
                sum.1.get_or_insert_default().merge(&slice);
            }
        }
    }

    pub(super) fn into_stats(self) -> Stats {
        let Self { mut stats, windows, .. } = self;
        for (shown, (counts, percentiles)) in stats.windows.iter_mut().zip(&windows) {
            let both = percentiles.as_deref();
            shown.fill(counts, both.map(|both| &both.run), both.map(|both| &both.late));
        }
        stats
    }
}

impl WindowStats {
    /// All but the time that it covers.
    fn fill(&mut self, counts: &Counts, run: Option<&Histogram>, late: Option<&Histogram>) {
        let mean = |sum_ns: u64| Duration::from_nanos(sum_ns.checked_div(counts.runs.into()).unwrap_or(0));
        let covered_ns = self.covered.as_nanos();
        let per_ns = |n: u64| if covered_ns == 0 { 0.0 } else { n as f64 / covered_ns as f64 };
        *self = Self {
            covered: self.covered,
            runs: counts.runs.into(),
            tps: per_ns(counts.runs.into()) * 1e9,
            mspt: Distribution {
                mean: mean(counts.run_ns),
                max: Duration::from_nanos(counts.run_most_ns),
                ..Distribution::of(run)
            },
            lateness: Distribution {
                mean: mean(counts.late_ns),
                max: Duration::from_nanos(counts.late_most_ns),
                ..Distribution::of(late)
            },
            utilisation: per_ns(counts.run_ns.saturating_add(counts.closure_ns)),
            overruns: counts.overruns.into(),
            skipped: counts.skipped.into(),
            steals: counts.steals.into(),
            closure_time: Duration::from_nanos(counts.closure_ns),
        };
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::super::rings::Past;
    use super::*;

    #[test]
    fn memory_is_as_promised() {
        let all = size_of::<Recorder>() + size_of::<Past<Counts, 6, 7>>();
        assert!(all <= 1024, "{all} bytes a tick");
        let slices = size_of::<Past<Box<Percentiles>, 3, 4>>() / size_of::<Box<Percentiles>>() + 1;
        let histograms =
            slices * (size_of::<Box<Percentiles>>() + size_of::<Percentiles>()) + size_of::<usize>();
        // The pool's have some 64 more.
        assert!(all + histograms + 64 <= 32 * 1024, "{} bytes with percentiles", all + histograms);
    }
}
