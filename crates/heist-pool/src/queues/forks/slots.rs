//! The memory of a fork stack.

use super::Slot;
use heist_sync::atomic::{AtomicPtr, AtomicU64};
use std::alloc::{self, Layout};
use std::ops::Deref;
use std::ptr::NonNull;

impl Slot {
    pub(in super::super) const fn new() -> Self {
        Self {
            call: AtomicPtr::new(std::ptr::null_mut()),
            frame: AtomicPtr::new(std::ptr::null_mut()),
            state: AtomicU64::new(0),
            outcome: AtomicPtr::new(std::ptr::null_mut()),
        }
    }
}

/// The slots of a stack, which have no jobs at first. The kernel provides their memory page by page, as it is touched.
#[derive(Debug)]
pub(in super::super) struct Slots {
    slots: NonNull<[Slot]>,
    memory: NonNull<u8>,
}

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

impl Deref for Slots {
    type Target = [Slot];

    fn deref(&self) -> &[Slot] {
        // SAFETY: allocated for so many slots, and zero is a valid value of all their fields (null, null, FREE).
        unsafe { self.slots.as_ref() }
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { alloc::dealloc(self.memory.as_ptr(), Self::layout(self.len())) };
    }
}

// SAFETY: a box of slots in all but its allocation.
unsafe impl Send for Slots {}
// SAFETY: as above.
unsafe impl Sync for Slots {}

#[cfg(all(test, target_os = "linux", not(miri)))]
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
