//! A one-shot signal for everything that is waited for and is not a fork's slot: a scope, an install, a broadcast.
//!
//! The waiter frees the signal as soon as it sees it set, so the setter must not touch it after that: `set` takes a raw
//! pointer, keeps the parker alive by itself, and its last access is the swap.

use crate::waits::Waits;
use heist_sync::atomic::{AtomicU32, Ordering};
use heist_sync::planted::is_planted;
use heist_sync::{Parker, StdArc as Arc};

#[cfg(all(test, heist_loom))]
#[path = "signal_loom.rs"]
mod loom;

const UNSET: u32 = 0;
const AWAITED: u32 = 1;
const SET: u32 = 2;

/// Something that a thread can wait for.
pub trait Awaited {
    /// Whether the wait is over. Acquires what led to it.
    fn is_over(&self) -> bool;
    /// Says that the caller is about to sleep on its parker. False if the wait is over: then it must not.
    #[must_use]
    fn announce_wait(&self) -> bool;
    /// Whether it may still end in a child process, if its waiter has forked meanwhile. What the pool's threads end does not.
    fn may_end_in_child(&self) -> bool {
        false
    }
    /// What it is, for reports.
    fn what(&self) -> Waits {
        Waits::JOBS
    }
    /// For reports: the address that is known to whoever runs what it waits for; 0 if there is none.
    fn address(&self) -> usize {
        0
    }
}

/// The jobs of a scope, or the calls of a broadcast.
#[derive(Debug)]
pub struct JobsOf<'a> {
    /// Set when all are over.
    pub over: &'a Signal,
    /// What they say that they belong to.
    pub owner: *const (),
}

impl Awaited for JobsOf<'_> {
    fn is_over(&self) -> bool {
        self.over.is_over()
    }

    fn announce_wait(&self) -> bool {
        self.over.announce_wait()
    }

    fn address(&self) -> usize {
        self.owner.addr()
    }
}

/// See the module.
#[derive(Debug)]
pub struct Signal {
    state: AtomicU32,
    parker: Arc<Parker>,
}

impl Signal {
    /// An unset signal whose waiter sleeps on `parker`.
    pub fn new(parker: Arc<Parker>) -> Self {
        Self { state: AtomicU32::new(UNSET), parker }
    }

    /// Sets the signal and wakes its waiter.
    ///
    /// # Safety
    /// `this` must be valid until the waiter can have seen the signal set; it may dangle right after.
    pub unsafe fn set(this: *const Self) {
        // SAFETY: valid, since nobody has set it before us.
        let parker = Arc::clone(unsafe { &(*this).parker });
        // SAFETY: as above; this is the last access.
        let state = unsafe { &(*this).state };
        // ORDERING: release, with the acquire in `is_over` and `announce_wait`: what the waiter waited for is visible.
        // LIVENESS: the swap finds AWAITED or the waiter's announcement finds SET; one word, so not neither.
        if state.swap(SET, Ordering::AcqRel) == AWAITED {
            let parker = if is_planted("signal_late_parker") {
                heist_sync::thread::yield_now();
                // SAFETY: none; never run unless the bug is planted.
                unsafe { &(*this).parker }
            } else {
                &parker
            };
            parker.unpark();
        }
    }
}

impl Awaited for Signal {
    fn is_over(&self) -> bool {
        self.state.load(Ordering::Acquire) == SET
    }

    fn announce_wait(&self) -> bool {
        match self.state.compare_exchange(UNSET, AWAITED, Ordering::Acquire, Ordering::Acquire) {
            Ok(_) | Err(AWAITED) => true,
            Err(_) => false,
        }
    }
}
