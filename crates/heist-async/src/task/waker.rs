//! Wakers. Each counts in its task's word; the one that a poll lends does not.

use super::cell::{Head, Raw};
use heist_pool::raw::task::Place;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::task::{RawWaker, RawWakerVTable, Waker};

/// One table for all tasks, so that `will_wake` compares what it should: the address.
static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

/// The waker that a poll lends.
#[inline]
pub(super) fn borrowed(task: Raw) -> ManuallyDrop<Waker> {
    // SAFETY: the functions below fulfil the contract, given a task that is kept; the poll keeps it for as long as this is
    // borrowed, and a clone counts by itself.
    ManuallyDrop::new(unsafe { Waker::new(task.as_ptr().cast_const().cast(), &VTABLE) })
}

/// # Safety
/// From [`borrowed`] or a clone of that.
#[inline]
unsafe fn task(data: *const ()) -> Raw {
    // SAFETY: by the caller, it is a task's address.
    Raw::new(unsafe { NonNull::new_unchecked(data.cast_mut().cast::<Head>()) })
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: a waker's data.
    unsafe { task(data) }.state.clone_waker();
    RawWaker::new(data, &VTABLE)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: a waker's data.
    let task = unsafe { task(data) };
    let keep = task.home().keep();
    let loose = task.state.wake();
    // SAFETY: `wake` said so.
    unsafe { task.settle(loose, &keep, Place::Next) };
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: a waker's data.
    let task = unsafe { task(data) };
    if task.state.wake_by_ref() {
        task.stamp();
        // SAFETY: `wake_by_ref` gave us the `TaskRef`. The waker keeps the cell, and that its pool; and so does the worker of
        // that pool which is polling it, if this is the waker it lends.
        unsafe { task.schedule(Place::Next) };
    }
}

unsafe fn drop_waker(data: *const ()) {
    // SAFETY: a waker's data.
    let task = unsafe { task(data) };
    let keep = task.home().keep();
    let loose = task.state.drop_waker();
    // SAFETY: `drop_waker` said so.
    unsafe { task.settle(loose, &keep, Place::Last) };
}
