//! A slot of the fork stack: what to call, and where its frame lies.

use super::{Floor, State};
use crate::signal::Awaited;
use heist_sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use heist_sync::planted::is_planted;
#[cfg(not(any(heist_loom, heist_shuttle)))]
use std::{
    alloc::{self, Layout},
    ops::Deref,
    ptr::NonNull,
};

/// Runs the job whose frame is given and leaves the result there. It must not unwind.
pub type Exec = unsafe fn(frame: *mut ());

/// One pending half of a fork. `call` and `frame` are the owner's until the slot is claimed, then the thief's; `state` is the
/// thief's from the claim to `done`, and the owner sets the wait bit in it. The memory is the pool's, never a stack's: a
/// thief may still be inside its last access to `state` when the owner's wait has ended.
///
/// The fields are relaxed atomics, so that threads outside of any pool can share one dummy slot; the ordering comes from the
/// thieves' word.
#[derive(Debug, Default)]
#[repr(C, align(32))]
pub struct Slot {
    call: AtomicPtr<()>,
    frame: AtomicPtr<()>,
    state: AtomicU64,
}

impl Slot {
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    pub(super) const fn new() -> Self {
        Self {
            call: AtomicPtr::new(std::ptr::null_mut()),
            frame: AtomicPtr::new(std::ptr::null_mut()),
            state: AtomicU64::new(0),
        }
    }

    #[inline(always)]
    pub(super) fn fill(&self, call: Exec, frame: *mut ()) {
        self.call.store(call as *mut (), Ordering::Relaxed);
        self.frame.store(frame, Ordering::Relaxed);
    }

    /// What was filled in. Only for whoever has claimed the slot.
    pub(super) fn job(&self) -> (Exec, *mut ()) {
        let call = self.call.load(Ordering::Relaxed);
        // SAFETY: `fill` stored an `Exec`; a claimed slot has been filled (I1, FORK-E1).
        let call = unsafe { std::mem::transmute::<*mut (), Exec>(call) };
        (call, self.frame.load(Ordering::Relaxed))
    }

    /// The state as it is now.
    pub fn state(&self) -> State {
        // ORDERING(FORK-E2): acquire, with the release in `finish`: who sees done sees result and panic in the frame.
        State(self.state.load(Ordering::Acquire))
    }

    /// The thief signs the slot that it has claimed.
    pub(super) fn sign(&self, thief: u16, floor: Floor) {
        // ORDERING(FORK-E3): release, so that who reads the thief's name here and then its word does not read an older word.
        // A read-modify-write, so that an owner's wait bit is not lost.
        self.state.fetch_or(State::taken_bits(thief, floor), Ordering::Release);
    }

    /// The thief's last access. True if the owner has to be woken.
    #[must_use]
    pub(super) fn finish(&self) -> bool {
        if is_planted("fork_done_in_two_steps") {
            let before = self.state();
            self.state.store(State::DONE, Ordering::Release);
            return before.has_waiter();
        }
        // ORDERING(FORK-E2): release hands over the frame. A swap learns of the waiter in the same step (W1).
        State(self.state.swap(State::DONE, Ordering::AcqRel)).has_waiter()
    }

    /// The owner takes the slot back after `done`.
    pub(super) fn clear(&self) {
        // ORDERING: relaxed; the next thief gets it with the word (FORK-E1).
        self.state.store(State::FREE.0, Ordering::Relaxed);
    }
}

impl Awaited for Slot {
    fn is_over(&self) -> bool {
        self.state().is_done()
    }

    fn announce_wait(&self) -> bool {
        // ORDERING: acquire for the result if it is there already (FORK-E2).
        // LIVENESS(W1): one word holds wait and done. Either we find done, or the thief's swap finds wait and wakes us.
        !State(self.state.fetch_or(State::WAIT, Ordering::Acquire)).is_done()
    }
}

/// The slots of a stack, which have no jobs at first. The kernel provides their memory page by page, as it is touched.
#[cfg(not(any(heist_loom, heist_shuttle)))]
#[derive(Debug)]
pub(super) struct Slots {
    slots: NonNull<[Slot]>,
    memory: NonNull<u8>,
}

#[cfg(not(any(heist_loom, heist_shuttle)))]
impl Slots {
    pub fn new(n: usize) -> Self {
        let layout = Self::layout(n);
        // SAFETY: the layout is not of size 0.
        let memory = unsafe { alloc::alloc_zeroed(layout) };
        let Some(memory) = NonNull::new(memory) else { alloc::handle_alloc_error(layout) };
        let padding = memory.align_offset(align_of::<Slot>());
        // SAFETY: the layout has room for it.
        let first = unsafe { memory.add(padding) }.cast::<Slot>();
        Self { slots: NonNull::slice_from_raw_parts(first, n), memory }
    }

    /// With an alignment that every allocation has. For more, the standard library fills the memory with zeroes itself, and so
    /// touches all of it.
    fn layout(n: usize) -> Layout {
        Layout::from_size_align((n + 1) * size_of::<Slot>(), align_of::<u64>()).expect("a few MiB")
    }
}

#[cfg(not(any(heist_loom, heist_shuttle)))]
impl Deref for Slots {
    type Target = [Slot];

    fn deref(&self) -> &[Slot] {
        // SAFETY: allocated for so many slots, and zero is a valid value of all their fields (null, null, FREE).
        unsafe { self.slots.as_ref() }
    }
}

#[cfg(not(any(heist_loom, heist_shuttle)))]
impl Drop for Slots {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { alloc::dealloc(self.memory.as_ptr(), Self::layout(self.len())) };
    }
}

// SAFETY: a box of slots in all but its allocation.
#[cfg(not(any(heist_loom, heist_shuttle)))]
unsafe impl Send for Slots {}
// SAFETY: as above.
#[cfg(not(any(heist_loom, heist_shuttle)))]
unsafe impl Sync for Slots {}

/// The slots of a stack under a checker, where there are few.
#[cfg(any(heist_loom, heist_shuttle))]
pub(super) type Slots = Box<[Slot]>;

/// So many slots without jobs.
pub(super) fn slots(n: usize) -> Slots {
    #[cfg(any(heist_loom, heist_shuttle))]
    return (0..n).map(|_| Slot::default()).collect();
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    Slots::new(n)
}

#[cfg(all(test, target_os = "linux", not(any(heist_loom, heist_shuttle, miri))))]
mod tests {
    use super::*;

    #[test]
    fn slots_take_memory_as_they_are_touched() {
        const PAGE: usize = 4096;
        let slots = Slots::new(64 * PAGE);
        let start = slots.as_ptr().addr().next_multiple_of(PAGE);
        let pages = slots.as_ptr_range().end.addr().saturating_sub(start) / PAGE;
        let touched = || {
            let mut seen = vec![0_u8; pages];
            // SAFETY: the kernel writes one byte for each of the pages.
            let result =
                unsafe { libc::mincore(start as *mut libc::c_void, pages * PAGE, seen.as_mut_ptr()) };
            assert_eq!(result, 0);
            seen.into_iter().filter(|page| page & 1 == 1).count()
        };
        // Larger pages than these come in one piece.
        assert!(touched() <= pages / 2, "{} of {pages} pages", touched());
        slots.iter().for_each(Slot::clear);
        assert_eq!(touched(), pages);
    }
}
