//! The time that spins and back-offs are measured in.
//!
//! Under the checkers there is no time: a loop that yields for 150 us would be a loop of any length. There each look at the
//! clock is a step of `STEP_NS`, so such a loop is a few turns long, and the same few in every run of a schedule.

#[cfg(not(heist_model))]
pub use std::time::Instant;

#[cfg(heist_model)]
pub use steps::{Instant, STEP_NS};

#[cfg(heist_model)]
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

/// A moment that costs a third of an [`Instant`] to look at, for times of microseconds. Good to a few per cent, and off by a factor of three
/// at most in the first tenth of a millisecond in which a program uses it: it is a counter whose rate is found out on the way.
///
/// ```
/// use heist_sync::clock::Moment;
/// let begun = Moment::now();
/// std::thread::sleep(std::time::Duration::from_millis(1));
/// assert!(Moment::now().ns_since(begun) > 100_000);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Moment(u64);

impl Moment {
    /// Now.
    #[inline]
    pub fn now() -> Self {
        Self(counter::read())
    }

    /// Now, after the counter was compared with the clock for long enough that it is right to some 0.01 %. Takes a millisecond.
    ///
    /// ```
    /// let begun = heist_sync::clock::Moment::settled();
    /// assert!(heist_sync::clock::Moment::now().ns_since(begun) < 60_000_000_000);
    /// ```
    pub fn settled() -> Self {
        counter::settle();
        Self::now()
    }

    /// The nanoseconds since `earlier`; 0 if the counter says that it was later, as it may on another CPU of an odd machine.
    #[inline]
    pub fn ns_since(self, earlier: Moment) -> u64 {
        let ticks = u128::from(self.0.saturating_sub(earlier.0));
        u64::try_from((ticks * u128::from(counter::rate())) >> counter::RATE_BITS).unwrap_or(u64::MAX)
    }

    /// What the counter says, in its own unit: for whoever measures much and converts the sum.
    #[inline]
    pub fn ticks(self) -> u64 {
        self.0
    }
}

mod counter {
    use crate::process::PerProcess;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::{Duration, Instant};

    /// Rates are nanoseconds a tick, with so many bits behind the point.
    pub(super) const RATE_BITS: u32 = 20;

    /// Between those of counters with one and with five ticks a nanosecond.
    const GUESS: u64 = (1 << RATE_BITS) / 2;

    /// The counter is compared with the clock over at least this time.
    const COMPARED: Duration = Duration::from_micros(100);

    /// 0 until it is known.
    static RATE: AtomicU64 = AtomicU64::new(0);

    #[inline]
    pub(super) fn rate() -> u64 {
        // ORDERING: Relaxed, here and below: one word that depends on nothing else.
        match RATE.load(Ordering::Relaxed) {
            0 => compare(),
            rate => rate,
        }
    }

    /// Compares for longer than a loop would wait for.
    #[cold]
    pub(super) fn settle() {
        let (since, ticks) = (Instant::now(), read());
        while since.elapsed() < 10 * COMPARED {
            std::hint::spin_loop();
        }
        note(since.elapsed(), read().saturating_sub(ticks));
    }

    /// So many ticks were counted in that time. Returns what is known now.
    fn note(elapsed: Duration, ticks: u64) -> u64 {
        if elapsed < COMPARED || ticks == 0 {
            return GUESS;
        }
        let rate =
            u64::try_from((elapsed.as_nanos() << RATE_BITS) / u128::from(ticks)).unwrap_or(GUESS).max(1);
        RATE.store(rate, Ordering::Relaxed);
        rate
    }

    #[cold]
    fn compare() -> u64 {
        static FIRST: PerProcess<OnceLock<(Instant, u64)>> = PerProcess::new(OnceLock::new(), OnceLock::new);
        let (since, ticks) = FIRST.get().get_or_init(|| (Instant::now(), read()));
        note(since.elapsed(), read().saturating_sub(*ticks))
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[inline]
    pub(super) fn read() -> u64 {
        // SAFETY: every x86-64 has it. Where a sandbox forbids it, that is for the whole process to know.
        unsafe { std::arch::x86_64::_rdtsc() }
    }

    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    pub(super) fn read() -> u64 {
        static FIRST: PerProcess<OnceLock<Instant>> = PerProcess::new(OnceLock::new(), OnceLock::new);
        FIRST.get().get_or_init(Instant::now).elapsed().as_nanos() as u64
    }
}

/// Nanoseconds since this process first asked, by the system's clock: monotonic, and the same for all threads.
///
/// ```
/// let begun_ns = heist_sync::clock::monotonic_ns();
/// assert!(heist_sync::clock::monotonic_ns() >= begun_ns);
/// ```
pub fn monotonic_ns() -> u64 {
    static START: crate::process::PerProcess<std::sync::OnceLock<std::time::Instant>> =
        crate::process::PerProcess::new(std::sync::OnceLock::new(), std::sync::OnceLock::new);
    let elapsed = START.get().get_or_init(std::time::Instant::now).elapsed();
    // Not `as_nanos`: its 128-bit product costs more than the rest.
    elapsed.as_secs() * 1_000_000_000 + u64::from(elapsed.subsec_nanos())
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

/// For how long, to a millisecond or two, `since` from [`coarse_ms`] is past; longer by as much as the kernel's tick was late then, and never shorter
/// by more than what is cut off.
///
/// ```
/// let since = heist_sync::clock::coarse_ms();
/// assert!(heist_sync::clock::elapsed_since(since).as_secs() < 60);
/// ```
pub fn elapsed_since(since: u32) -> std::time::Duration {
    // A stamp that was taken after our look at the clock is not 49 days old.
    let ms = (coarse::precise_ms().wrapping_sub(since) as i32).max(0);
    std::time::Duration::from_millis(ms as u64)
}

#[cfg(all(target_os = "linux", not(any(heist_model, miri))))]
mod coarse {
    #[inline]
    pub(super) fn now_ms() -> u32 {
        read(libc::CLOCK_MONOTONIC_COARSE)
    }

    pub(super) fn precise_ms() -> u32 {
        read(libc::CLOCK_MONOTONIC)
    }

    #[inline]
    fn read(clock: libc::clockid_t) -> u32 {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: it writes one `timespec`. Every kernel has these clocks, and one is the other as it was at the last tick.
        unsafe { libc::clock_gettime(clock, &raw mut now) };
        // The wrap is meant.
        (now.tv_sec as u32).wrapping_mul(1000).wrapping_add(now.tv_nsec as u32 / 1_000_000)
    }
}

#[cfg(not(any(target_os = "linux", heist_model)))]
mod coarse {
    use crate::process::PerProcess;
    use std::sync::OnceLock;
    use std::time::Instant;

    static START: PerProcess<OnceLock<Instant>> = PerProcess::new(OnceLock::new(), OnceLock::new);

    pub(super) fn now_ms() -> u32 {
        START.get().get_or_init(Instant::now).elapsed().as_millis() as u32
    }

    pub(super) use now_ms as precise_ms;
}

#[cfg(any(heist_model, all(miri, target_os = "linux")))]
mod coarse {
    pub(super) fn now_ms() -> u32 {
        0
    }

    pub(super) use now_ms as precise_ms;
}
