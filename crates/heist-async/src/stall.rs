//! What a report of stalls needs to know of tasks, and of threads that block on futures. What is made of it is in the pool.

use crate::{offload, task};
use heist_pool::raw::signal::Awaited;
use heist_pool::raw::stall::{Tasks, is_told, is_watched, set_tasks};
use heist_sync::Parker;
use heist_sync::atomic::{AtomicUsize, Ordering};
use heist_sync::process::PerProcess;
use std::panic::Location;

static TASKS: Tasks = Tasks {
    now: task::for_report,
    calls: offload::calls_for_report,
    are_quiet: || POLLING.get().load(Ordering::Relaxed) == 0 && offload::busy_threads() == 0,
    blocked_on: || BLOCKED.get().load(Ordering::Relaxed),
};

/// There are tasks from here on.
pub(crate) fn enlist() {
    set_tasks(&TASKS);
}

/// Threads inside of a poll of a future that they block on, those of pinned tasks among them.
static POLLING: PerProcess<AtomicUsize> = PerProcess::new(AtomicUsize::new(0), || AtomicUsize::new(0));

/// Threads outside of pools that sleep because the future that they block on is not ready.
static BLOCKED: PerProcess<AtomicUsize> = PerProcess::new(AtomicUsize::new(0), || AtomicUsize::new(0));

/// One more, for as long as it lives.
struct Counted(&'static AtomicUsize);

impl Counted {
    fn new(count: &'static PerProcess<AtomicUsize>) -> Self {
        let count = count.get();
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// As long as it lives, its thread polls. That is not counted unless somebody looks: polls are many.
pub(crate) struct Polling {
    _counted: Option<Counted>,
}

impl Polling {
    pub fn new() -> Self {
        Self { _counted: is_watched().then(|| Counted::new(&POLLING)) }
    }
}

/// Waits as the pool's [`wait_outside`](heist_pool::raw::pool::wait_outside) does, and is counted meanwhile.
pub(crate) fn wait_outside(target: &impl Awaited, parker: &Parker) {
    let _blocked = Counted::new(&BLOCKED);
    heist_pool::raw::pool::wait_outside(target, parker);
}

/// A detached task waits, and nobody has a waker of it any more: it is about to be dropped.
#[cold]
pub(crate) fn leaked(id: task::Id, name: Option<&str>, site: &Location<'_>) {
    if is_told() {
        let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
        heist_sync::warn(format_args!(
            "task {id} leaked, spawned at {site}{name}: it waits, its last waker was dropped and so was its handle, so \
             it can never run again; its future is dropped"
        ));
    }
}
