//! The words that every push and pop touches, in the thread's own block.

use super::Slot;
use crate::profile::Frame;
use heist_sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::cell::Cell;

/// What a thread reads and writes at each fork. It lives in the thread-local block itself: a pointer to it would cost a
/// quarter of the fork.
///
/// Outside of a pool `push_limit` is null, so the first comparison of a push leads to the slow path, which then looks where
/// it is; the fast path has no test of its own for that.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub struct Hot {
    own: Own,
    bounds: Bounds,
}

/// The owner's line.
#[derive(Debug, Default)]
#[repr(C, align(64))]
struct Own {
    /// The first free slot. Written by the owner only; a forcing thief reads it.
    head: AtomicPtr<Slot>,
    /// The worker behind this thread, null outside of a pool.
    worker: Cell<*const ()>,
    /// The worker that it was before the process forked, null if it was none.
    orphan: Cell<*const ()>,
    /// What is measured of what runs here, null if nothing is.
    meter: Cell<*mut Frame>,
    /// How many pushes have left the fast path.
    slow_pushes: Cell<u64>,
}

/// The line that the owner only reads while nobody asks.
#[derive(Debug, Default)]
#[repr(C, align(64))]
struct Bounds {
    /// Slots at or above it must not be pushed on the fast path: the end of the stack, or an address below all slots
    /// (`PUSH_ASKED`, `PUSH_ARMED`, `PUSH_METERED`).
    push_limit: AtomicPtr<Slot>,
    /// Slots below it must not be popped on the fast path: the split, or the highest address (`ASKED`).
    pop_limit: AtomicPtr<Slot>,
    /// Where the process has no `membarrier` both limits stay poisoned and this says whether somebody asks.
    fenced: AtomicBool,
    asked_fenced: AtomicBool,
}

/// A thief has asked.
const PUSH_ASKED: *mut Slot = std::ptr::null_mut();
/// A thread that goes to sleep has asked, and sees to the barrier that makes sure of it. No slot is there either.
const PUSH_ARMED: *mut Slot = std::ptr::without_provenance_mut(1);
/// Nobody has asked, but every push is measured.
const PUSH_METERED: *mut Slot = std::ptr::without_provenance_mut(2);
const POP_ASKED: *mut Slot = std::ptr::without_provenance_mut(usize::MAX);

impl Hot {
    /// The worker of this thread, null outside of a pool.
    #[inline(always)]
    pub fn worker(&self) -> *const () {
        self.own.worker.get()
    }

    /// The worker that this thread was before the process forked: see [`orphan_of`](crate::worker::orphan_of).
    pub(crate) fn orphan(&self) -> *const () {
        self.own.orphan.get()
    }

    pub(crate) fn set_orphan(&self, worker: *const ()) {
        self.own.orphan.set(worker);
    }

    /// The first free slot.
    #[inline(always)]
    pub fn head(&self) -> *mut Slot {
        // ORDERING: relaxed; the owner reads its own writes.
        self.own.head.load(Ordering::Relaxed)
    }

    /// As read by a forcing thief.
    pub(super) fn head_seen_by_thief(&self) -> *mut Slot {
        // ORDERING(FORK-E4): acquire, with the release in `set_head`: slots below this head have been filled.
        self.own.head.load(Ordering::Acquire)
    }

    #[inline(always)]
    pub(super) fn set_head(&self, slot: *mut Slot) {
        // ORDERING(FORK-E4): release, for a forcing thief. Free on x86; nothing else orders the slot before the head there.
        self.own.head.store(slot, Ordering::Release);
    }

    #[inline(always)]
    pub(super) fn push_limit(&self) -> *mut Slot {
        self.bounds.push_limit.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(super) fn pop_limit(&self) -> *mut Slot {
        self.bounds.pop_limit.load(Ordering::Relaxed)
    }

    pub(super) fn is_fenced(&self) -> bool {
        self.bounds.fenced.load(Ordering::Relaxed)
    }

    /// Whether a request has not been answered.
    pub(crate) fn is_asked(&self) -> bool {
        if self.is_fenced() {
            self.bounds.asked_fenced.load(Ordering::Relaxed)
        } else {
            self.push_limit() <= PUSH_ARMED
        }
    }

    /// Whether the request is that of somebody who is awake, and found nothing here.
    pub(crate) fn is_asked_by_thief(&self) -> bool {
        if self.is_fenced() { self.is_asked() } else { self.push_limit() == PUSH_ASKED }
    }

    /// A thread about to sleep asks. False if one before it has, and the owner has not answered since: then that one has
    /// seen, or sees to, everything that was pushed before its request, and what comes after meets the request (FORK-E6, FORK-E8).
    pub(super) fn arm(&self) -> bool {
        // ORDERING: relaxed; behind the caller's fence, which is behind the change of the counters.
        if !self.is_fenced() && self.push_limit() == PUSH_ARMED {
            return false;
        }
        self.ask_with(PUSH_ARMED);
        true
    }

    /// A thief asks. Writes only what is not yet so: the line is the owner's to read.
    pub(super) fn ask(&self) {
        self.ask_with(PUSH_ASKED);
    }

    fn ask_with(&self, mark: *mut Slot) {
        if self.is_fenced() {
            self.bounds.asked_fenced.store(true, Ordering::Relaxed);
            return;
        }
        // ORDERING: relaxed; `barrier::heavy` of the caller orders it where it matters (FORK-E5, FORK-E6), and a request that is
        // seen late is only answered late.
        let limit = self.push_limit();
        if limit > PUSH_ARMED || (limit != mark && mark == PUSH_ARMED) {
            self.bounds.push_limit.store(mark, Ordering::Relaxed);
        }
        if self.bounds.pop_limit.load(Ordering::Relaxed) != POP_ASKED {
            self.bounds.pop_limit.store(POP_ASKED, Ordering::Relaxed);
        }
    }

    /// The owner has answered: pushes are fast again, unless they are measured. Whatever it then reads about sleepers must be read behind
    /// a fence.
    pub(super) fn clear_asked(&self, end: *mut Slot) {
        if self.is_fenced() {
            self.bounds.asked_fenced.store(false, Ordering::Relaxed);
        } else {
            let limit = if self.is_metered() { PUSH_METERED } else { end };
            self.bounds.push_limit.store(limit, Ordering::Relaxed);
        }
    }

    /// Whether what runs on this thread is measured.
    #[inline]
    pub(crate) fn is_metered(&self) -> bool {
        !self.own.meter.get().is_null()
    }

    pub(crate) fn meter(&self) -> *mut Frame {
        self.own.meter.get()
    }

    /// From here on what runs on this thread is measured in `meter`, or not any more if that is null. Returns what was there. `end` is that of
    /// the thread's stack, if it has one.
    pub(crate) fn set_meter(&self, meter: *mut Frame, end: Option<*mut Slot>) -> *mut Frame {
        let before = self.own.meter.replace(meter);
        if let Some(end) = end
            && !self.is_fenced()
        {
            let (from, to) = if meter.is_null() { (PUSH_METERED, end) } else { (end, PUSH_METERED) };
            // ORDERING: relaxed. Whoever asks meanwhile wins; then `clear_asked` sees to it.
            let _ = self.bounds.push_limit.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
        }
        before
    }

    /// How many pushes of this thread have left the fast path.
    pub fn slow_pushes(&self) -> u64 {
        self.own.slow_pushes.get()
    }

    pub(crate) fn note_slow_push(&self) {
        self.own.slow_pushes.set(self.own.slow_pushes.get() + 1);
    }

    /// The owner may pop down to `split` again.
    ///
    /// INVARIANT(I3): after this and before it pops, the owner changes the word.
    pub(super) fn set_pop_limit(&self, split: *mut Slot) {
        if !self.is_fenced() {
            self.bounds.pop_limit.store(split, Ordering::Relaxed);
        }
    }

    pub(super) fn enter(&self, worker: *const (), base: *mut Slot, fenced: bool) {
        self.bounds.fenced.store(fenced, Ordering::Relaxed);
        self.bounds.asked_fenced.store(true, Ordering::Relaxed);
        // Not a thief's: nobody has searched here yet.
        self.bounds.push_limit.store(PUSH_ARMED, Ordering::Relaxed);
        self.bounds.pop_limit.store(POP_ASKED, Ordering::Relaxed);
        self.own.head.store(base, Ordering::Relaxed);
        self.own.worker.set(worker);
    }

    pub(crate) fn leave(&self, dummy: *mut Slot) {
        self.own.worker.set(std::ptr::null());
        self.own.head.store(dummy, Ordering::Relaxed);
        self.bounds.push_limit.store(PUSH_ASKED, Ordering::Relaxed);
        self.bounds.pop_limit.store(POP_ASKED, Ordering::Relaxed);
    }
}

#[cfg_attr(not(heist_model), path = "hot_place.rs")]
#[cfg_attr(heist_model, path = "hot_place_model.rs")]
mod place;

#[cfg(all(test, heist_loom))]
pub use place::end;
pub use place::{dummy, hot};
