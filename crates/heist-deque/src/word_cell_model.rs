//! In place of the atomic that holds the thieves' word where a checker runs: looks at it may be made to depend on each other, so that
//! loom tries their orders.

use heist_sync::atomic::{AtomicU64, Ordering};
use std::ops::Deref;

pub(crate) struct WordCell {
    word: AtomicU64,
    dependent_looks: bool,
}

impl WordCell {
    pub(crate) fn new(bits: u64, dependent_looks: bool) -> Self {
        Self { word: AtomicU64::new(bits), dependent_looks }
    }

    pub(crate) fn look(&self, order: Ordering) -> u64 {
        if self.dependent_looks {
            // All ones is no word: it would be forced, cancelled and held at once, with more shared than a ring can hold.
            let (Ok(bits) | Err(bits)) = self.word.compare_exchange(u64::MAX, u64::MAX, order, order);
            return bits;
        }
        self.word.load(order)
    }
}

impl Deref for WordCell {
    type Target = AtomicU64;

    fn deref(&self) -> &AtomicU64 {
        &self.word
    }
}
