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

        /// How long it is from `earlier` to this, without a step.
        pub fn saturating_duration_since(&self, earlier: Self) -> Duration {
            Duration::from_nanos(self.0.saturating_sub(earlier.0) * STEP_NS)
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

/// A counter that grows by about one to five in a nanosecond, and costs a few nanoseconds to read: to see that something took far longer
/// than expected, not to say how long.
///
/// ```
/// let begun = heist_sync::clock::ticks();
/// std::thread::sleep(std::time::Duration::from_millis(1));
/// assert!(heist_sync::clock::ticks().wrapping_sub(begun) > 100_000);
/// ```
#[inline]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has it. Where a sandbox forbids it, that is for the whole process to know.
    return unsafe { std::arch::x86_64::_rdtsc() };
    #[cfg(not(target_arch = "x86_64"))]
    {
        static FIRST: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        FIRST.get_or_init(std::time::Instant::now).elapsed().as_nanos() as u64
    }
}

/// Milliseconds since some moment, modulo 2^32 (49 days): cheap, and no better than the kernel's tick.
///
/// ```
/// let begun = heist_sync::clock::coarse_ms();
/// assert!(heist_sync::clock::coarse_ms().wrapping_sub(begun) < 60_000);
/// ```
#[inline]
pub fn coarse_ms() -> u32 {
    coarse::now_ms()
}

#[cfg(all(target_os = "linux", not(any(heist_loom, heist_shuttle, miri))))]
mod coarse {
    #[inline]
    pub(super) fn now_ms() -> u32 {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: it writes one `timespec`. Every kernel has this clock.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut now) };
        // The wrap is meant.
        (now.tv_sec as u32).wrapping_mul(1000).wrapping_add(now.tv_nsec as u32 / 1_000_000)
    }
}

#[cfg(not(any(target_os = "linux", heist_loom, heist_shuttle)))]
mod coarse {
    use std::sync::LazyLock;
    use std::time::Instant;

    static START: LazyLock<Instant> = LazyLock::new(Instant::now);

    pub(super) fn now_ms() -> u32 {
        START.elapsed().as_millis() as u32
    }
}

#[cfg(any(heist_loom, heist_shuttle, all(miri, target_os = "linux")))]
mod coarse {
    pub(super) fn now_ms() -> u32 {
        0
    }
}
