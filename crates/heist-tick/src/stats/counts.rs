//! What is known of every tick, and of the pool: numbers, sums and maxima.

use super::rings::Slice;

/// What has happened in a slice of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) runs: u32,
    pub(super) overruns: u32,
    pub(super) skipped: u32,
    pub(super) steals: u32,
    pub(super) run_ns: u64,
    pub(super) run_most_ns: u64,
    pub(super) late_ns: u64,
    pub(super) late_most_ns: u64,
    pub(super) closure_ns: u64,
}

impl Slice for Counts {
    fn clear(&mut self) {
        *self = Self::default();
    }

    fn merge(&mut self, other: &Self) {
        self.runs = self.runs.saturating_add(other.runs);
        self.overruns = self.overruns.saturating_add(other.overruns);
        self.skipped = self.skipped.saturating_add(other.skipped);
        self.steals = self.steals.saturating_add(other.steals);
        self.run_ns = self.run_ns.saturating_add(other.run_ns);
        self.run_most_ns = self.run_most_ns.max(other.run_most_ns);
        self.late_ns = self.late_ns.saturating_add(other.late_ns);
        self.late_most_ns = self.late_most_ns.max(other.late_most_ns);
        self.closure_ns = self.closure_ns.saturating_add(other.closure_ns);
    }
}
