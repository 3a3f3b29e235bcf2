//! The thieves' word as a pure value: tail, length of the shared part, and the three flags of forced exposure.
//!
//! No atomics here: every transition is a function from word to word, so that all of them can be tried on all values of a
//! narrow word. `Shared::word` is the cell that holds one.
//!
//! ```text
//!   63 .............. 64-TAIL | ... | LEN+2 ........ 3 |    2     |     1     |    0
//!   tail, modulo 2^TAIL       |     | items shared     | HELD     | CANCELLED | FORCING
//! ```
//!
//! The tail sits at the very top so that its wrap-around falls off the end of the integer, and a claim is one addition.

/// Index bits in the shipped word; narrow under test and in models, so that both run through the wrap-around all the time.
pub(crate) const TAIL_BITS: u32 = if cfg!(test) { 12 } else { heist_sync::capacity(32, 12) as u32 };
/// Length bits, likewise.
pub(crate) const LEN_BITS: u32 = if cfg!(test) { 9 } else { heist_sync::capacity(29, 9) as u32 };

/// The most slots a ring may have: the length of a full ring must fit the length field, and ring indices must divide the
/// index space.
pub(crate) const CAPACITY_MAX: usize = 1 << (LEN_BITS - 1);

/// How far two live indices may lie apart so that their order can still be told from their low bits.
pub(crate) const DISTANCE_MAX: u64 = 1 << (TAIL_BITS - 1);

/// The word as it is used.
pub(crate) type Word = PackedWord<TAIL_BITS, LEN_BITS>;

const FORCING: u64 = 0b001;
const CANCELLED: u64 = 0b010;
const HELD: u64 = 0b100;
const FLAG_BITS: u32 = 3;

/// A thief's reset of its force, whatever else the word says: `fetch_and` with this.
pub(crate) const WITHDRAW_MASK: u64 = !(FORCING | CANCELLED);

/// One value of the thieves' word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PackedWord<const TAIL: u32, const LEN: u32>(u64);

impl<const TAIL: u32, const LEN: u32> PackedWord<TAIL, LEN> {
    const TAIL_SHIFT: u32 = 64 - TAIL;
    const LEN_MASK: u64 = (1 << LEN) - 1;

    /// Nothing shared, nobody forcing.
    pub(crate) fn empty_at(tail: u64) -> Self {
        const { assert!(TAIL + LEN + FLAG_BITS <= 64 && LEN + 2 <= TAIL && TAIL <= 32) };
        Self(tail << Self::TAIL_SHIFT)
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    /// The index of the oldest item that nobody has claimed, modulo 2^TAIL.
    #[inline]
    pub(crate) fn tail(self) -> u32 {
        (self.0 >> Self::TAIL_SHIFT) as u32
    }

    /// How many items are shared.
    #[inline]
    pub(crate) fn len(self) -> u32 {
        ((self.0 >> FLAG_BITS) & Self::LEN_MASK) as u32
    }

    /// The low bits of an index, as the word and the slots store them.
    #[inline]
    pub(crate) fn truncate(index: u64) -> u32 {
        ((index << Self::TAIL_SHIFT) >> Self::TAIL_SHIFT) as u32
    }

    /// `index - low`, given that they lie less than half the index space apart.
    #[inline]
    pub(crate) fn distance(index: u64, low: u32) -> i64 {
        let gap = index.wrapping_sub(u64::from(low)) << Self::TAIL_SHIFT;
        (gap as i64) >> Self::TAIL_SHIFT
    }

    /// The full index of the tail, told from the owner's head, which is never far from it (INVARIANT I1).
    #[inline]
    pub(crate) fn full_tail(self, head: u64) -> u64 {
        head.wrapping_sub(Self::distance(head, self.tail()) as u64)
    }

    /// A thief takes the `n` oldest.
    #[inline]
    pub(crate) fn claim(self, n: u32) -> Self {
        debug_assert!(n <= self.len());
        let n = u64::from(n);
        Self(self.0.wrapping_add(n << Self::TAIL_SHIFT).wrapping_sub(n << FLAG_BITS))
    }

    /// The owner shares `n` more.
    pub(crate) fn publish(self, n: u32) -> Self {
        debug_assert!(u64::from(self.len()) + u64::from(n) <= Self::LEN_MASK);
        Self(self.0 + (u64::from(n) << FLAG_BITS)).cancel()
    }

    /// The owner takes the `n` newest shared items back.
    pub(crate) fn take_back(self, n: u32) -> Self {
        debug_assert!(n <= self.len());
        Self(self.0 - (u64::from(n) << FLAG_BITS)).cancel()
    }

    /// The owner unshares everything and keeps every force out until [`Self::release`].
    pub(crate) fn hold(self) -> Self {
        Self(self.take_back(self.len()).0 | HELD)
    }

    /// The owner shares `n` again after [`Self::hold`].
    pub(crate) fn release(self, n: u32) -> Self {
        debug_assert!(self.0 & HELD != 0);
        Self(self.publish(n).0 & !HELD)
    }

    /// What every transition of the owner does: a force that began before can no longer succeed (INVARIANT I5).
    pub(crate) fn cancel(self) -> Self {
        if self.is_forcing() && !crate::planted::keep_force() { Self(self.0 | CANCELLED) } else { self }
    }

    /// A thief begins to force; `None` if there is no need or another is at it or the owner forbids it.
    pub(crate) fn begin_force(self) -> Option<Self> {
        (self.len() == 0 && self.0 & (FORCING | HELD) == 0).then_some(Self(self.0 | FORCING))
    }

    /// The forcing thief shares everything up to `n` items from the tail.
    pub(crate) fn expose(self, n: u32) -> Self {
        debug_assert!(self.is_forcing() && self.len() == 0);
        Self((self.0 + (u64::from(n) << FLAG_BITS)) & WITHDRAW_MASK)
    }

    /// A thief is forcing and the owner has not cancelled it.
    #[inline]
    pub(crate) fn is_forcing(self) -> bool {
        self.0 & (FORCING | CANCELLED) == FORCING
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    /// 4 index bits, 2 length bits, 3 flags: 512 words, all of them visited.
    type Narrow = PackedWord<4, 2>;

    fn all() -> impl Iterator<Item = Narrow> {
        (0..16u64).flat_map(|tail| {
            (0..4u64)
                .flat_map(move |len| (0..8u64).map(move |f| Narrow::from_bits(tail << 60 | len << 3 | f)))
        })
    }

    fn flags(w: Narrow) -> u64 {
        w.bits() & 0b111
    }

    #[test]
    fn a_claim_moves_the_tail_and_keeps_the_split_and_the_flags() {
        for w in all() {
            for n in 0..=w.len() {
                let c = w.claim(n);
                assert_eq!(c.tail(), (w.tail() + n) % 16);
                assert_eq!(c.len(), w.len() - n);
                assert_eq!(flags(c), flags(w));
            }
        }
    }

    #[test]
    fn an_owner_moves_the_split_never_the_tail_and_cancels_a_force() {
        for w in all() {
            let moved = (0..=3 - w.len())
                .map(|n| (w.publish(n), w.len() + n))
                .chain((0..=w.len()).map(|n| (w.take_back(n), w.len() - n)));
            for (m, len) in moved {
                assert_eq!((m.tail(), m.len()), (w.tail(), len));
                assert!(!m.is_forcing());
                assert_eq!(m.bits() & FORCING, w.bits() & FORCING, "only the thief ends its force");
                assert_eq!(m.bits() & HELD, w.bits() & HELD);
            }
        }
    }

    #[test]
    fn hold_and_release_are_inverse_up_to_the_cancelled_force() {
        for w in all().filter(|w| w.bits() & HELD == 0) {
            let held = w.hold();
            assert_eq!((held.tail(), held.len()), (w.tail(), 0));
            assert_eq!(held.begin_force(), None);
            assert_eq!(held.release(w.len()), w.cancel());
        }
    }

    #[test]
    fn a_force_begins_only_alone_unheld_and_with_nothing_shared() {
        for w in all() {
            match w.begin_force() {
                Some(f) => {
                    assert_eq!((w.len(), w.bits() & (FORCING | HELD)), (0, 0));
                    assert_eq!(f.tail(), w.tail());
                    assert!(f.bits() & FORCING != 0);
                }
                None => assert!(w.len() > 0 || w.bits() & (FORCING | HELD) != 0),
            }
        }
    }

    #[test]
    fn exposing_ends_the_force_and_a_cancelled_word_never_equals_a_forcing_one() {
        for w in all().filter_map(|w| w.begin_force()).filter(|w| w.is_forcing()) {
            for n in 0..=3 {
                let e = w.expose(n);
                assert_eq!((e.tail(), e.len(), e.bits() & (FORCING | CANCELLED)), (w.tail(), n, 0));
            }
            // Whatever the owner and other thieves do next, the forcing thief's expected value does not come back.
            let mut reach = vec![w.publish(1)];
            for _ in 0..4 {
                let mut next = Vec::new();
                for r in &reach {
                    next.extend((0..=r.len()).map(|n| r.claim(n)));
                    next.extend((0..=r.len()).map(|n| r.take_back(n)));
                    next.extend((0..=3 - r.len()).map(|n| r.publish(n)));
                    next.extend(r.begin_force());
                }
                next.sort_by_key(|w| w.bits());
                next.dedup();
                assert!(!next.contains(&w));
                reach = next;
            }
        }
    }

    #[test]
    fn the_full_tail_is_told_from_any_head_within_half_the_index_space() {
        for tail in 100..150u64 {
            for ahead in 0..8u64 {
                assert_eq!(Narrow::empty_at(tail).full_tail(tail + ahead), tail);
            }
            // A head that a pop on empty has lowered by one, for a moment.
            assert_eq!(Narrow::distance(tail - 1, Narrow::truncate(tail)), -1);
        }
        assert_eq!(Word::empty_at(u64::MAX - 3).full_tail(u64::MAX), u64::MAX - 3);
    }
}
