//! Where a thread's block is: in its thread-local storage.

use super::{Bounds, Hot, Own, POP_ASKED, PUSH_ASKED, Slot};
use heist_sync::atomic::{AtomicBool, AtomicPtr};
use std::cell::Cell;

/// What threads outside of any pool write to before they find out where they are. Never read.
static DUMMY: Slot = Slot::new();

pub fn dummy() -> *mut Slot {
    std::ptr::from_ref(&DUMMY).cast_mut()
}

thread_local! {
    static HOT: Hot = const { Hot::outside(std::ptr::from_ref(&DUMMY).cast_mut()) };
}

impl Hot {
    const fn outside(dummy: *mut Slot) -> Self {
        Self {
            own: Own {
                head: AtomicPtr::new(dummy),
                worker: Cell::new(std::ptr::null()),
                orphan: Cell::new(std::ptr::null()),
                meter: Cell::new(std::ptr::null_mut()),
                slow_pushes: Cell::new(0),
            },
            bounds: Bounds {
                push_limit: AtomicPtr::new(PUSH_ASKED),
                pop_limit: AtomicPtr::new(POP_ASKED),
                fenced: AtomicBool::new(false),
                asked_fenced: AtomicBool::new(false),
            },
        }
    }
}

/// The calling thread's block.
// Not `inline(always)`: it would be merged into its callers before the call inside of it has become a constant one, and
// that call would then stay.
#[inline]
pub fn hot() -> &'static Hot {
    // SAFETY: the block has no destructor and lives as long as the thread. Only this thread gets the reference from
    // here, and `Hot` is neither `Send` nor `Sync`, so it cannot take it along; thieves reach it through
    // `Stack::visit`, which the owner outwaits before it leaves.
    HOT.with(|hot| unsafe { &*std::ptr::from_ref(hot) })
}
