//! How long polls take, and how long tasks wait for them. Only in pools that ask for it.

use super::histogram::{Histogram, Recorded};
use crate::queues::task::{Header, TaskRef, ready_ns};
use heist_sync::clock::monotonic_ns as now_ns;
use heist_sync::std_atomic::Ordering;
use std::ptr::NonNull;

/// The polls of one thread.
pub(crate) struct Polls {
    took: Recorded,
    waited: Recorded,
}

impl Default for Polls {
    fn default() -> Self {
        Self { took: Recorded::new(), waited: Recorded::new() }
    }
}

impl Polls {
    /// Gives a task its turn.
    #[cold]
    pub fn run(&self, task: TaskRef) {
        let begun_ns = now_ns();
        // SAFETY: we have it.
        if let Some(ready_ns) = unsafe { ready_ns(task.as_ptr()) } {
            match ready_ns.swap(0, Ordering::Relaxed) {
                // Its pool did not look when it was queued.
                0 => {}
                ready_ns => self.waited.record(begun_ns.saturating_sub(ready_ns)),
            }
        }
        task.run();
        self.took.record(now_ns().saturating_sub(begun_ns));
    }

    /// How long polls took.
    pub fn took(&self) -> Histogram {
        self.took.histogram()
    }

    /// How long tasks were ready before they were polled.
    pub fn waited(&self) -> Histogram {
        self.waited.histogram()
    }
}

/// For how long a task was ready that is polled now, if somebody has looked when it was queued. `is_timed`: its thread asks again.
pub(crate) fn waited_ns(task: &TaskRef, is_timed: bool) -> Option<u64> {
    // SAFETY: the caller has it.
    let ready_ns = unsafe { ready_ns(task.as_ptr()) }?;
    let since_ns =
        if is_timed { ready_ns.load(Ordering::Relaxed) } else { ready_ns.swap(0, Ordering::Relaxed) };
    (since_ns != 0).then(|| now_ns().saturating_sub(since_ns))
}

/// A task is ready from now on.
///
/// # Safety
/// `task` is that of a `TaskRef` which the caller has.
#[cold]
pub(crate) unsafe fn note_ready(task: NonNull<Header>) {
    // SAFETY: by the caller.
    if let Some(ready_ns) = unsafe { ready_ns(task) } {
        // Not 0, which means that nobody has looked.
        ready_ns.store(now_ns().max(1), Ordering::Relaxed);
    }
}
