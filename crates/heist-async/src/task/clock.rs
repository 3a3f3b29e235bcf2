//! The time that tasks are stamped with: milliseconds, cheap, and no better than the kernel's tick.

/// Milliseconds since some moment, modulo 2^32 (49 days).
#[inline]
pub(super) fn now_ms() -> u32 {
    imp::now_ms()
}

#[cfg(all(target_os = "linux", not(any(heist_loom, heist_shuttle, miri))))]
mod imp {
    use rustix::time::{ClockId, clock_gettime};

    #[inline]
    pub(super) fn now_ms() -> u32 {
        let now = clock_gettime(ClockId::MonotonicCoarse);
        // The wrap is meant.
        (now.tv_sec as u32).wrapping_mul(1000).wrapping_add(now.tv_nsec as u32 / 1_000_000)
    }
}

#[cfg(not(any(target_os = "linux", heist_loom, heist_shuttle)))]
mod imp {
    use std::sync::LazyLock;
    use std::time::Instant;

    static START: LazyLock<Instant> = LazyLock::new(Instant::now);

    pub(super) fn now_ms() -> u32 {
        START.elapsed().as_millis() as u32
    }
}

#[cfg(any(heist_loom, heist_shuttle, all(miri, target_os = "linux")))]
mod imp {
    pub(super) fn now_ms() -> u32 {
        0
    }
}
