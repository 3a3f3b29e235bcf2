//! The wheel's time: ticks of about 16 us since the first driver was made; of a nanosecond where time is virtual.

use super::wheel;
use heist_pool::raw::clock::{Clock as PoolClock, ManualClock};
use heist_sync::process::PerProcess;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// log2 of a tick's nanoseconds. A timer is late by less than one tick, plus what the system adds.
const TICK_NS_LOG2: u32 = 14;

/// Turns instants into ticks. All clocks have the same epoch, a moment before the first timer, but for those that are moved by hand.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    epoch: Instant,
    tick_ns_log2: u32,
    manual: Option<ManualClock>,
}

impl Clock {
    pub fn new() -> Self {
        static EPOCH: PerProcess<OnceLock<Instant>> = PerProcess::new(OnceLock::new(), OnceLock::new);
        Self { epoch: *EPOCH.get().get_or_init(Instant::now), tick_ns_log2: TICK_NS_LOG2, manual: None }
    }

    /// That of a pool.
    pub fn of(pool: &PoolClock) -> Self {
        match pool.manual() {
            None => Self::new(),
            Some(manual) => Self { epoch: manual.epoch(), tick_ns_log2: 0, manual: Some(manual.clone()) },
        }
    }

    /// The clock that the program moves, if it is one.
    #[inline]
    pub fn manual(&self) -> Option<&ManualClock> {
        self.manual.as_ref()
    }

    /// Now, as an instant.
    pub fn instant(&self) -> Instant {
        match &self.manual {
            None => Instant::now(),
            Some(manual) => self.epoch + Duration::from_nanos(manual.now_ns()),
        }
    }

    /// Whether time stands still before `tick`.
    pub fn is_still_before(&self, tick: u64) -> bool {
        self.manual.as_ref().is_some_and(|manual| manual.now_ns() < tick)
    }

    /// The last tick that has been reached.
    #[inline]
    pub fn now(&self) -> u64 {
        match &self.manual {
            None => self.nanos(Instant::now()) >> TICK_NS_LOG2,
            Some(manual) => manual.now_ns(),
        }
    }

    /// The first tick at which `deadline` has passed: rounded up, so that no timer is early.
    #[inline]
    pub fn due(&self, deadline: Instant) -> u64 {
        // Everything beyond what the wheel can tell apart is a few centuries away.
        (self.nanos(deadline).div_ceil(1 << self.tick_ns_log2)).min(wheel::LAST)
    }

    /// How long it is until `tick` from now on.
    pub fn until(&self, tick: u64) -> Duration {
        let at = Duration::from_nanos(tick.saturating_mul(1 << self.tick_ns_log2));
        at.saturating_sub(match &self.manual {
            None => self.epoch.elapsed(),
            Some(manual) => Duration::from_nanos(manual.now_ns()),
        })
    }

    #[inline]
    fn nanos(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.epoch);
        since.as_secs().saturating_mul(1_000_000_000).saturating_add(since.subsec_nanos().into())
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_rounded_up_and_now_down() {
        let clock = Clock::new();
        let tick = Duration::from_nanos(1 << TICK_NS_LOG2);
        for (after, due) in [(Duration::ZERO, 0), (Duration::from_nanos(1), 1), (tick, 1), (tick * 3, 3)] {
            assert_eq!(clock.due(clock.epoch + after), due, "{after:?}");
        }
        assert_eq!(clock.due(clock.epoch + tick + Duration::from_nanos(1)), 2);
        // Instants before the epoch are due at once.
        assert_eq!(clock.due(clock.epoch - tick), 0);
        let soon = clock.due(Instant::now());
        assert!(clock.now() <= soon);
        assert_eq!(clock.until(0), Duration::ZERO);
    }

    #[test]
    fn the_far_future_fits() {
        let clock = Clock::new();
        let century = Duration::from_secs(100 * 366 * 86400);
        let far = clock.due(clock.epoch + century);
        assert!(far < wheel::LAST);
        let mut farther = clock.epoch;
        while let Some(next) = farther.checked_add(century * 1000) {
            farther = next;
            if clock.due(farther) == u64::MAX >> TICK_NS_LOG2 {
                break;
            }
        }
        assert!(clock.due(farther) <= wheel::LAST);
        assert!(clock.until(wheel::LAST) > century);
    }
}
