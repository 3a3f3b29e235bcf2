//! The ring that holds the items, and the way from an index to its slot.
//!
//! A ring is never freed before the deque: an outgrown one may still be read by a thief that claimed an index in it. The
//! outgrown rings sum to less than the newest.

use crate::planted;
use crate::word::Word;
use heist_sync::atomic::{AtomicBool, AtomicU32, Ordering};
use heist_sync::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr;

/// A place for one item.
pub(crate) struct Slot<T> {
    item: UnsafeCell<MaybeUninit<T>>,
    /// The index of the last item that a thief has finished reading from here. An owner's pop leaves it alone: only claimed
    /// indices are ever looked for.
    done: AtomicU32,
}

impl<T> Slot<T> {
    /// # Safety
    /// No other thread may touch the item of this slot meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn write(&self, item: T) {
        // SAFETY: the caller is alone with the slot; writing to `MaybeUninit` drops nothing.
        self.item.with_mut(|p| unsafe { p.write(MaybeUninit::new(item)) });
    }

    /// # Safety
    /// The slot must hold an item, nobody may write to it meanwhile, and of all who read this item only one may use it.
    #[inline(always)]
    pub(crate) unsafe fn read(&self) -> T {
        // SAFETY: initialised and unwritten by contract.
        unsafe { self.read_bits().assume_init() }
    }

    /// # Safety
    /// Nobody may write to the slot meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn read_bits(&self) -> MaybeUninit<T> {
        // SAFETY: no writer by contract, and any bytes are a valid `MaybeUninit`.
        self.item.with(|p| unsafe { ptr::read(p) })
    }

    /// # Safety
    /// No other thread may touch the item of this slot meanwhile.
    pub(crate) unsafe fn write_bits(&self, bits: MaybeUninit<T>) {
        // SAFETY: the caller is alone with the slot.
        self.item.with_mut(|p| unsafe { p.write(bits) });
    }

    /// A thief has finished with `index`.
    #[inline(always)]
    pub(crate) fn finish(&self, index: u32) {
        // ORDERING(E2): release, with the acquire in `is_finished`: the read of the item is over before the owner may
        // overwrite it.
        self.done.store(index, planted::done_store());
    }

    /// Whether the thief of `index` has finished.
    pub(crate) fn is_finished(&self, index: u32) -> bool {
        // ORDERING(E2): acquire, with the release in `finish`.
        self.done.load(Ordering::Acquire) == index
    }
}

/// A power of two of slots.
pub(crate) struct Buffer<T> {
    mask: usize,
    slots: Box<[Slot<T>]>,
    /// The tail at the time of growth: items below were claimed in an older ring, items from here on live in this one.
    first: u64,
    /// No claim below `first` is left unfinished, so nobody will ask for such an index.
    settled: AtomicBool,
    /// The ring that this one replaced; null for the first.
    pub(crate) older: *const Buffer<T>,
}

impl<T> Buffer<T> {
    pub(crate) fn new(capacity: usize) -> Box<Self> {
        debug_assert!(capacity.is_power_of_two() && capacity >= 2);
        let slots = (0..capacity)
            .map(|place| Slot {
                item: UnsafeCell::new(MaybeUninit::uninit()),
                // The index of a neighbour, which never lives here: nothing is finished yet.
                done: AtomicU32::new(place as u32 ^ 1),
            })
            .collect();
        Box::new(Self {
            mask: capacity - 1,
            slots,
            first: 0,
            settled: AtomicBool::new(true),
            older: std::ptr::null(),
        })
    }

    /// Makes this ring, not yet seen by anyone, the successor of `older` for all items from `first` on.
    pub(crate) fn succeed(&mut self, older: *const Buffer<T>, first: u64, settled: bool) {
        self.older = older;
        self.first = first;
        self.settled = AtomicBool::new(settled);
    }

    pub(crate) fn capacity(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn slots_ptr(&self) -> *const Slot<T> {
        self.slots.as_ptr()
    }

    #[inline(always)]
    pub(crate) fn slot(&self, index: u64) -> &Slot<T> {
        // SAFETY: the mask is one less than the number of slots, which is a power of two.
        unsafe { self.slots.get_unchecked(index as usize & self.mask) }
    }

    /// The owner has seen every claim below `first` finished.
    pub(crate) fn settle(&self) {
        // ORDERING: relaxed. An index too far above `first` to be compared with it is published only after this (I7), and
        // the claim of that index acquires the publish (E1), so its thief cannot miss it. Any other thief may.
        self.settled.store(true, Ordering::Relaxed);
    }

    /// The ring in which the claimed `index` lives, given that this is the newest or a newer one.
    ///
    /// # Safety
    /// `index` must be claimed by the caller and not finished, and `this` point to a ring of the same deque that is not older
    /// than the claim.
    #[inline]
    pub(crate) unsafe fn holding<'a>(this: *const Self, index: u32) -> &'a Self {
        let mut at = this;
        loop {
            // SAFETY: rings live as long as the deque, which the caller keeps alive.
            let ring = unsafe { &*at };
            // ORDERING: relaxed, see `settle`.
            if ring.settled.load(Ordering::Relaxed)
                || planted::newest_buffer()
                || Word::distance(ring.first, index) <= 0
            {
                return ring;
            }
            at = ring.older;
        }
    }
}
