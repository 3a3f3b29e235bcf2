//! The context of the current poll: which task the calling thread polls, the task's pool, and how much of the budget is left.

#[cfg(not(heist_loom))]
#[path = "turn_pool.rs"]
mod pool_of_poll;

#[cfg(not(heist_loom))]
pub(crate) use pool_of_poll::{home, inside, is_elsewhere, now, pool};

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

heist_sync::thread_local! {
    static CURRENT: Current = const { Current::outside() };
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
pub(crate) fn is_in_task() -> bool {
    CURRENT.with(|current| !current.task.get().is_null())
}
