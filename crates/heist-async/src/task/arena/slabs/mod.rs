//! Cells cut from chunks of memory: a few free ones at hand in every thread, and a depot for the rest.

mod chunk;
mod depot;
mod magazine;

#[cfg(all(test, not(heist_model)))]
mod tests;

pub(in crate::task) use {
    chunk::beside, chunk::place, depot::for_each, depot::try_for_each, magazine::give, magazine::take,
};

use super::{ALIGN, Class, SIZES, SMALLEST};
use crate::task::cell::Head;
use crate::task::state::{State, Word};
use std::ptr::NonNull;

/// Cells have sizes.
pub(super) const HAS_CLASSES: bool = true;

/// Counts the tasks that were in this place.
///
/// # Safety
/// `generation` is that of a cell just taken.
#[inline]
pub(in crate::task) unsafe fn next_generation(generation: *mut u32) {
    // SAFETY: by the caller; 0 in a cell that was never used.
    unsafe { generation.write(generation.read().wrapping_add(1)) };
}

/// The cell is a task from here on.
///
/// # Safety
/// `state` is that of a cell just taken.
#[inline]
pub(in crate::task) unsafe fn begin(state: *mut State, word: Word) {
    // SAFETY: by the caller; it was initialised when the chunk was.
    unsafe { &*state }.store(word);
}

/// A list of free cells, linked by their first word (R5).
#[derive(Clone, Copy)]
struct Batch {
    first: *mut Head,
    len: u32,
}

// SAFETY: free cells belong to nobody but who has the list.
unsafe impl Send for Batch {}

/// # Safety
/// The caller has the free cell.
#[inline]
unsafe fn set_next(cell: NonNull<Head>, next: *mut Head) {
    // SAFETY: by the caller; the first word of a free cell is for this.
    unsafe { cell.cast::<*mut Head>().write(next) };
}

/// # Safety
/// The caller has the free cell, and it was in a list.
#[inline]
unsafe fn next(cell: NonNull<Head>) -> *mut Head {
    // SAFETY: by the caller.
    unsafe { cell.cast::<*mut Head>().read() }
}
