//! What the owner and the thieves share, one cache line for each writer.

use crate::buffer::{Buffer, Slot};
use crate::word::Word;
use crate::word_cell::WordCell;
use heist_sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::ops::Deref;

/// A pop limit that sends every pop to the slow path because a thief asked.
pub(crate) const ASKED_POP: u64 = u64::MAX;
/// A pop limit that sends every pop to the slow path because there is no asymmetric barrier.
pub(crate) const FENCED_POP: u64 = u64::MAX - 1;
/// A push limit that sends every push to the slow path because a thief asked.
pub(crate) const ASKED_PUSH: u64 = 0;

/// Indices start here, so that the head can be lowered below the tail by one, and is never as small as `ASKED_PUSH`.
pub(crate) const START: u64 = 1 << 32;

/// Two lines, because the hardware fetches pairs of them.
#[repr(align(128))]
pub(crate) struct Line<T>(T);

impl<T> Deref for Line<T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// The two bounds that the owner compares anyway. Thieves overwrite them to be noticed ("poison"); the owner only reads them
/// on its fast path.
pub(crate) struct Limits {
    pub(crate) push: AtomicU64,
    pub(crate) pop: AtomicU64,
}

/// What thieves write.
pub(crate) struct ThiefSide<T> {
    word: WordCell,
    /// The newest ring. Beside the word, because a thief has just fetched that line.
    pub(crate) ring: AtomicPtr<Buffer<T>>,
}

impl<T> ThiefSide<T> {
    #[inline(always)]
    pub(crate) fn word(&self, order: Ordering) -> Word {
        Word::from_bits(self.word.look(order))
    }

    /// Replaces the word if it is still `from`.
    #[inline(always)]
    pub(crate) fn try_set(&self, from: Word, to: Word, order: Ordering) -> bool {
        // ORDERING: a failure is only ever answered by another look at the word, or by giving up.
        self.word.compare_exchange(from.bits(), to.bits(), order, Ordering::Relaxed).is_ok()
    }

    /// Replaces the word whatever it is.
    pub(crate) fn set(&self, to: Word) {
        self.word.store(to.bits(), Ordering::Relaxed);
    }

    /// Clears the bits that are not in `mask`.
    pub(crate) fn keep(&self, mask: u64) {
        // ORDERING: relaxed. It publishes nothing, and as a read-modify-write it continues whatever release it found.
        self.word.fetch_and(mask, Ordering::Relaxed);
    }
}

/// The deque, behind an `Arc` that the owner and the thieves hold.
pub(crate) struct Shared<T> {
    /// One past the newest item. Written by the owner alone.
    pub(crate) head: Line<AtomicU64>,
    pub(crate) limits: Line<Limits>,
    pub(crate) thieves: Line<ThiefSide<T>>,
}

// SAFETY: items move between threads, hence `T: Send`; they are never shared by reference, so `T: Sync` is not needed. The
// raw ring pointer is owned by this struct and follows the protocol in the README.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    pub(crate) fn new(capacity: usize, start: u64, fenced: bool, dependent_looks: bool) -> Self {
        let ring = Buffer::new(capacity);
        Self {
            head: Line(AtomicU64::new(start)),
            limits: Line(Limits {
                push: AtomicU64::new(start + capacity as u64),
                pop: AtomicU64::new(if fenced { FENCED_POP } else { start }),
            }),
            thieves: Line(ThiefSide {
                word: WordCell::new(Word::empty_at(start).bits(), dependent_looks),
                ring: AtomicPtr::new(Box::into_raw(ring)),
            }),
        }
    }

    /// How many items there are, private ones included, as far as a bystander can tell.
    pub(crate) fn len(&self) -> usize {
        // ORDERING: relaxed, a snapshot. Whoever must not miss a push (before it sleeps) fences before this call.
        let w = self.thieves.word(Ordering::Relaxed);
        let head = self.head.load(Ordering::Relaxed);
        // The head is lowered by one for a moment while the owner looks for its item in the shared part.
        let all = Word::distance(head, w.tail()).max(0) as usize;
        all.max(w.len() as usize)
    }

    fn take_oldest(&mut self) -> Option<T> {
        // ORDERING: relaxed everywhere: `&mut self` says that all others are gone.
        let head = self.head.load(Ordering::Relaxed);
        let w = self.thieves.word(Ordering::Relaxed);
        let tail = w.full_tail(head);
        if tail == head {
            return None;
        }
        self.thieves.set(Word::empty_at(tail + 1));
        let ring = self.thieves.ring.load(Ordering::Relaxed);
        // SAFETY: rings live as long as `self`.
        let slot: &Slot<T> = unsafe { &*ring }.slot(tail);
        // SAFETY: items from tail to head are in the newest ring (I2), and the tail has just passed this one.
        Some(unsafe { slot.read() })
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        /// Goes on with the other items and the rings if the drop of one item panics.
        struct Rest<'a, T>(&'a mut Shared<T>);
        impl<T> Drop for Rest<'_, T> {
            fn drop(&mut self) {
                while let Some(item) = self.0.take_oldest() {
                    drop(item);
                }
                let mut ring = self.0.thieves.ring.load(Ordering::Relaxed);
                while !ring.is_null() {
                    // SAFETY: each ring came from a box and is in this list once.
                    let owned = unsafe { Box::from_raw(ring) };
                    ring = owned.older.cast_mut();
                }
            }
        }
        let rest = Rest(self);
        while let Some(item) = rest.0.take_oldest() {
            drop(item);
        }
    }
}
