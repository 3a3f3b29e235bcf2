//! Cells under the model checkers: plain heap memory, one cell after the other.
//!
//! A cell that is given back stays readable until the next model, so that one who comes too late is caught by an assertion and not
//! by a fault.

use super::Class;
use crate::task::cell::Head;
use crate::task::state::{State, Word};
use heist_sync::std_atomic::{self, AtomicU32, Ordering};
use std::alloc::Layout;
use std::cell::RefCell;
use std::ptr::NonNull;

/// The checkers' atomics are larger than they are: every cell is large enough for any task.
pub(super) const HAS_CLASSES: bool = false;

/// Their cells need not be small.
const LAYOUT: Layout = match Layout::from_size_align(4096, 64) {
    Ok(layout) => layout,
    Err(_) => panic!("4096 is a multiple of 64"),
};

// The checkers run all threads of a model on one thread of the system, so this is shared by them.
std::thread_local! {
    static GIVEN_BACK: RefCell<Vec<NonNull<Head>>> = const { RefCell::new(Vec::new()) };
}

pub(in crate::task) fn take(_: Class) -> NonNull<Head> {
    // SAFETY: the size is not 0.
    let cell = unsafe { std::alloc::alloc_zeroed(LAYOUT) };
    match NonNull::new(cell.cast()) {
        Some(cell) => cell,
        None => std::alloc::handle_alloc_error(LAYOUT),
    }
}

/// # Safety
/// From [`take`], and given back once.
pub(in crate::task) unsafe fn give(cell: NonNull<Head>, _: Class) {
    // SAFETY: by the caller.
    let head = unsafe { cell.as_ref() };
    head.awaiter.with_mut(|_| ());
    head.ghost.bury();
    GIVEN_BACK.with_borrow_mut(|cells| cells.push(cell));
}

/// How many cells were given back. They are freed.
#[cfg(all(test, heist_loom))]
pub(in crate::task) fn clear() -> usize {
    let cells = GIVEN_BACK.take();
    for &cell in &cells {
        // SAFETY: given back, and the model is over. The head has no drop of its own, but the checkers' types in it do.
        unsafe { cell.drop_in_place() };
        // SAFETY: from `take`.
        unsafe { std::alloc::dealloc(cell.as_ptr().cast(), LAYOUT) };
    }
    cells.len()
}

/// Nothing is kept beside cells.
pub(in crate::task) struct Beside {
    pub ready_ns: std_atomic::AtomicU64,
    pub awaits: std_atomic::AtomicU64,
}

pub(in crate::task) fn beside(_: NonNull<Head>, _: bool) -> Option<&'static Beside> {
    None
}

pub(in crate::task) fn place(_: NonNull<Head>) -> u32 {
    0
}

/// # Safety
/// `generation` is that of a cell just taken.
pub(in crate::task) unsafe fn next_generation(generation: *mut u32) {
    static LAST: AtomicU32 = AtomicU32::new(0);
    // SAFETY: by the caller.
    unsafe { generation.write(LAST.fetch_add(1, Ordering::Relaxed) + 1) };
}

/// # Safety
/// `state` is that of a cell just taken.
pub(in crate::task) unsafe fn begin(state: *mut State, word: Word) {
    // SAFETY: by the caller.
    unsafe { state.write(State::default()) };
    // SAFETY: it is initialised now.
    unsafe { &*state }.store(word);
}
