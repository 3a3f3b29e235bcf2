//! What is known besides of the pool, and of ticks that ask for it: how run time and lateness are distributed.

use super::Histogram;
use super::rings::Slice;

/// The runs of a slice of time by their run time and by their lateness.
#[derive(Clone, Debug, Default)]
pub(super) struct Percentiles {
    pub(super) run: Histogram,
    pub(super) late: Histogram,
}

impl Slice for Percentiles {
    fn clear(&mut self) {
        self.run.clear();
        self.late.clear();
    }

    fn merge(&mut self, other: &Self) {
        self.run.merge(&other.run);
        self.late.merge(&other.late);
    }
}
