//! How long a block should be, judged by how long the last one took.

use std::time::Duration;

/// A block lasts about this long once its cost is known: long against a look at the clock and at the pool (some 30 ns),
/// short against what a hungry worker would lose by waiting for the answer.
const BLOCK: Duration = Duration::from_micros(10);

/// Less work than this is not worth a block of its own.
const QUICK: Duration = Duration::from_nanos(500);

/// Less work than this is not worth offering: about what a steal costs.
const SMALL: Duration = Duration::from_micros(2);

/// Blocks grow at most by this factor, because one cheap block says little about the next.
const GROWTH: usize = 16;

/// A block is at most this share of what is left. If the cost of the items jumps, only that much is stuck in one block.
const SHARE: usize = 8;

/// Block lengths in items.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    block: usize,
    quick: usize,
    small: usize,
    is_known: bool,
}

impl Pace {
    /// Nothing is known yet: the first block is a single item.
    pub(super) const UNKNOWN: Pace = Pace { block: 1, quick: 0, small: 0, is_known: false };

    /// The length of the next block when `len > 0` items are left.
    #[inline]
    pub(super) fn next_block(&self, len: usize) -> usize {
        self.block.min(self.quick.max(len / SHARE)).clamp(1, len)
    }

    /// Whether any block has been measured.
    #[inline]
    pub(super) fn is_known(&self) -> bool {
        self.is_known
    }

    /// Whether `len` items are too little work to offer to anybody.
    #[inline]
    pub(super) fn is_small(&self, len: usize) -> bool {
        len <= self.small
    }

    /// The items that last about [`BLOCK`], as far as known.
    pub(super) fn block(&self) -> usize {
        self.block
    }

    /// Learns that `items` took `spent`.
    #[inline]
    pub(super) fn learn(&mut self, items: usize, spent: Duration) {
        let most = items.saturating_mul(GROWTH);
        // 64 bits of nanoseconds are 584 years; a clock that did not move counts as one.
        let spent = (spent.as_nanos() as u64).max(1);
        let lasting = |time: Duration| {
            let items = (items as u64).saturating_mul(time.as_nanos() as u64) / spent;
            usize::try_from(items).map_or(most, |items| items.min(most))
        };
        self.block = lasting(BLOCK).max(1);
        self.quick = lasting(QUICK);
        self.small = lasting(SMALL);
        self.is_known = true;
    }
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
            pace.learn(block, Duration::from_nanos(5 * block as u64));
        }
        assert_eq!(lengths, [1, 16, 256, 2000, 2000, 2000, 2000, 2000]);
    }

    #[test]
    fn a_jump_in_cost_shrinks_the_next_block_at_once() {
        let mut pace = Pace { block: 4096, quick: 200, small: 800, is_known: true };
        pace.learn(4096, Duration::from_millis(4096));
        assert_eq!(pace.next_block(1 << 30), 1);
        assert!(!pace.is_small(1));
    }

    #[test]
    fn the_rest_is_taken_by_shares_unless_it_is_quick() {
        let pace = Pace { block: 4096, quick: 200, small: 800, is_known: true };
        assert_eq!(pace.next_block(8000), 1000);
        assert_eq!(pace.next_block(1000), 200);
        assert_eq!(pace.next_block(150), 150);
        assert!(pace.is_small(800) && !pace.is_small(801));
    }

    #[test]
    fn extremes_do_not_overflow() {
        let mut pace = Pace::UNKNOWN;
        pace.learn(usize::MAX, Duration::ZERO);
        assert_eq!(pace.next_block(usize::MAX), usize::MAX);
        pace.learn(1, Duration::MAX);
        assert_eq!(pace.next_block(10), 1);
    }
}
