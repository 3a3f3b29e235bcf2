//! Whether the monitor watches a pool, in one flag that every queued task looks at.
//!
//! Who queues something looks at the flag behind the queue; the monitor, before it stops watching, lowers the flag and then looks at
//! the queues once more (MONITOR-E1). One of the two sees the other.

use heist_sync::atomic::{AtomicBool, Ordering, fence};
use heist_sync::barrier;
use heist_sync::planted::is_planted;

#[cfg(all(test, heist_loom))]
#[path = "flag_loom.rs"]
mod loom;

#[derive(Debug)]
pub(super) struct Flag(AtomicBool);

impl Flag {
    /// Nobody watches.
    pub fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Something may wait unseen. `ask` has the monitor watch, if it does not.
    #[inline]
    pub fn raise(&self, ask: impl FnOnce()) {
        if !self.is_up() && self.set() {
            ask();
        }
    }

    /// Whether the monitor watches, and sees what the caller has done before.
    #[inline]
    pub fn is_up(&self) -> bool {
        // ORDERING(MONITOR-E1): the task before the look at the flag; partner: `lower`.
        if barrier::is_asymmetric() {
            if !is_planted("monitor_watch_no_barrier") {
                barrier::light();
            }
        } else {
            fence(Ordering::SeqCst);
        }
        self.0.load(Ordering::Relaxed)
    }

    /// True for the one that has raised it.
    #[cold]
    fn set(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }

    /// The monitor watches, whether it was asked or not.
    pub fn keep(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Nobody watches from now on, and whoever queues something asks again.
    pub fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// The monitor has seen nothing that waits, and stops watching. False if it must go on, because `waits` then says that something
    /// does and nobody has asked for it.
    #[must_use]
    pub fn lower(&self, waits: impl FnOnce() -> bool) -> bool {
        if !self.0.load(Ordering::Relaxed) {
            return true;
        }
        self.clear();
        // LIVENESS, ORDERING(MONITOR-E1): somebody may have queued a task and seen that we still watch. Our flag before our look;
        // partner: `raise`. Heavy, so that it costs them nothing; we come here once in a while.
        if !is_planted("monitor_forget_no_barrier") {
            barrier::heavy();
        }
        let waits = !is_planted("monitor_no_second_look") && waits();
        !(waits && self.set())
    }
}
