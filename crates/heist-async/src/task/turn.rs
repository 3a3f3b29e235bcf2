//! The context of the current poll: which task the calling thread polls, the task's pool, and how much of the budget is left.

use super::cell::{Head, Raw};
use super::home::Home;
use std::cell::Cell;
use std::ptr::{self, NonNull};

/// How many steps leaf futures may take in one poll.
const BUDGET: u32 = 128;
/// The budget outside of polls, where nobody counts.
const UNLIMITED: u32 = u32::MAX;

/// What is known about the poll that the thread is in; it may be nested in others, whose contexts are on the stack.
struct Current {
    task: Cell<*mut Head>,
    home: Cell<Home>,
    budget: Cell<u32>,
}

impl Current {
    const fn outside() -> Self {
        Self { task: Cell::new(ptr::null_mut()), home: Cell::new(Home::NONE), budget: Cell::new(UNLIMITED) }
    }
}

#[cfg(not(any(heist_loom, heist_shuttle)))]
heist_sync::thread_local! {
    static CURRENT: Current = const { Current::outside() };
}

#[cfg(any(heist_loom, heist_shuttle))]
heist_sync::thread_local! {
    static CURRENT: Current = Current::outside();
}

/// Holds the context of the poll around the current one, and puts it back at the end.
#[must_use]
pub(crate) struct Guard {
    task: *mut Head,
    home: Home,
    budget: u32,
}

impl Guard {
    #[inline]
    fn swap(task: Option<Raw>, home: Option<Home>, budget: u32) -> Self {
        CURRENT.with(|current| {
            let before =
                Self { task: current.task.get(), home: current.home.get(), budget: current.budget.get() };
            if let Some(task) = task {
                current.task.set(task.as_ptr());
            }
            if let Some(home) = home {
                current.home.set(home);
            }
            current.budget.set(budget);
            before
        })
    }
}

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        CURRENT.with(|current| {
            current.task.set(self.task);
            current.home.set(self.home);
            current.budget.set(self.budget);
        });
    }
}

/// A worker polls `task`.
///
/// INVARIANT: the task is `RUNNING` until the guard goes, or is not looked at any more.
#[inline]
pub(super) fn of_task(task: Raw, home: Home) -> Guard {
    Guard::swap(Some(task), Some(home), BUDGET)
}

/// A thread polls a future that is no task, on whatever task's stack it is. What it spawns goes to `home`, if that is said.
///
/// INVARIANT: the caller keeps `home` until the guard goes.
pub(crate) fn of_future(home: Option<Home>) -> Guard {
    Guard::swap(None, home, UNLIMITED)
}

/// Runs `f`, which is no task of its own; what it spawns, and the timers and sockets that it makes, go to `pool`.
#[cfg(not(heist_loom))]
pub(crate) fn inside<R>(pool: &heist_sync::StdArc<heist_pool::raw::pool::Pool>, f: impl FnOnce() -> R) -> R {
    struct In {
        home: Home,
        guard: Option<Guard>,
    }
    impl Drop for In {
        fn drop(&mut self) {
            self.guard = None;
            // SAFETY: our own count, and the thread has just forgotten it.
            unsafe { self.home.release() };
        }
    }
    let home = Home::of(pool);
    // Also on the way out of a panic, the thread forgets the pool before its count is given back.
    let _in_pool = In { home, guard: Some(of_future(Some(home))) };
    f()
}

/// Takes one step off the budget. False if none is left.
#[inline]
pub(crate) fn spend() -> bool {
    CURRENT.with(|current| match current.budget.get() {
        0 => false,
        UNLIMITED => true,
        left => {
            current.budget.set(left - 1);
            true
        }
    })
}

/// Whether the current poll has any budget left.
#[inline]
#[cfg(not(any(heist_loom, heist_shuttle)))]
pub(crate) fn has_budget() -> bool {
    CURRENT.with(|current| current.budget.get() > 0)
}

/// Returns the task that the calling thread polls.
#[inline]
pub(super) fn task() -> Option<Raw> {
    CURRENT.with(|current| NonNull::new(current.task.get()).map(Raw::new))
}

/// Whether the calling thread is somewhere inside of the poll of a task.
#[inline]
#[cfg(not(any(heist_loom, heist_shuttle)))]
pub(crate) fn is_in_task() -> bool {
    CURRENT.with(|current| !current.task.get().is_null())
}

/// The home of what is spawned here, with a count of its own if it needs one.
#[inline]
#[cfg(not(heist_loom))]
pub(super) fn home() -> Home {
    let home = CURRENT.with(|current| current.home.get());
    if home.is_none() { Home::of_thread() } else { home.duplicate() }
}

/// The pool of the current poll; outside of polls, of the thread, or else the global one.
#[cfg(not(any(heist_loom, heist_shuttle)))]
pub(crate) fn pool() -> heist_sync::StdArc<heist_pool::raw::pool::Pool> {
    let home = CURRENT.with(|current| current.home.get());
    if home.is_none() { heist_pool::raw::global::current() } else { home.to_arc() }
}

/// Whether the current poll is another pool's than `pool`.
#[inline]
#[cfg(not(any(heist_loom, heist_shuttle)))]
pub(crate) fn is_elsewhere(pool: &heist_pool::raw::pool::Pool) -> bool {
    let home = CURRENT.with(|current| current.home.get());
    !home.is_none() && !home.is_in(pool)
}
