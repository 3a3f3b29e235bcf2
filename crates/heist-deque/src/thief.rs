//! The thieves' end: steal, ask, force.

use crate::buffer::Buffer;
use crate::owner::Owner;
use crate::planted;
use crate::shared::{ASKED_POP, ASKED_PUSH, Shared};
use crate::steal::Steal;
use crate::word::{CAPACITY_MAX, WITHDRAW_MASK, Word};
use heist_sync::atomic::{AtomicU32, Ordering};
use heist_sync::{Arc, barrier};
use std::fmt;

/// Unanswered attempts in a row before a thief forces the owner open.
const FORCE_AFTER: u32 = 1_000;

/// Items that [`Thief::steal_half`] moves at most: what is in flight is nobody's for a moment.
const HALF_MAX: u32 = 64;

/// A thief's end of a deque: the oldest items.
///
/// ```
/// let (owner, thief) = heist_deque::deque();
/// owner.push(1);
/// owner.push(2);
/// owner.share_all();
/// std::thread::spawn(move || assert_eq!(thief.steal().success(), Some(1))).join().unwrap();
/// assert_eq!(owner.pop(), Some(2));
/// ```
pub struct Thief<T: Send> {
    shared: Arc<Shared<T>>,
    /// Attempts in a row that found only private items.
    unanswered: AtomicU32,
}

impl<T: Send> Thief<T> {
    pub(crate) fn new(shared: Arc<Shared<T>>) -> Self {
        Self { shared, unanswered: AtomicU32::new(0) }
    }

    #[cfg(test)]
    pub(crate) fn shared(&self) -> &Shared<T> {
        &self.shared
    }

    /// Takes the oldest item.
    ///
    /// If there are items but the owner has shared none, the owner is asked to, and this attempt ends with
    /// [`Steal::Retry`]; it answers at its next push or pop. After 1,000 such attempts in a row the thief forces
    /// (see [`Thief::force`]).
    ///
    /// ```
    /// let (owner, thief) = heist_deque::deque();
    /// assert!(thief.steal().is_empty());
    /// owner.push(1);
    /// assert!(thief.steal().is_retry());
    /// owner.push(2);
    /// assert_eq!(thief.steal().success(), Some(1));
    /// ```
    #[inline]
    pub fn steal(&self) -> Steal<T> {
        // ORDERING: relaxed. The claim acquires.
        let w = self.shared.thieves.word(Ordering::Relaxed);
        if w.len() == 0 {
            return self.steal_private();
        }
        self.take_one(w)
    }

    /// Takes the oldest half of what is shared, rounded up, at most 64: returns the oldest and pushes the others to `dest`,
    /// oldest first.
    ///
    /// If nothing is shared it does as [`Thief::steal`].
    ///
    /// ```
    /// let (owner, thief) = heist_deque::deque();
    /// let (mine, _) = heist_deque::deque();
    /// (0..8).for_each(|i| owner.push(i));
    /// owner.share_all();
    /// assert_eq!(thief.steal_half(&mine).success(), Some(0));
    /// assert_eq!(mine.len(), 3);
    /// assert_eq!(mine.pop(), Some(3));
    /// ```
    pub fn steal_half(&self, dest: &Owner<T>) -> Steal<T> {
        let w = self.shared.thieves.word(Ordering::Relaxed);
        if w.len() == 0 {
            return self.steal_private();
        }
        // As many as `dest` can take without a panic: once claimed they must go somewhere.
        let n =
            w.len().div_ceil(2).min(HALF_MAX).min((CAPACITY_MAX - dest.len().min(CAPACITY_MAX)) as u32 + 1);
        let Some(ring) = self.claim(w, n) else {
            return Steal::Retry;
        };
        let oldest = w.tail();
        // SAFETY: `claim` won it.
        let first = unsafe { take(ring, oldest) };
        for i in 1..n {
            // SAFETY: likewise, and all `n` were in one ring when they were claimed.
            dest.push(unsafe { take(ring, Word::truncate(u64::from(oldest) + u64::from(i))) });
        }
        self.reset();
        Steal::Success(first)
    }

    /// Asks the owner to share at its next push or pop. Stays asked until it has.
    ///
    /// [`Thief::steal`] does this when it finds only private items; before that it arms an owner that has nothing yet.
    ///
    /// ```
    /// let (owner, thief) = heist_deque::deque();
    /// thief.ask();
    /// owner.push(1);
    /// assert!(thief.steal().is_success());
    /// ```
    pub fn ask(&self) {
        let limits = &*self.shared.limits;
        // ORDERING: relaxed looks, so that a crowd of thieves does not pull the owner's line about. A poison that is being
        // wiped out while we look belongs to a request that is being answered (L1).
        if limits.pop.load(Ordering::Relaxed) != ASKED_POP {
            self.poison();
        } else if limits.push.load(Ordering::Relaxed) != ASKED_PUSH {
            limits.push.store(ASKED_PUSH, Ordering::Release);
        }
    }

    /// Shares everything that the owner keeps to itself, without its help. True if there is something to steal now.
    ///
    /// For an owner that neither pushes nor pops for long. Costs a `membarrier` system call (microseconds) where the kernel
    /// has it.
    ///
    /// ```
    /// let (owner, thief) = heist_deque::deque();
    /// owner.push(1);
    /// assert!(thief.force());
    /// assert_eq!(thief.steal().success(), Some(1));
    /// # drop(owner);
    /// ```
    pub fn force(&self) -> bool {
        let thieves = &*self.shared.thieves;
        let w = thieves.word(Ordering::Relaxed);
        if w.len() > 0 {
            return true;
        }
        if self.is_empty() {
            return false;
        }
        // LIVENESS(L2): if another thief is at it, it will get there.
        let Some(forcing) = w.begin_force() else {
            return false;
        };
        // ORDERING(E5): release, so that an owner that wipes out the poison below sees a force in progress. (E6) The acquire,
        // with the owner's release of the word, is in the barrier below: a head that was lowered before is seen after it.
        if !thieves.try_set(w, forcing, Ordering::Release) {
            return thieves.word(Ordering::Relaxed).len() > 0;
        }
        self.poison();
        // ORDERING(E4): the thief's half of Dekker's pattern: the poison before the look at the head. Either a pop sees the
        // poison, or we see the head that it lowered.
        barrier::heavy();
        // ORDERING(E3): acquire, with the owner's release: the contents of the slots below the head.
        let head = self.shared.head.load(Ordering::Acquire);
        let n = Word::distance(head, forcing.tail());
        // INVARIANT(I5): succeeds only if the owner has neither popped past its fast path nor restored its limit since.
        // ORDERING(E1): release, so that a claim sees what we have seen of the slots. Nothing is read on the strength of it.
        if n > 0 && thieves.try_set(forcing, forcing.expose(n as u32), planted::expose()) {
            return true;
        }
        thieves.keep(WITHDRAW_MASK);
        thieves.word(Ordering::Relaxed).len() > 0
    }

    /// Whether there is nothing at all, private items included. Out of date as soon as it is known, but whoever calls
    /// `fence(SeqCst)` first does not miss a push that was followed by such a fence.
    ///
    /// ```
    /// let (owner, thief) = heist_deque::deque();
    /// assert!(thief.is_empty());
    /// owner.push(1);
    /// assert!(!thief.is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.shared.len() == 0
    }

    /// How many items there are, private ones included, as of a moment ago.
    ///
    /// ```
    /// let (owner, thief) = heist_deque::deque();
    /// owner.push(1);
    /// assert_eq!(thief.len(), 1);
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.shared.len()
    }

    /// Claims the `n` oldest items of `w`, and tells the ring that holds them.
    #[inline(always)]
    fn claim(&self, w: Word, n: u32) -> Option<&Buffer<T>> {
        let thieves = &*self.shared.thieves;
        let known =
            if planted::stale_buffer() { thieves.ring.load(Ordering::Acquire) } else { std::ptr::null_mut() };
        // ORDERING(E1): acquire, with the release of whoever published the items. Not release: claims publish nothing, and
        // as read-modify-writes they continue the release that they found.
        if !thieves.try_set(w, w.claim(n), Ordering::Acquire) {
            return None;
        }
        if planted::stale_buffer() {
            // SAFETY: a ring of this deque.
            return Some(unsafe { &*known });
        }
        // ORDERING(E7): acquire, with the release of the growth that stored it, if that came after the claim.
        let newest = thieves.ring.load(Ordering::Acquire);
        // SAFETY: claimed above and not finished; loaded after the claim, so not older than it.
        Some(unsafe { Buffer::holding(newest, w.tail()) })
    }

    #[inline(always)]
    fn take_one(&self, w: Word) -> Steal<T> {
        if planted::read_before_claim() {
            return self.take_one_unclaimed(w);
        }
        let Some(ring) = self.claim(w, 1) else {
            return Steal::Retry;
        };
        // SAFETY: `claim` won it.
        let item = unsafe { take(ring, w.tail()) };
        self.reset();
        Steal::Success(item)
    }

    /// The planted bug: what the slot holds is read before it is ours.
    fn take_one_unclaimed(&self, w: Word) -> Steal<T> {
        // SAFETY: a ring of this deque. Wrong in all other respects, which is the point.
        let ring = unsafe { &*self.shared.thieves.ring.load(Ordering::Acquire) };
        let slot = ring.slot(u64::from(w.tail()));
        // SAFETY: none; never run unless the bug is planted.
        let bits = unsafe { slot.read_bits() };
        if self.claim(w, 1).is_none() {
            return Steal::Retry;
        }
        slot.finish(w.tail());
        // SAFETY: none, likewise.
        Steal::Success(unsafe { bits.assume_init() })
    }

    /// Nothing is shared: asks, and forces when that has not helped for long.
    #[cold]
    #[inline(never)]
    fn steal_private(&self) -> Steal<T> {
        if self.is_empty() {
            self.reset();
            return Steal::Empty;
        }
        self.ask();
        let unanswered = self.unanswered.load(Ordering::Relaxed) + 1;
        if unanswered >= FORCE_AFTER {
            self.reset();
            if self.force() {
                let w = self.shared.thieves.word(Ordering::Relaxed);
                if w.len() > 0 {
                    return self.take_one(w);
                }
            }
        } else {
            self.unanswered.store(unanswered, Ordering::Relaxed);
        }
        Steal::Retry
    }

    /// Sends the owner's next push or pop to its slow path.
    fn poison(&self) {
        let limits = &*self.shared.limits;
        // ORDERING(E5): release, with the owner's acquire when it wipes this out; a swap and not a store, so that it continues
        // the release of the thief whose poison it overwrites. The pop limit first: see `Owner::restore`.
        limits.pop.swap(ASKED_POP, Ordering::AcqRel);
        limits.push.store(ASKED_PUSH, Ordering::Release);
    }

    #[inline(always)]
    fn reset(&self) {
        if self.unanswered.load(Ordering::Relaxed) != 0 {
            self.unanswered.store(0, Ordering::Relaxed);
        }
    }
}

/// # Safety
/// `index` must be claimed by the caller in `ring` and not be taken yet.
#[inline(always)]
unsafe fn take<T>(ring: &Buffer<T>, index: u32) -> T {
    let slot = ring.slot(u64::from(index));
    // SAFETY: claimed, so initialised and the caller's; the owner writes here only after `finish` (I3).
    let item = unsafe { slot.read() };
    slot.finish(index);
    item
}

impl<T: Send> Clone for Thief<T> {
    fn clone(&self) -> Self {
        Self::new(self.shared.clone())
    }
}

impl<T: Send> fmt::Debug for Thief<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thief").field("len", &self.len()).finish_non_exhaustive()
    }
}
