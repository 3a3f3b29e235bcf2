//! The owner's end: push and pop.

use crate::buffer::{Buffer, Slot};
use crate::planted;
use crate::shared::{ASKED_POP, FENCED_POP, Shared};
use crate::word::Word;
use heist_sync::Arc;
use heist_sync::atomic::Ordering;
use std::cell::{Cell, RefCell};
use std::fmt;

/// The owner's end of a deque: the newest items.
///
/// There is one owner per deque; it may move to another thread but not be used by two at once. Dropping it leaves what is in
/// the deque to the thieves, and what they leave is dropped with the last of them.
///
/// ```
/// let (owner, thief) = heist_deque::deque();
/// owner.push("old");
/// owner.push("new");
/// assert_eq!(owner.pop(), Some("new"));
/// owner.share_all();
/// assert_eq!(thief.steal().success(), Some("old"));
/// assert_eq!(owner.pop(), None);
/// ```
pub struct Owner<T: Send> {
    pub(crate) shared: Arc<Shared<T>>,
    /// The newest ring's slots and mask, so that the fast path does not look them up.
    pub(crate) slots: Cell<*const Slot<T>>,
    pub(crate) mask: Cell<usize>,
    /// The push limit when nobody asks: one past the last index whose slot is free.
    pub(crate) room: Cell<u64>,
    /// The pop limit when nobody asks: the split, or `FENCED_POP`.
    rest: Cell<u64>,
    /// Every claim of the newest ring below this index is finished.
    pub(crate) reclaimed: Cell<u64>,
    /// Claims of outgrown rings that may be unfinished, oldest first.
    pub(crate) unsettled: RefCell<Vec<Claims<T>>>,
}

/// Indices `from..to`, claimed in `ring` before it was outgrown.
pub(crate) struct Claims<T> {
    pub(crate) ring: *const Buffer<T>,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

// SAFETY: the raw pointers lead into `shared`, which the owner keeps alive and which is `Send` for `T: Send`. The cells make
// it `!Sync`, as it must be.
unsafe impl<T: Send> Send for Owner<T> {}

impl<T: Send> Owner<T> {
    pub(crate) fn new(shared: Arc<Shared<T>>) -> Self {
        // ORDERING: relaxed, nobody else has the deque yet.
        let ring = shared.thieves.ring.load(Ordering::Relaxed);
        let head = shared.head.load(Ordering::Relaxed);
        let rest = shared.limits.pop.load(Ordering::Relaxed);
        // SAFETY: rings live as long as `shared`.
        let ring = unsafe { &*ring };
        Self {
            slots: Cell::new(ring.slots_ptr()),
            mask: Cell::new(ring.capacity() - 1),
            room: Cell::new(head + ring.capacity() as u64),
            rest: Cell::new(rest),
            reclaimed: Cell::new(head),
            unsettled: RefCell::new(Vec::new()),
            shared,
        }
    }

    #[inline(always)]
    fn slot(&self, index: u64) -> &Slot<T> {
        // SAFETY: the mask is one less than the number of slots at this address, which live as long as `shared`.
        unsafe { &*self.slots.get().add(index as usize & self.mask.get()) }
    }

    #[inline(always)]
    pub(crate) fn head(&self) -> u64 {
        // ORDERING: relaxed, only the owner writes it.
        self.shared.head.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn set_head(&self, head: u64) {
        // ORDERING(E3): release, with the acquire of a forcing thief, in pops as well as in pushes: a relaxed store in a pop
        // would hide the pushes before it from a thief that reads the pop's value.
        self.shared.head.store(head, planted::head_store());
    }

    /// Adds an item at the newest end. Grows the ring if need be.
    ///
    /// # Panics
    ///
    /// If the deque already holds 2^28 items; it is unchanged then.
    ///
    /// ```
    /// let (owner, _thief) = heist_deque::deque();
    /// owner.push(1);
    /// assert_eq!(owner.len(), 1);
    /// ```
    #[inline]
    pub fn push(&self, item: T) {
        let head = self.head();
        // ORDERING: relaxed. A real limit was written by the owner itself after it saw the slots free; a poisoned one is
        // only a hint.
        if head < self.shared.limits.push.load(Ordering::Relaxed) {
            // SAFETY: below the limit the slot is free (I3), and private until published.
            unsafe { self.slot(head).write(item) };
            self.set_head(head + 1);
        } else {
            self.push_slow(item);
        }
    }

    /// Takes the newest item, if there is one.
    ///
    /// ```
    /// let (owner, _thief) = heist_deque::deque();
    /// owner.push(1);
    /// assert_eq!(owner.pop(), Some(1));
    /// assert_eq!(owner.pop(), None);
    /// ```
    #[inline]
    pub fn pop(&self) -> Option<T> {
        let newest = self.head() - 1;
        self.set_head(newest);
        // ORDERING(E4): the store of the head above and the load of the limit below are the owner's half of Dekker's
        // pattern; the other half is `Thief::force`. Where the barrier is not asymmetric the limit is never low and the slow
        // path has the fence.
        planted::pop_barrier(|| self.rest.get() == FENCED_POP);
        if newest >= self.shared.limits.pop.load(Ordering::Relaxed) {
            // SAFETY: at or above an unpoisoned limit the item is private (I4), and the head has passed it.
            Some(unsafe { self.slot(newest).read() })
        } else {
            self.pop_slow(newest)
        }
    }

    /// Takes the newest item if it was pushed after the head was at `position`.
    ///
    /// ```
    /// let (owner, _thief) = heist_deque::deque();
    /// owner.push("before");
    /// let here = owner.position();
    /// owner.push("after");
    /// assert_eq!(owner.pop_above(here), Some("after"));
    /// assert_eq!(owner.pop_above(here), None);
    /// ```
    #[inline]
    pub fn pop_above(&self, position: u64) -> Option<T> {
        if self.head() > position { self.pop() } else { None }
    }

    /// The index that the next pushed item will get. It goes up with each push and down with each pop, whatever the thieves
    /// do meanwhile; see [`Owner::pop_above`].
    ///
    /// ```
    /// let (owner, _thief) = heist_deque::deque();
    /// let here = owner.position();
    /// owner.push(());
    /// assert!(owner.position() > here);
    /// ```
    #[inline]
    pub fn position(&self) -> u64 {
        self.head()
    }

    /// How many items there are. Thieves may take some at any time.
    ///
    /// ```
    /// let (owner, _thief) = heist_deque::deque::<u8>();
    /// assert_eq!(owner.len(), 0);
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.shared.len()
    }

    /// Whether there is nothing left.
    ///
    /// ```
    /// let (owner, _thief) = heist_deque::deque::<u8>();
    /// assert!(owner.is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items fit before the ring grows, if no thief is slow.
    ///
    /// ```
    /// let (owner, _thief) = heist_deque::deque_with_capacity::<u8>(100);
    /// assert!(owner.capacity() >= 100);
    /// ```
    pub fn capacity(&self) -> usize {
        self.mask.get() + 1
    }

    /// Whether a thief waits for the owner to share. The next push or pop answers; an owner that does neither for long may
    /// look here and call [`Owner::share_all`].
    ///
    /// ```
    /// let (owner, thief) = heist_deque::deque();
    /// owner.push(1);
    /// assert!(!owner.is_asked());
    /// assert!(thief.steal().is_retry());
    /// assert!(owner.is_asked());
    /// ```
    #[inline]
    pub fn is_asked(&self) -> bool {
        // ORDERING: relaxed, a hint.
        self.shared.limits.pop.load(Ordering::Relaxed) == ASKED_POP
    }

    /// Shares everything with the thieves. To be called before the owner blocks or leaves.
    ///
    /// ```
    /// let (owner, thief) = heist_deque::deque();
    /// owner.push(1);
    /// owner.share_all();
    /// assert!(thief.steal().is_success());
    /// ```
    pub fn share_all(&self) {
        self.share(|private| private);
    }

    #[cold]
    #[inline(never)]
    fn push_slow(&self, item: T) {
        let head = self.head();
        if head >= self.room.get() {
            self.make_room(head);
        }
        // ORDERING(E5): acquire, with the release of the thief that poisoned this limit: if its poison is wiped out here,
        // its request is seen below. Hence a swap and not a store.
        self.shared.limits.push.swap(self.room.get(), Ordering::Acquire);
        // SAFETY: `make_room` has left a free slot at the head (I3).
        unsafe { self.slot(head).write(item) };
        self.set_head(head + 1);
        if self.is_asked() {
            self.share(|private| private.div_ceil(2));
        }
    }

    /// The head has been lowered to `newest` already; puts it back if there is nothing to take.
    #[cold]
    #[inline(never)]
    fn pop_slow(&self, newest: u64) -> Option<T> {
        let thieves = &*self.shared.thieves;
        // ORDERING: relaxed. If thieves have moved on since, the deque is no less empty.
        let w = thieves.word(Ordering::Relaxed);
        if w.len() == 0 && w.full_tail(newest + 1) == newest + 1 {
            self.set_head(newest + 1);
            return None;
        }
        let mut fenced = false;
        loop {
            let w = thieves.word(Ordering::Relaxed);
            let split = w.full_tail(newest + 1) + u64::from(w.len());
            if newest < split {
                if w.len() == 0 {
                    self.set_head(newest + 1);
                    return None;
                }
                let n = w.len().div_ceil(2);
                // ORDERING(E6): release, with the acquire of a thief that begins to force afterwards: it sees the lowered
                // head and leaves the newest item alone. No fence is needed, because a force can begin only after this.
                if planted::last_without_cas() && w.len() == 1 {
                    thieves.set(w.take_back(n));
                } else if !thieves.try_set(w, w.take_back(n), planted::take_back()) {
                    continue;
                }
                self.rest_at(split - u64::from(n));
            } else if !fenced {
                // ORDERING(E4): the owner's half of Dekker's pattern once more, and the only one in the mode without an
                // asymmetric barrier: the lowered head before the look at the word, which is therefore looked at again.
                planted::pop_fence();
                fenced = true;
                continue;
            } else if w.is_forcing() && !thieves.try_set(w, w.cancel(), Ordering::Relaxed) {
                continue;
            } else if self.is_asked() && newest > split {
                // INVARIANT(I5): no force that has read a head above `newest` can succeed any more, so it is ours, and
                // the limit may be restored.
                self.share(|private| private.div_ceil(2));
            } else {
                self.rest_at(split);
            }
            // SAFETY: private by one of the branches above, and the head has passed it.
            return Some(unsafe { self.slot(newest).read() });
        }
    }

    /// Moves the pop limit to `split`, unless a thief has poisoned it: a request that is not answered stays.
    fn rest_at(&self, split: u64) {
        if self.rest.get() == FENCED_POP {
            return;
        }
        let rest = self.rest.replace(split);
        // ORDERING: relaxed. The limit carries no news in this direction.
        let _ = self.shared.limits.pop.compare_exchange(rest, split, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Shares `amount(private)` of the private items and takes note of all requests so far.
    fn share(&self, amount: impl Fn(u64) -> u64) {
        let head = self.head();
        let thieves = &*self.shared.thieves;
        // ORDERING: relaxed here and in the loop: only the owner and, if all was private, a forcing thief move the split, and
        // the compare-exchange settles which.
        let mut w = thieves.word(Ordering::Relaxed);
        if w.full_tail(head) + u64::from(w.len()) == head {
            return;
        }
        loop {
            let split = w.full_tail(head) + u64::from(w.len());
            let n = amount(head - split);
            // INVARIANT(I5), LIVENESS(L1): first the limits, then the word. A request up to here is answered by what is
            // published below; one from here on finds the limits restored and poisons them again. A force that is wiped out
            // here finds the word changed.
            if !planted::restore_late() {
                self.restore(split + n);
            }
            // ORDERING(E1): release, with the acquire of a claim: the contents of the slots. (E6) likewise the head.
            let done = thieves.try_set(w, w.publish(n as u32), planted::publish());
            if planted::restore_late() {
                self.restore(split + n);
            }
            if done {
                return;
            }
            w = thieves.word(Ordering::Relaxed);
        }
    }

    /// Takes the poison off both limits.
    fn restore(&self, split: u64) {
        if self.rest.get() != FENCED_POP {
            self.rest.set(split);
        }
        // ORDERING(E5): the push limit first and the release with the pop limit, so that a thief whose poison of the pop limit
        // survives poisons the push limit after this. Both acquire from the thief whose poison they wipe out: if the push
        // limit's is gone so is the pop limit's, and if that thief was forcing, the word is seen in that state below. Poisons
        // of the pop limit are swaps too, so that one thief's does not hide another's.
        self.shared.limits.push.swap(self.room.get(), Ordering::Acquire);
        self.shared.limits.pop.swap(self.rest.get(), Ordering::AcqRel);
    }

    pub(crate) fn ring(&self) -> *mut Buffer<T> {
        // ORDERING: relaxed, only the owner replaces it.
        self.shared.thieves.ring.load(Ordering::Relaxed)
    }

    /// Low bits of an index, as slots store them.
    pub(crate) fn low(index: u64) -> u32 {
        Word::truncate(index)
    }
}

impl<T: Send> Drop for Owner<T> {
    fn drop(&mut self) {
        // LIVENESS(L3): nobody is left to answer a request.
        self.share_all();
    }
}

impl<T: Send> fmt::Debug for Owner<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner")
            .field("len", &self.len())
            .field("position", &self.position())
            .finish_non_exhaustive()
    }
}
