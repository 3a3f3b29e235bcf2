//! The atomic that holds the thieves' word.

use heist_sync::atomic::{AtomicU64, Ordering};
use std::ops::Deref;

pub(crate) struct WordCell(AtomicU64);

impl WordCell {
    /// `dependent_looks` is for the models, which have a cell of their own.
    pub(crate) fn new(bits: u64, _dependent_looks: bool) -> Self {
        Self(AtomicU64::new(bits))
    }

    #[inline(always)]
    pub(crate) fn look(&self, order: Ordering) -> u64 {
        self.0.load(order)
    }
}

impl Deref for WordCell {
    type Target = AtomicU64;

    #[inline(always)]
    fn deref(&self) -> &AtomicU64 {
        &self.0
    }
}
