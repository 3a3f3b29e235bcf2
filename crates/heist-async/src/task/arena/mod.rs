//! Where cells come from: size classes, a few free cells of each at hand in every thread, and a depot for the rest.
//!
//! Memory that was once a cell stays one, and is never given back to the system: that is what lets [`dump`](super::dump) look at
//! cells that may be freed at any moment (R6). A cell may be taken on one thread and given back on another. Each thread keeps
//! up to two batches per class, and goes to the depot, under its lock, for a whole batch.

use super::cell::Head;
use super::state::{State, Word};
use std::alloc::Layout;
#[cfg(not(any(heist_loom, heist_shuttle)))]
use std::ptr::NonNull;

#[cfg(not(any(heist_loom, heist_shuttle)))]
mod chunk;
#[cfg(not(any(heist_loom, heist_shuttle)))]
mod depot;
#[cfg(any(heist_loom, heist_shuttle))]
mod heap;
#[cfg(not(any(heist_loom, heist_shuttle)))]
mod magazine;

#[cfg(all(test, heist_loom))]
pub(super) use heap::clear;
#[cfg(any(heist_loom, heist_shuttle))]
pub(super) use heap::{begin, give, next_generation, place, take};
#[cfg(not(any(heist_loom, heist_shuttle)))]
pub(super) use {chunk::place, depot::for_each, magazine::give, magazine::take};

/// Every cell is aligned so.
pub(super) const ALIGN: usize = 16;

/// Sizes of cells. Steps of at most a quarter; small ones are fine, because a program has the most of those.
const SIZES: [usize; 18] =
    [64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 1024, 1536, 2048];

/// A future that would make its cell larger than this is boxed.
pub(super) const LARGEST: usize = SIZES[SIZES.len() - 1];

/// Which of the [`SIZES`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Class(u8);

impl Class {
    /// The smallest class for cells of this layout.
    ///
    /// # Panics
    /// If there is none. It is called at compile time.
    pub(super) const fn of(layout: Layout) -> Self {
        // The checkers' atomics are larger than they are, and their cells come from the heap.
        if cfg!(any(heist_loom, heist_shuttle)) {
            return Self(0);
        }
        assert!(layout.align() <= ALIGN);
        let mut class = 0;
        while SIZES[class] < layout.size() {
            class += 1;
        }
        Self(class as u8)
    }

    /// Bytes per cell.
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    pub(super) const fn size(self) -> usize {
        SIZES[self.0 as usize]
    }

    /// Cells per batch: less of the large ones, since every thread may keep two batches.
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    const fn batch(self) -> u32 {
        match 8192 / self.size() {
            0..4 => 4,
            n if n > 32 => 32,
            n => n as u32,
        }
    }
}

/// Counts the tasks that were in this place.
///
/// # Safety
/// `generation` is that of a cell just taken.
#[cfg(not(any(heist_loom, heist_shuttle)))]
#[inline]
pub(super) unsafe fn next_generation(generation: *mut u32) {
    // SAFETY: by the caller; 0 in a cell that was never used.
    unsafe { generation.write(generation.read().wrapping_add(1)) };
}

/// The cell is a task from here on.
///
/// # Safety
/// `state` is that of a cell just taken.
#[cfg(not(any(heist_loom, heist_shuttle)))]
#[inline]
pub(super) unsafe fn begin(state: *mut State, word: Word) {
    // SAFETY: by the caller; it was initialised when the chunk was.
    unsafe { &*state }.store(word);
}

/// A list of free cells, linked by their first word (R5).
#[cfg(not(any(heist_loom, heist_shuttle)))]
#[derive(Clone, Copy)]
struct Batch {
    first: *mut Head,
    len: u32,
}

// SAFETY: free cells belong to nobody but who has the list.
#[cfg(not(any(heist_loom, heist_shuttle)))]
unsafe impl Send for Batch {}

/// # Safety
/// The caller has the free cell.
#[cfg(not(any(heist_loom, heist_shuttle)))]
#[inline]
unsafe fn set_next(cell: NonNull<Head>, next: *mut Head) {
    // SAFETY: by the caller; the first word of a free cell is for this.
    unsafe { cell.cast::<*mut Head>().write(next) };
}

/// # Safety
/// The caller has the free cell, and it was in a list.
#[cfg(not(any(heist_loom, heist_shuttle)))]
#[inline]
unsafe fn next(cell: NonNull<Head>) -> *mut Head {
    // SAFETY: by the caller.
    unsafe { cell.cast::<*mut Head>().read() }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests;
