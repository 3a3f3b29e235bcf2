//! What the calling thread is polling: the task, its pool, and how much of its budget is left.

use super::cell::{Head, Raw};
use super::home::Home;
use std::cell::Cell;
use std::ptr::{self, NonNull};

/// Steps that leaf futures may take in one poll.
const BUDGET: u32 = 128;
/// Outside of polls nobody counts.
const UNLIMITED: u32 = u32::MAX;

struct Turn {
    task: Cell<*mut Head>,
    home: Cell<Home>,
    budget: Cell<u32>,
}

impl Turn {
    const fn outside() -> Self {
        Self { task: Cell::new(ptr::null_mut()), home: Cell::new(Home::NONE), budget: Cell::new(UNLIMITED) }
    }
}

#[cfg(not(any(heist_loom, heist_shuttle)))]
heist_sync::thread_local! {
    static TURN: Turn = const { Turn::outside() };
}

#[cfg(any(heist_loom, heist_shuttle))]
heist_sync::thread_local! {
    static TURN: Turn = Turn::outside();
}

/// Puts back what was there before, at the end of a poll.
#[must_use]
pub(crate) struct Guard {
    task: *mut Head,
    home: Home,
    budget: u32,
}

impl Guard {
    #[inline]
    fn swap(task: Option<Raw>, home: Option<Home>, budget: u32) -> Self {
        TURN.with(|turn| {
            let before = Self { task: turn.task.get(), home: turn.home.get(), budget: turn.budget.get() };
            if let Some(task) = task {
                turn.task.set(task.as_ptr());
            }
            if let Some(home) = home {
                turn.home.set(home);
            }
            turn.budget.set(budget);
            before
        })
    }
}

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        TURN.with(|turn| {
            turn.task.set(self.task);
            turn.home.set(self.home);
            turn.budget.set(self.budget);
        });
    }
}

/// A worker gives `task` a turn.
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
    TURN.with(|turn| match turn.budget.get() {
        0 => false,
        UNLIMITED => true,
        left => {
            turn.budget.set(left - 1);
            true
        }
    })
}

/// Whether the present poll has any budget left.
#[inline]
#[cfg(not(any(heist_loom, heist_shuttle)))]
pub(crate) fn has_budget() -> bool {
    TURN.with(|turn| turn.budget.get() > 0)
}

/// The task that the calling thread polls.
#[inline]
pub(super) fn task() -> Option<Raw> {
    TURN.with(|turn| NonNull::new(turn.task.get()).map(Raw::new))
}

/// The home of what is spawned here, with a count of its own if it needs one.
#[inline]
#[cfg(not(heist_loom))]
pub(super) fn home() -> Home {
    let home = TURN.with(|turn| turn.home.get());
    if home.is_none() { Home::of_thread() } else { home.duplicate() }
}

/// The pool of the present turn; outside of turns, of the thread, or else the global one.
#[cfg(not(any(heist_loom, heist_shuttle)))]
pub(crate) fn pool() -> heist_sync::StdArc<heist_pool::pool::Pool> {
    let home = TURN.with(|turn| turn.home.get());
    if home.is_none() { heist_pool::global::current() } else { home.to_arc() }
}

/// Whether the present turn is another pool's than `pool`.
#[inline]
#[cfg(not(any(heist_loom, heist_shuttle)))]
pub(crate) fn is_elsewhere(pool: &heist_pool::pool::Pool) -> bool {
    let home = TURN.with(|turn| turn.home.get());
    !home.is_none() && !home.is_in(pool)
}
