//! chili by recursive halving; it runs its second closure first.

use std::ops::Range;

use chili::Scope;

use super::{Items, LEAF};

pub fn sum(scope: &mut Scope<'_>, items: Items, range: Range<u64>) -> u64 {
    let len = range.end - range.start;
    if len <= LEAF {
        return items.sum(range);
    }
    let middle = range.start + len / 2;
    let (b, a) = scope
        .join(|scope| sum(scope, items, middle..range.end), |scope| sum(scope, items, range.start..middle));
    a ^ b
}
