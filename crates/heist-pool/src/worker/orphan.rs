//! A worker in a child of `fork(2)`: its pool and the other threads are the parent's, but the frames on this thread's stack go on and
//! come back to it. See the README of `process`.

use super::Worker;
use crate::calls::wait_outside;
use crate::process::refuse_wait;
use crate::queues::forks::{Hot, Slot, dummy};
use crate::signal::Awaited;
use heist_sync::Parker;
use std::cell::Cell;

/// What a fork leaves of a worker.
#[derive(Debug)]
pub(super) struct Orphaned {
    /// The worker below it on the same stack that another fork has left.
    below: Cell<*const ()>,
    /// Where the thread's fork stack ended.
    head: Cell<*mut Slot>,
}

impl Default for Orphaned {
    fn default() -> Self {
        Self { below: Cell::new(std::ptr::null()), head: Cell::new(std::ptr::null_mut()) }
    }
}

/// What became of a half of a join that was pending when the process forked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Inherited {
    /// Nobody had taken it: it is the caller's.
    Mine,
    /// A thief had ended it. Its result is there.
    Done,
    /// A thief had it.
    Lost,
}

/// In a child, before `fork` returns: the calling thread is in no pool from here on. Only stores.
pub(crate) fn leave_after_fork(hot: &'static Hot) {
    if let Some(worker) = Worker::of(hot) {
        worker.orphaned.below.set(hot.orphan());
        worker.orphaned.head.set(hot.head());
        hot.set_orphan(std::ptr::from_ref(worker).cast());
        hot.leave(dummy());
    }
}

/// The worker that the last fork on this stack has left, as long as what ran there then has not returned.
pub fn orphan_of(hot: &Hot) -> Option<&'static Worker> {
    let worker = hot.orphan().cast::<Worker>();
    // SAFETY: set by `leave_after_fork`, and taken back by `end_visit` before the worker goes; those that do not visit stay
    // until the process ends, or lie in a box that is not freed.
    (!worker.is_null()).then(|| unsafe { &*worker })
}

/// Whether halves of joins that were pending at a fork are still on the calling thread's stack.
pub(crate) fn has_inherited_forks(hot: &Hot) -> bool {
    let mut next = orphan_of(hot);
    while let Some(worker) = next {
        if worker.orphaned.head.get() != worker.me.shared.stack.bottom() {
            return true;
        }
        // SAFETY: as in `orphan_of`: those below stay longer.
        next = unsafe { worker.orphaned.below.get().cast::<Worker>().as_ref() };
    }
    false
}

/// A visit to the parent's pool is over: the thread returns to what was below.
pub(crate) fn end_visit(hot: &Hot, worker: &Worker) {
    debug_assert!(std::ptr::eq(hot.orphan().cast(), worker), "frames return in order");
    hot.set_orphan(worker.orphaned.below.get());
}

/// Goes on with a pop, on a thread that is in no pool, of a slot that was pushed before the process forked.
///
/// # Safety
/// `slot` was popped last on this thread, which was in a pool when it was pushed.
#[cold]
pub unsafe fn pop_inherited(hot: &Hot, slot: *mut Slot) -> Inherited {
    // The pop has left its mark in a block that belongs to no stack.
    hot.leave(dummy());
    let worker = orphan_of(hot).expect("a pushed slot has a stack");
    // SAFETY: by the caller; frames return in order, so it is that worker's.
    unsafe { worker.me.shared.stack.look_at_inherited(slot) }
}

/// A wait that goes on in a child. It runs what nobody else had taken, by `run_inherited`: false if there is none left.
///
/// # Panics
/// If what it waits for can never end there.
#[cold]
pub(super) fn wait_in_child(target: &impl Awaited, parker: &Parker, run_inherited: impl Fn() -> bool) {
    while !target.is_over() {
        if run_inherited() {
            continue;
        }
        if !target.may_end_in_child() {
            refuse_wait();
        }
        // LIVENESS: as outside of pools. The parker is this thread's, whoever unparks it.
        wait_outside(target, parker);
    }
}
