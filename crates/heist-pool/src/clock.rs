//! The time of a pool's ticks: nanoseconds since the pool was made.

use heist_sync::clock::Instant;
use std::time::Duration;

/// See the module.
#[derive(Clone, Debug)]
pub struct Clock {
    epoch: Instant,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { epoch: Instant::now() }
    }

    /// Now.
    pub fn now_ns(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    /// An instant in the pool's time; 0 for one before the pool.
    pub fn ns_of(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.epoch).as_nanos()).unwrap_or(u64::MAX)
    }

    /// The other way round.
    pub fn instant_of(&self, ns: u64) -> Instant {
        self.epoch + Duration::from_nanos(ns)
    }
}
