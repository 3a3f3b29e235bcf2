//! Where the tasks of a model go instead of into a pool: one queue.

use heist_pool::raw::job::Payload;
use heist_pool::raw::task::{Place, TaskRef};
use heist_sync::{Mutex, lock};
use std::collections::VecDeque;
use std::ptr;

/// The queue. It outlives its tasks by the model's own means.
pub(crate) struct Queue {
    pub(super) tasks: Mutex<VecDeque<TaskRef>>,
    pub(super) panics: std::sync::atomic::AtomicU32,
}

/// The queue's address, without a count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Home(*const Queue);

// SAFETY: a queue is `Sync`.
unsafe impl Send for Home {}
// SAFETY: as above.
unsafe impl Sync for Home {}

impl Home {
    pub(crate) const NONE: Self = Self(ptr::null());

    #[cfg(test)]
    pub(super) fn in_queue(queue: &Queue) -> Self {
        Self(queue)
    }

    /// No model forks.
    pub(crate) fn is_foreign(self) -> bool {
        false
    }

    pub(crate) fn keep(self) -> Keep {
        Keep(self)
    }

    /// # Safety
    /// None here: nothing is counted.
    pub(crate) unsafe fn release(self) {}

    /// # Safety
    /// The queue is there.
    pub(crate) unsafe fn schedule(self, task: TaskRef, _: Place) {
        // SAFETY: by the caller.
        lock(unsafe { &(*self.0).tasks }).push_back(task);
    }

    /// # Safety
    /// The queue is there.
    pub(crate) unsafe fn deliver_panic(self, payload: Payload) {
        // SAFETY: by the caller.
        unsafe { &(*self.0).panics }.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        heist_pool::raw::job::discard(payload);
    }
}

/// As in a pool.
pub(crate) struct Keep(Home);

impl Keep {
    pub(crate) fn schedule(&self, task: TaskRef, place: Place) {
        // SAFETY: the model keeps the queue.
        unsafe { self.0.schedule(task, place) };
    }
}
