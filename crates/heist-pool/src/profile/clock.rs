//! Time-stamps, and what it costs to take them.

use heist_sync::clock::Moment;
use heist_sync::std_atomic::{AtomicPtr, AtomicU64, Ordering};

/// Where time-stamps come from, if not from the machine's counter: for tests, in which work is what the test says it is.
///
/// Each strand is measured on one thread, so the times of different threads need not agree.
pub trait Clock: Sync {
    /// The calling thread's time. It must not use heist.
    fn now(&self) -> u64;

    /// What a half costs that another thread takes: see `Profile::burdened_span`.
    fn burden(&self) -> u64 {
        0
    }
}

/// Null for the machine's counter.
static INJECTED: AtomicPtr<&'static dyn Clock> = AtomicPtr::new(std::ptr::null_mut());

/// How much of a strand is the profile's own doing, and what a migration costs; in the clock's unit.
static OVERHEAD: AtomicU64 = AtomicU64::new(0);
static BURDEN: AtomicU64 = AtomicU64::new(0);

pub(super) fn injected() -> Option<&'static dyn Clock> {
    // SAFETY: null, or leaked by `inject`.
    unsafe { INJECTED.load(Ordering::Acquire).as_ref() }.copied()
}

/// Whoever changes the clock sees to it that nobody measures.
pub(super) fn inject(clock: Option<&'static dyn Clock>) {
    let clock = clock.map_or(std::ptr::null_mut(), |clock| Box::into_raw(Box::new(clock)));
    INJECTED.store(clock, Ordering::Release);
}

/// Now.
#[inline]
pub(super) fn stamp() -> u64 {
    match injected() {
        None => Moment::now().ticks(),
        Some(clock) => clock.now(),
    }
}

#[inline]
pub(super) fn overhead() -> u64 {
    OVERHEAD.load(Ordering::Relaxed)
}

#[inline]
pub(super) fn burden() -> u64 {
    BURDEN.load(Ordering::Relaxed)
}

pub(super) fn set_costs(overhead: u64, burden: u64) {
    OVERHEAD.store(overhead, Ordering::Relaxed);
    BURDEN.store(burden, Ordering::Relaxed);
}
