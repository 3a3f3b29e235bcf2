//! A parallel loop as anyone writes it with a free `join`: halve until the block is small.

use std::ops::Range;

use crate::peers::Backend;

pub fn sum<B: Backend>(items: Range<u64>, leaf: u64, block: &(impl Fn(Range<u64>) -> u64 + Sync)) -> u64 {
    let len = items.end - items.start;
    if len <= leaf {
        return block(items);
    }
    let middle = items.start + len / 2;
    let (a, b) =
        B::join(|| sum::<B>(items.start..middle, leaf, block), || sum::<B>(middle..items.end, leaf, block));
    a ^ b
}
