//! How long a block should be, judged by how long the last one took.

/// A block lasts about this long once its cost is known: long against a look at the clock and at the pool (some 30 ns),
/// short against what a wanting worker would lose by waiting for the answer.
const BLOCK_NS: u64 = 10_000;

/// Less work than this, as a fraction of a block, is not worth a block of its own: 2 us.
const QUICK: usize = 5;

/// Less work than this, in blocks, is not worth offering: 20 us. A steal costs a tenth of that, and what the parts come to has to be
/// merged.
const SMALL: usize = 2;

/// Blocks grow at most by this factor, because one cheap block says little about the next.
const GROWTH: usize = 16;

/// A block is at most this share of what is left. If the cost of the items jumps, only that much is stuck in one block.
const SHARE: usize = 8;

/// Block lengths in items.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// The items that last about [`BLOCK_NS`], as far as known.
    block: usize,
    /// The most that a block may have grown to.
    most: usize,
    is_known: bool,
}

impl Pace {
    /// Nothing is known yet: the first block is a single item.
    pub(super) const UNKNOWN: Pace = Pace { block: 1, most: 1, is_known: false };

    /// A guess before the first block: `items` would take `spent_ns`.
    pub(super) fn guessed(items: usize, spent_ns: u64) -> Pace {
        Pace { block: lasting(items, spent_ns), most: usize::MAX, is_known: true }
    }

    /// Nothing is known but that `items` are probably little work: the first block is a share of them.
    #[inline]
    pub(super) fn little(items: usize) -> Pace {
        Pace { block: items.div_ceil(SHARE).max(1), most: usize::MAX, is_known: false }
    }

    /// The length of the next block when `len` items are left.
    #[inline]
    pub(super) fn next_block(&self, len: usize) -> usize {
        self.block.min(self.quick().max(len.div_ceil(SHARE))).min(self.most).max(1).min(len)
    }

    /// The length of a next block that is over soon.
    #[inline]
    pub(super) fn short_block(&self, len: usize) -> usize {
        self.next_block(len).min(self.quick().max(1))
    }

    #[inline]
    fn quick(&self) -> usize {
        if self.is_known { self.block / QUICK } else { 0 }
    }

    /// Whether any block has been measured, or guessed.
    #[inline]
    pub(super) fn is_known(&self) -> bool {
        self.is_known
    }

    /// Whether an item is known to take less than a block.
    #[inline]
    pub(super) fn is_light(&self) -> bool {
        self.is_known && self.block > 1
    }

    /// Whether `len` items are light, and too little work to offer to anybody.
    #[inline]
    pub(super) fn is_small(&self, len: usize) -> bool {
        self.is_light() && len <= self.block().saturating_mul(SMALL)
    }

    /// The items that last about a block, as far as known.
    #[inline]
    pub(super) fn block(&self) -> usize {
        self.block.min(self.most)
    }

    /// How long `len` items will last, if they are like those before.
    #[inline]
    pub(super) fn expect_ns(&self, len: usize) -> u64 {
        (len as u64).saturating_mul(BLOCK_NS) / self.block as u64
    }

    /// Learns that `items` took `spent_ns`.
    #[inline]
    pub(super) fn learn(&mut self, items: usize, spent_ns: u64) {
        *self = Pace { block: lasting(items, spent_ns), most: items.saturating_mul(GROWTH), is_known: true };
    }
}

/// How many last for a block if `items` take `spent_ns`; at least 1.
#[inline]
fn lasting(items: usize, spent_ns: u64) -> usize {
    // A clock that did not move counts as one nanosecond.
    let block = (items as u64).saturating_mul(BLOCK_NS) / spent_ns.max(1);
    usize::try_from(block).unwrap_or(usize::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_grow_by_steps_to_the_wanted_time() {
        let mut pace = Pace::UNKNOWN;
        let mut lengths = Vec::new();
        for _ in 0..8 {
            let block = pace.next_block(1 << 30);
            lengths.push(block);
            pace.learn(block, 5 * block as u64);
        }
        assert_eq!(lengths, [1, 16, 256, 2000, 2000, 2000, 2000, 2000]);
    }

    #[test]
    fn a_jump_in_cost_shrinks_the_next_block_at_once() {
        let mut pace = Pace::guessed(4000, 10_000);
        pace.learn(4000, 4_000_000_000);
        assert_eq!(pace.next_block(1 << 30), 1);
        assert!(!pace.is_small(1));
    }

    #[test]
    fn the_rest_is_taken_by_shares_unless_it_is_quick() {
        let pace = Pace::guessed(4000, 10_000);
        assert_eq!(pace.next_block(8000), 1000);
        assert_eq!(pace.short_block(8000), 800);
        assert_eq!(pace.next_block(1000), 800);
        assert_eq!(pace.next_block(350), 350);
        assert!(pace.is_small(8000) && !pace.is_small(8001));
    }

    #[test]
    fn a_loop_of_little_work_begins_with_a_share() {
        let mut pace = Pace::little(100);
        assert_eq!((pace.next_block(100), pace.is_small(1)), (13, false));
        pace.learn(13, 26);
        assert_eq!(pace.next_block(87), 87);
        assert_eq!(Pace::little(3).next_block(3), 1);
    }

    #[test]
    fn extremes_do_not_overflow() {
        let mut pace = Pace::UNKNOWN;
        pace.learn(usize::MAX, 0);
        assert!(pace.next_block(usize::MAX) >= usize::MAX / SHARE);
        pace.learn(1, u64::MAX);
        assert_eq!(pace.next_block(10), 1);
    }
}
