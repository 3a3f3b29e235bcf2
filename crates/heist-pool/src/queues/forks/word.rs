//! The thieves' word: one `u64` that says which slots of a fork stack are claimed, shared and private.

use heist_sync::planted::is_planted;

/// A snapshot of the word; a pure value. The cell is the field `word` of [`Stack`](super::Stack).
///
/// ```text
///  63          32 31        16 15         0
/// +--------------+------------+------------+
/// |    epoch     |   split    |    tail    |
/// +--------------+------------+------------+
/// slots below tail are claimed, [tail, split) are shared, [split, head) are the owner's alone
/// ```
///
/// INVARIANT(I1): `tail <= split`.
///
/// INVARIANT(I2): every change by the owner and every forced exposure adds one to the epoch; a claim keeps it. So a thief
/// whose compare-and-swap succeeds knows that the owner has not moved the border since the thief looked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word(pub u64);

/// What a change of the border adds to the epoch (I2).
#[inline(always)]
fn bump() -> u32 {
    if is_planted("fork_no_epoch") { 0 } else { 1 }
}

/// The most slots that the fields can count.
pub const MOST: usize = u16::MAX as usize;

impl Word {
    /// Nothing claimed, nothing shared.
    pub const EMPTY: Self = Self(0);

    const fn pack(tail: usize, split: usize, epoch: u32) -> Self {
        Self((epoch as u64) << 32 | (split as u64 & 0xffff) << 16 | (tail as u64 & 0xffff))
    }

    /// The oldest slot that is not claimed.
    #[inline]
    pub const fn tail(self) -> usize {
        (self.0 & 0xffff) as usize
    }

    /// The oldest slot that is the owner's alone.
    #[inline]
    pub const fn split(self) -> usize {
        (self.0 >> 16 & 0xffff) as usize
    }

    /// How often the border has been moved, modulo 2^32.
    #[inline]
    pub const fn epoch(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// A thief's step: the oldest shared slot is claimed. `None` if nothing is shared.
    #[inline]
    #[must_use]
    pub const fn claim(self) -> Option<Self> {
        if self.tail() < self.split() { Some(Self(self.0 + 1)) } else { None }
    }

    /// The owner's step, or a forcing thief's: the border moves to `split`.
    #[inline]
    #[must_use]
    pub fn move_split(self, split: usize) -> Self {
        debug_assert!(self.tail() <= split);
        Self::pack(self.tail(), split, self.epoch().wrapping_add(bump()))
    }

    /// The owner's step after the claimed slot `at`, its newest, has been waited for: everything from `at` up is free again.
    #[inline]
    #[must_use]
    pub fn reset(self, at: usize) -> Self {
        Self::pack(at, at, self.epoch().wrapping_add(bump()))
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_touch_each_other() {
        for tail in [0, 1, 7, MOST - 1] {
            for split in [tail, tail + 1, MOST] {
                for epoch in [0, 1, u32::MAX] {
                    let w = Word::pack(tail, split, epoch);
                    assert_eq!((w.tail(), w.split(), w.epoch()), (tail, split, epoch));
                    match w.claim() {
                        None => assert_eq!(tail, split),
                        Some(c) => assert_eq!((c.tail(), c.split(), c.epoch()), (tail + 1, split, epoch)),
                    }
                    let m = w.move_split(MOST);
                    assert_eq!((m.tail(), m.split(), m.epoch()), (tail, MOST, epoch.wrapping_add(1)));
                    let r = w.reset(3);
                    assert_eq!((r.tail(), r.split(), r.epoch()), (3, 3, epoch.wrapping_add(1)));
                }
            }
        }
    }
}
