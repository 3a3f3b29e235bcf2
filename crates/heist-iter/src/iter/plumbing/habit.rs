//! What an item of each kind of loop has cost lately.
//!
//! A loop that begins knows how many items it has, not what they cost, and so neither whether it is worth waking anybody
//! for, nor whether it should be shared before the first item. But the same loop has often run before. Each kind (a
//! producer with a consumer, so usually one place in the program) has an entry in one table, and leaves there what it
//! found. Loops inside of loops have entries by their depth, because in a recursion the same loop is everything at the
//! top and next to nothing at the bottom.
//!
//! The memory is a guess, never a promise: entries are shared by kinds that hash alike, by all threads, and by loops of one
//! place over different data. A guess that is wrong costs one wake-up too many, or one block that runs before the loop is
//! shared.

use heist_sync::atomic::{AtomicU32, Ordering};
use std::cell::Cell;

const KINDS: usize = 1024;

/// Costs in [`UNIT`]s, rounded up; 0 is not known.
static COSTS: [AtomicU32; KINDS] = [const { AtomicU32::new(0) }; KINDS];

/// Costs are counted in this fraction of a nanosecond: a vectorised sum takes a tenth of one per item.
const UNIT: u64 = 64;

/// That items cost more than before is not believed of a shorter measurement: the looks at the clock are a share of it.
const TELLING_NS: u64 = 200;

thread_local! {
    /// How many loops enclose what this thread runs now.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// How many loops enclose what this thread runs now.
#[inline]
pub(super) fn depth() -> u32 {
    DEPTH.get()
}

/// While it exists, the calling thread runs items of a loop.
#[derive(Debug)]
pub(super) struct Inside {
    outside: u32,
}

impl Inside {
    /// The items of a loop that itself is at `depth`. The thread may have taken them from another, and be elsewhere itself.
    #[inline]
    pub(super) fn of(depth: u32) -> Inside {
        Inside { outside: DEPTH.replace(depth + 1) }
    }
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        DEPTH.set(self.outside);
    }
}

/// The memory of one kind of loop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Habit {
    kind: usize,
}

impl Habit {
    /// That of loops from `P` into `C` inside of `depth` others.
    #[inline]
    pub(super) fn of<P, C>(depth: u32) -> Habit {
        // Every instance of this function has its own address, and types need not be 'static to have one.
        let address = (Self::of::<P, C> as fn(u32) -> Habit as usize).wrapping_add(depth as usize);
        Habit {
            kind: (address.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as usize) >> (usize::BITS - 10)) % KINDS,
        }
    }

    /// What one item took, in fractions of a nanosecond.
    #[inline]
    fn units(self) -> u64 {
        // ORDERING: Relaxed, here and in `learn`: a guess, and nothing else depends on it.
        u64::from(COSTS[self.kind].load(Ordering::Relaxed))
    }

    /// What `items` would take in nanoseconds, if anything is known.
    #[inline]
    pub(super) fn expect_ns(self, items: usize) -> Option<u64> {
        match self.units() {
            0 => None,
            units => Some((items as u64).saturating_mul(units) / UNIT),
        }
    }

    /// Remembers that `items` took `spent_ns`.
    #[inline]
    pub(super) fn learn(self, items: usize, spent_ns: u64) {
        let (old, spent) = (self.units(), spent_ns.saturating_mul(UNIT));
        // Written only if it makes a difference: the line is read by every loop on every thread.
        let expected = old.saturating_mul(items as u64);
        let is_news = if spent > expected {
            spent_ns >= TELLING_NS && spent - expected > expected / 4
        } else {
            expected - spent > expected / 4
        };
        if old == 0 || is_news {
            self.change(old, spent / (items as u64).max(1));
        }
    }

    #[cold]
    fn change(self, old: u64, each: u64) {
        // Whatever disturbs a measurement makes it longer. So less is believed sooner than more.
        let new = match old {
            0 => each,
            _ if each < old => each.midpoint(old),
            _ => old + (each - old) / 4,
        };
        COSTS[self.kind].store(u32::try_from(new).unwrap_or(u32::MAX).max(1), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_memories_of_their_own() {
        struct A;
        struct B;
        let (a, b) = (Habit::of::<A, B>(0), Habit::of::<B, A>(0));
        assert_eq!(a.expect_ns(1000), None);
        a.learn(10, 1000);
        assert_eq!(Habit::of::<A, B>(0).expect_ns(1000), Some(100_000));
        // Kinds may hash alike, but these two need not for the rest of the test to hold.
        assert!(a.kind == b.kind || b.expect_ns(1000).is_none());
    }

    #[test]
    fn less_is_believed_sooner_than_more() {
        struct Kind;
        let habit = Habit::of::<Kind, u8>(0);
        habit.learn(1, 100);
        habit.learn(1, 150);
        assert_eq!(habit.expect_ns(1), Some(100), "too short to say more");
        habit.learn(1, 1000);
        assert_eq!(habit.expect_ns(1), Some(325));
        for _ in 0..10 {
            habit.learn(1, 1000);
        }
        assert!(habit.expect_ns(1).is_some_and(|known| known > 700));
        let before = habit.expect_ns(1);
        habit.learn(1, 0);
        assert_eq!(habit.expect_ns(1), before.map(|known| known / 2));
    }

    #[test]
    fn extremes_do_not_overflow() {
        struct Kind;
        let habit = Habit::of::<Kind, u16>(0);
        habit.learn(usize::MAX, 0);
        habit.learn(1, u64::MAX);
        assert!(habit.expect_ns(usize::MAX).is_some());
    }

    #[test]
    fn the_depth_is_that_of_the_items() {
        assert_eq!(depth(), 0);
        {
            let _outer = Inside::of(depth());
            assert_eq!(depth(), 1);
            {
                let _stolen = Inside::of(5);
                assert_eq!(depth(), 6);
            }
            assert_eq!(depth(), 1);
        }
        assert_eq!(depth(), 0);
    }
}
