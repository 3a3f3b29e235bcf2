//! What ranges of indices mean.

use std::ops::{Bound, Range, RangeBounds};

/// The indices that `range` means for a sequence of `len`.
#[track_caller]
pub(crate) fn resolve_range<R: RangeBounds<usize>>(range: R, len: usize) -> Range<usize> {
    let (from, to) = (range.start_bound(), range.end_bound());
    let start = match from {
        Bound::Included(&start) => Some(start),
        Bound::Excluded(&before) => before.checked_add(1),
        Bound::Unbounded => Some(0),
    };
    let end = match to {
        Bound::Included(&last) => last.checked_add(1),
        Bound::Excluded(&end) => Some(end),
        Bound::Unbounded => Some(len),
    };
    let within = |index: &usize| *index <= len;
    let Some(start) = start.filter(within) else { panic!("range start {from:?} should be <= length {len}") };
    let Some(end) = end.filter(within) else { panic!("range end {to:?} should be <= length {len}") };
    assert!(start <= end, "range start {from:?} should be <= range end {to:?}");
    start..end
}
