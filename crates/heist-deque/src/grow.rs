//! How the owner finds room: slots whose thieves have finished, or else a ring of twice the size.

use crate::buffer::Buffer;
use crate::owner::{Claims, Owner};
use crate::planted;
use crate::word::{CAPACITY_MAX, DISTANCE_MAX};
use heist_sync::atomic::Ordering;
use heist_sync::thread;

/// Slots looked at in one go, so that a push after many steals does not take long.
const RECLAIM_MAX: u64 = 256;

impl<T: Send> Owner<T> {
    /// Leaves room for at least one item at `head`.
    ///
    /// # Panics
    ///
    /// If the deque is full at its largest size.
    pub(crate) fn make_room(&self, head: u64) {
        loop {
            self.settle();
            let free = self.reclaim(head) + self.mask.get() as u64 + 1;
            let bound = self.distance_bound();
            if head < free && head < bound {
                self.room.set(free.min(bound));
                return;
            }
            let full = self.mask.get() + 1 == CAPACITY_MAX;
            if head < bound && !full {
                self.grow(head);
            } else {
                assert!(
                    head >= bound || self.len() < CAPACITY_MAX,
                    "a deque holds at most {CAPACITY_MAX} items"
                );
                // LIVENESS(L4): only a thief that has claimed an item and not yet read it is in the way, and it has been so
                // while half of all indices went by (or the largest ring did): it is runnable, and waits for nobody.
                thread::yield_now();
            }
        }
    }

    /// Advances over the slots whose thieves have finished; every index below the result is free for reuse.
    fn reclaim(&self, head: u64) -> u64 {
        // ORDERING: relaxed. A tail that is behind only means fewer slots to look at; `is_finished` acquires.
        let tail = self.shared.thieves.word(Ordering::Relaxed).full_tail(head);
        // SAFETY: rings live as long as `shared`.
        let ring = unsafe { &*self.ring() };
        let from = self.reclaimed.get();
        let upto = advance(ring, from, tail.min(from + RECLAIM_MAX));
        self.reclaimed.set(upto);
        upto
    }

    /// Forgets the outgrown rings once all their claims are finished.
    fn settle(&self) {
        let mut unsettled = self.unsettled.borrow_mut();
        if unsettled.is_empty() {
            return;
        }
        unsettled.retain_mut(|claims| {
            // SAFETY: rings live as long as `shared`.
            let ring = unsafe { &*claims.ring };
            claims.from = advance(ring, claims.from, claims.to);
            claims.from < claims.to
        });
        if unsettled.is_empty() {
            // SAFETY: as above.
            unsafe { &*self.ring() }.settle();
        }
    }

    /// INVARIANT(I7): while a claim of an outgrown ring may be unfinished, no index is used that could not be told from it by
    /// its low bits.
    fn distance_bound(&self) -> u64 {
        self.unsettled.borrow().first().map_or(u64::MAX, |oldest| oldest.from + DISTANCE_MAX - 1)
    }

    /// Moves everything that is not claimed to a ring of twice the size.
    fn grow(&self, head: u64) {
        let thieves = &*self.shared.thieves;
        let old = self.ring();
        // SAFETY: rings live as long as `shared`.
        let from = unsafe { &*old };
        // Allocated first: if that panics, nothing has happened.
        let mut to = Buffer::new(from.capacity() * 2);

        // ORDERING: relaxed. Nothing is published; claims before this go to the old ring whatever they see.
        let held = loop {
            let w = thieves.word(Ordering::Relaxed);
            let held = if planted::grow_unheld() { w.take_back(w.len()) } else { w.hold() };
            if thieves.try_set(w, held, Ordering::Relaxed) {
                break w;
            }
        };
        let tail = held.full_tail(head);
        for index in tail..head {
            // SAFETY: the item is not claimed and cannot be until the release below; the owner alone writes it.
            let bits = unsafe { from.slot(index).read_bits() };
            // SAFETY: nobody else has the new ring.
            unsafe { to.slot(index).write_bits(bits) };
        }

        let mut unsettled = self.unsettled.borrow_mut();
        if self.reclaimed.get() < tail {
            unsettled.push(Claims { ring: old, from: self.reclaimed.get(), to: tail });
        }
        to.succeed(old, tail, unsettled.is_empty());
        self.slots.set(to.slots_ptr());
        self.mask.set(to.capacity() - 1);
        self.reclaimed.set(tail);
        // ORDERING(E7): release, with the acquire of a thief that claimed before the growth and looks for its ring after.
        thieves.ring.store(Box::into_raw(to), Ordering::Release);

        // ORDERING(E1): release, with the acquire of a claim: the new ring and its contents.
        loop {
            let w = thieves.word(Ordering::Relaxed);
            let shared = if planted::grow_unheld() { w.publish(held.len()) } else { w.release(held.len()) };
            if thieves.try_set(w, shared, planted::publish()) {
                break;
            }
        }
    }
}

/// The first index from `from` below `to` whose thief has not finished, or `to`.
fn advance<T: Send>(ring: &Buffer<T>, from: u64, to: u64) -> u64 {
    (from..to)
        .find(|&i| !planted::reuse_unread() && !ring.slot(i).is_finished(Owner::<T>::low(i)))
        .unwrap_or(from.max(to))
}
