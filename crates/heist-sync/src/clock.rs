//! The time that spins and back-offs are measured in.
//!
//! Under the checkers there is no time: a loop that yields for 150 us would be a loop of any length. There each look at the
//! clock is a step of `STEP_NS`, so such a loop is a few turns long, and the same few in every run of a schedule.

#[cfg(not(any(heist_loom, heist_shuttle)))]
pub use std::time::Instant;

#[cfg(any(heist_loom, heist_shuttle))]
pub use steps::{Instant, STEP_NS};

#[cfg(any(heist_loom, heist_shuttle))]
mod steps {
    use std::cell::Cell;
    use std::time::Duration;

    /// What one look at the clock costs.
    pub const STEP_NS: u64 = 60_000;

    std::thread_local! {
        /// Steps so far. All threads of a model run on one thread of the system, so they share this one.
        static STEPS: Cell<u64> = const { Cell::new(0) };
    }

    /// [`std::time::Instant`] as far as heist needs it: every call of `elapsed` is one step, for everybody.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub struct Instant(u64);

    impl Instant {
        /// Now.
        pub fn now() -> Self {
            Self(STEPS.get())
        }

        /// One step more than at the last call.
        pub fn elapsed(&self) -> Duration {
            let now = STEPS.get() + 1;
            STEPS.set(now);
            Duration::from_nanos((now - self.0) * STEP_NS)
        }
    }

    impl std::ops::Add<Duration> for Instant {
        type Output = Self;

        /// As many steps later as the time is long, rounded up.
        fn add(self, time: Duration) -> Self {
            Self(self.0 + (time.as_nanos() as u64).div_ceil(STEP_NS))
        }
    }
}
