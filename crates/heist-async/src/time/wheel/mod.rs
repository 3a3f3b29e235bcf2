//! A hierarchical timing wheel: entries by the tick at which they are due, in lists of ever coarser slots.
//!
//! With `elapsed` the last tick that was reached, an entry due at `when` is at the level of the highest digit (base 64) in which
//! the two differ, in the slot of that digit of `when`. So at every level the occupied slots lie behind `elapsed`'s own, the
//! lower levels come before the higher ones, and no list is looked at before its slot is reached. Ten levels take every tick, of 16 us or of a nanosecond.
//!
//! - W1. An entry in a list has a waker. Without one it has fired, or was taken out, and waits to be removed by its owner.
//! - W2. An entry's slot begins at or before its tick. A later tick may be written without a move: when the slot is reached,
//!   the entry finds its new place.
//! - W3. A slot's bit is set if its list has an entry (and stays set after cancels, until somebody looks).
//! - W4. `least` of a slot with an entry is not after any of its entries, and after `elapsed`.

mod slab;
#[cfg(all(test, not(heist_model)))]
mod tests;

use self::slab::{Index, Slab};
use std::task::Waker;

const DIGIT: u32 = 6;
const SLOTS: usize = 1 << DIGIT;
const LEVELS: usize = 10;
/// The list of entries whose slot has been reached.
const DUE: Index = (LEVELS * SLOTS) as Index;

/// The last tick that a wheel can tell from others.
pub(crate) const LAST: u64 = (1 << (DIGIT as usize * LEVELS)) - 1;

/// An entry of a wheel, until it is removed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Key(Index);

/// What became of an entry whose tick was changed.
#[derive(Debug)]
pub(crate) enum Moved {
    /// It will fire at its new tick.
    Set,
    /// The new tick has been reached already: it has fired, and this must be woken.
    Due(Waker),
    /// It had fired before.
    Fired,
}

#[derive(Debug)]
pub(crate) struct Wheel {
    elapsed: u64,
    occupied: [u64; LEVELS],
    least: Box<[u64]>,
    slab: Slab,
    /// Entries that have not fired: those with a waker.
    live: usize,
}

impl Wheel {
    /// A wheel that has reached `elapsed`.
    pub fn new(elapsed: u64) -> Self {
        Self {
            elapsed,
            occupied: [0; LEVELS],
            least: vec![0; LEVELS * SLOTS].into(),
            slab: Slab::new(LEVELS * SLOTS + 1),
            live: 0,
        }
    }

    /// Adds an entry; the waker comes back if the tick has been reached already.
    #[inline]
    pub fn insert(&mut self, when: u64, waker: Waker) -> Result<Key, Waker> {
        debug_assert!(when <= LAST);
        if when <= self.elapsed {
            return Err(waker);
        }
        let index = self.slab.add(when, waker);
        self.live += 1;
        self.place(index, when);
        Ok(Key(index))
    }

    /// Takes an entry out; the waker, if it has not fired, is to be dropped where user code may run.
    #[inline]
    #[must_use]
    pub fn remove(&mut self, key: Key) -> Option<Waker> {
        let waker = self.slab.entry_mut(key.0).waker.take();
        if waker.is_some() {
            self.slab.unlink(key.0);
            self.live -= 1;
        }
        self.slab.free(key.0);
        waker
    }

    /// Gives an entry another waker and returns the old one; the new one comes back if the entry has fired.
    pub fn replace(&mut self, key: &Key, waker: Waker) -> Result<Waker, Waker> {
        match &mut self.slab.entry_mut(key.0).waker {
            Some(old) => Ok(std::mem::replace(old, waker)),
            None => Err(waker),
        }
    }

    /// Changes the tick at which an entry is due.
    #[inline]
    pub fn reset(&mut self, key: &Key, when: u64) -> Moved {
        let elapsed = self.elapsed;
        let entry = self.slab.entry_mut(key.0);
        if entry.waker.is_none() {
            return Moved::Fired;
        }
        // W2.
        let stays = when >= entry.when;
        entry.when = when;
        if stays {
            return Moved::Set;
        }
        let due = if when <= elapsed { entry.waker.take() } else { None };
        self.slab.unlink(key.0);
        match due {
            Some(waker) => {
                self.live -= 1;
                Moved::Due(waker)
            }
            None => {
                self.place(key.0, when);
                Moved::Set
            }
        }
    }

    /// Reaches `now`: entries due until then are what [`pop_due`](Self::pop_due) returns.
    pub fn advance(&mut self, now: u64) {
        if now <= self.elapsed {
            return;
        }
        for level in 0..LEVELS {
            let above = DIGIT * (level as u32 + 1);
            let same_above = now >> above == self.elapsed >> above;
            // If a higher digit has changed, all of this level is behind us.
            let reached = if same_above { !0 >> (SLOTS - 1 - digit(now, level)) } else { !0 };
            let mut slots = self.occupied[level] & reached;
            self.occupied[level] &= !reached;
            while slots != 0 {
                let slot = slots.trailing_zeros() as usize;
                slots &= slots - 1;
                self.slab.append(DUE, (level * SLOTS + slot) as Index);
            }
            if same_above {
                break;
            }
        }
        self.elapsed = now;
    }

    /// Fires one entry that is due, and returns its waker.
    pub fn pop_due(&mut self) -> Option<Waker> {
        while let Some(index) = self.slab.first(DUE) {
            self.slab.unlink(index);
            let entry = self.slab.entry_mut(index);
            if entry.when <= self.elapsed {
                debug_assert!(entry.waker.is_some(), "W1");
                self.live -= 1;
                return entry.waker.take();
            }
            let when = entry.when;
            self.place(index, when);
        }
        None
    }

    /// The tick at which the wheel must be looked at again; not after any entry.
    pub fn earliest(&mut self) -> Option<u64> {
        if !self.slab.is_empty(DUE) {
            return Some(self.elapsed);
        }
        for level in 0..LEVELS {
            while self.occupied[level] != 0 {
                let slot = self.occupied[level].trailing_zeros() as usize;
                let list = level * SLOTS + slot;
                if !self.slab.is_empty(list as Index) {
                    return Some(self.least[list]);
                }
                self.occupied[level] &= self.occupied[level] - 1;
            }
        }
        None
    }

    /// Whether an entry is left that will fire. Exact, whatever was cancelled, unlike [`earliest`](Self::earliest).
    pub fn is_live(&self) -> bool {
        self.live > 0
    }

    /// Whether it has no entries, not even ones that have fired.
    pub fn is_unused(&self) -> bool {
        self.slab.used() == 0
    }

    /// Whether it has never had an entry.
    pub fn is_fresh(&self) -> bool {
        self.slab.is_fresh()
    }

    /// Takes out any entry, as if it had fired.
    pub fn pop_any(&mut self) -> Option<Waker> {
        self.advance(LAST);
        self.pop_due()
    }

    #[inline]
    fn place(&mut self, index: Index, when: u64) {
        debug_assert!(when > self.elapsed);
        let differing = (self.elapsed ^ when) | (SLOTS as u64 - 1);
        let level = (differing.ilog2() / DIGIT) as usize;
        let slot = digit(when, level);
        let list = level * SLOTS + slot;
        let bit = 1 << slot;
        let is_first = self.occupied[level] & bit == 0 || self.slab.is_empty(list as Index);
        self.occupied[level] |= bit;
        if is_first || when < self.least[list] {
            self.least[list] = when;
        }
        self.slab.push(list as Index, index);
    }
}

/// The digit of `tick` that counts at `level`.
#[inline]
fn digit(tick: u64, level: usize) -> usize {
    (tick >> (DIGIT as usize * level)) as usize & (SLOTS - 1)
}
