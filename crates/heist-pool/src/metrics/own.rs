//! What a thread counts of itself.

use super::polls::Polls;
use super::times::Times;
// To be shown: no protocol depends on any of it, so it is not for the checkers.
use heist_sync::std_atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;

/// A number that one thread writes, and others read.
#[derive(Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// For one thread only.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.store(self.get() + n, Ordering::Relaxed);
    }
}

/// See the module. A thread that takes the place of one that has left counts on.
#[derive(Default)]
pub(crate) struct OwnCounts {
    pub polls: Count,
    /// Whoever is timed has this; it is set before the thread's first poll.
    pub timed: OnceLock<Box<Polls>>,
    /// Jobs from queues.
    pub jobs: Count,
    /// Halves of other threads' forks.
    pub forks: Count,
    pub ticks: Count,
    pub steals_tried: Count,
    pub steals: Count,
    /// How often its run queue was full.
    pub overflows: Count,
    /// How often it has woken another thread of the pool.
    pub wakes: Count,
    pub times: Times,
}
