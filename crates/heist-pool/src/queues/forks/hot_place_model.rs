//! Where a thread's block is under a checker, whose atomics cannot be made at compile time: on the heap.

use super::{Hot, Slot};
use heist_sync::thread_local;

thread_local! {
    static HOT: *mut Hot = {
        let hot = Box::<Hot>::default();
        hot.leave(dummy());
        Box::into_raw(hot)
    };
}

pub fn dummy() -> *mut Slot {
    Box::into_raw(Box::default())
}

/// The calling thread's block.
pub fn hot() -> &'static Hot {
    // SAFETY: leaked above, so it lives for ever; the checkers' runs are short.
    HOT.with(|hot| unsafe { &**hot })
}

/// Stands for the end of the calling thread's block: loom complains if anybody may still be in it.
#[cfg(all(test, heist_loom))]
pub fn end() {
    HOT.with(|hot| {
        // SAFETY: loom checks it: nobody uses the block at this time or after.
        let hot = unsafe { &mut **hot };
        hot.own.head.with_mut(|_| ());
        hot.bounds.push_limit.with_mut(|_| ());
        hot.bounds.pop_limit.with_mut(|_| ());
    });
}
