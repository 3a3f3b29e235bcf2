//! The time of a pool, for its timers and ticks: nanoseconds since it was made, by the system's clock or by one that is moved by hand.

#[cfg_attr(heist_model, path = "clock/no_manual.rs")]
mod manual;

pub use manual::ManualClock;

use heist_sync::clock::Instant;
use std::time::Duration;

/// See the module.
#[derive(Clone, Debug)]
pub struct Clock {
    epoch: Instant,
    /// In place of the system's.
    manual: Option<ManualClock>,
}

impl Clock {
    pub(crate) fn new(manual: Option<ManualClock>) -> Self {
        Self { epoch: manual.as_ref().map_or_else(Instant::now, ManualClock::epoch), manual }
    }

    /// The clock that the program moves, if the pool has one.
    #[inline]
    pub fn manual(&self) -> Option<&ManualClock> {
        self.manual.as_ref()
    }

    /// Now.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        match &self.manual {
            None => self.epoch.elapsed().as_nanos() as u64,
            Some(manual) => manual.now_ns(),
        }
    }

    /// Now, as an instant.
    pub fn now(&self) -> Instant {
        match &self.manual {
            None => Instant::now(),
            Some(manual) => self.instant_of(manual.now_ns()),
        }
    }

    /// Whether time stands still before `at_ns`: whoever moves it there sees to what is due then, so nobody has to wait for it.
    #[inline]
    pub(crate) fn is_still_before(&self, at_ns: u64) -> bool {
        self.manual.as_ref().is_some_and(|manual| manual.now_ns() < at_ns)
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
