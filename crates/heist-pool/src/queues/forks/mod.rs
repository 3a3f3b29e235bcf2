#![doc = include_str!("README.md")]

mod hot;
mod owner;
mod slot;
mod state;
mod thief;
mod word;

#[cfg(all(test, heist_loom))]
mod loom;
#[cfg(all(test, not(heist_model)))]
mod tests;

pub(crate) use hot::dummy;
pub use hot::{Hot, hot};
pub use owner::{Popped, Pushed};
pub use slot::{Exec, Slot};
pub use state::{Floor, State};
pub use thief::{Care, Claimed, Look};
pub use word::Word;

use crate::worker::Inherited;
use crossbeam_utils::CachePadded;
use heist_sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// Slots of a stack. Beyond that many pending halves on one thread a fork runs its halves one after the other.
const SLOTS: usize = heist_sync::capacity(1 << 15, 4);

const _: () = assert!(SLOTS < word::MOST);

/// The part of a worker's fork stack that other threads may touch: the slots and the thieves' word, and the way to the
/// owner's bounds.
#[derive(Debug)]
pub struct Stack {
    word: CachePadded<AtomicU64>,
    /// `SLOTS + 1` of them: a push writes its slot before it compares with the bound.
    slots: slot::Slots,
    /// The owner's hot block, null while no thread owns the stack. Followed only between `visitors += 1` and `-= 1`.
    hot: AtomicPtr<Hot>,
    visitors: AtomicUsize,
    /// How many things are on the owner's stack that what lies below them does not need. Written by the owner.
    strangers: AtomicUsize,
}

/// An empty stack that nobody owns.
impl Default for Stack {
    fn default() -> Self {
        Self {
            word: CachePadded::new(AtomicU64::new(Word::EMPTY.0)),
            slots: slot::Slots::new(SLOTS + 1),
            hot: AtomicPtr::new(std::ptr::null_mut()),
            visitors: AtomicUsize::new(0),
            strangers: AtomicUsize::new(0),
        }
    }
}

impl Stack {
    /// See the field.
    pub fn strangers(&self) -> usize {
        self.strangers.load(Ordering::Relaxed)
    }

    fn base(&self) -> *mut Slot {
        self.slots.as_ptr().cast_mut()
    }

    /// The first slot that cannot be pushed.
    pub(crate) fn end(&self) -> *mut Slot {
        self.at(SLOTS)
    }

    /// Where the owner's head is while nothing is pending.
    pub(crate) fn bottom(&self) -> *mut Slot {
        self.base()
    }

    /// What became of a slot whose owner has forked the process since it was pushed. Changes nothing: nobody else is there, and the
    /// slots below are found as they were.
    ///
    /// # Safety
    /// `slot` is the one that was pushed last of those that have not been popped.
    pub(crate) unsafe fn look_at_inherited(&self, slot: *mut Slot) -> Inherited {
        // ORDERING: acquire, as in `pop_slow`.
        match self.load(Ordering::Acquire).tail() > self.position(slot) {
            false => Inherited::Mine,
            true if self.slot_of(slot).state().is_done() => Inherited::Done,
            true => Inherited::Lost,
        }
    }

    fn slot(&self, position: usize) -> &Slot {
        &self.slots[position]
    }

    /// The slot's place in the stack. `slot` must be one of this stack's.
    pub fn position(&self, slot: *const Slot) -> usize {
        // A head may also be one past the last slot, for the moment of a push onto a full stack.
        debug_assert!(self.slots.as_ptr_range().contains(&slot) || slot == self.slots.as_ptr_range().end);
        (slot.addr() - self.base().addr()) / size_of::<Slot>()
    }

    /// The slot behind a pointer into this stack.
    pub fn slot_of(&self, slot: *const Slot) -> &Slot {
        self.slot(self.position(slot))
    }

    fn at(&self, position: usize) -> *mut Slot {
        self.base().wrapping_add(position)
    }

    fn load(&self, ordering: Ordering) -> Word {
        Word(self.word.load(ordering))
    }

    /// One step of the word; the word found instead if it was another.
    fn swap_word(&self, from: Word, to: Word) -> Result<(), Word> {
        // ORDERING(FORK-E1): release publishes the slots up to the new split to the thief that claims them; acquire on the
        // thief's side is the other end. The owner needs acquire so that a slot it gets back by a reset is its own
        // again after the thief's last look.
        match self.word.compare_exchange(from.0, to.0, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Ok(()),
            Err(found) => Err(Word(found)),
        }
    }
}
