//! What is counted about a tick.

use crate::cell::schedule::Ledger;
use std::time::Duration;

/// What a tick has done so far. See [`Handle::stats`](crate::Handle::stats) for an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// What became of its runs.
    pub ledger: Ledger,
    /// Runs that took longer than the period.
    pub overruns: u64,
    /// Runs that have panicked.
    pub panics: u64,
    /// How often another worker has taken it over.
    pub steals: u64,
    /// Submitted closures that have run.
    pub closures: u64,
    /// How long those took, in all.
    pub closure_time: Duration,
    /// How long its runs took, in all, and the longest of them.
    pub run_time: Duration,
    /// The longest run.
    pub run_time_max: Duration,
    /// How late its runs have begun, in all.
    pub lateness: Duration,
    /// The most that a run was late.
    pub lateness_max: Duration,
}

/// Counts, under the tick's lock.
#[derive(Debug)]
pub(crate) struct Recorder {
    stats: Stats,
}

impl Recorder {
    pub fn new(_percentiles: bool) -> Self {
        Self { stats: Stats::default() }
    }

    pub fn record_run(&mut self, _at_ns: u64, lateness_ns: u64, run_ns: u64) {
        let (lateness, run_time) = (Duration::from_nanos(lateness_ns), Duration::from_nanos(run_ns));
        self.stats.run_time += run_time;
        self.stats.run_time_max = self.stats.run_time_max.max(run_time);
        self.stats.lateness += lateness;
        self.stats.lateness_max = self.stats.lateness_max.max(lateness);
    }

    pub fn record_skipped(&mut self, _at_ns: u64, _n: u64) {}

    pub fn record_overrun(&mut self, _at_ns: u64) {
        self.stats.overruns += 1;
    }

    pub fn record_panic(&mut self) {
        self.stats.panics += 1;
    }

    pub fn record_steal(&mut self, _at_ns: u64) {
        self.stats.steals += 1;
    }

    pub fn record_closure(&mut self, _at_ns: u64, took_ns: u64) {
        self.stats.closures += 1;
        self.stats.closure_time += Duration::from_nanos(took_ns);
    }

    pub fn snapshot(&self, _now_ns: u64) -> Stats {
        self.stats
    }
}
