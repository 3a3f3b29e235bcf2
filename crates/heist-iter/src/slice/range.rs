//! What ranges of indices mean.

use std::ops::{Bound, Range, RangeBounds};

/// The indices that `range` means for a sequence of `len`.
#[track_caller]
pub(crate) fn resolve_range<R: RangeBounds<usize>>(range: R, len: usize) -> Range<usize> {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.checked_add(1).expect("the range starts beyond usize::MAX"),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.checked_add(1).expect("the range ends beyond usize::MAX"),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => len,
    };
    assert!(start <= end, "the range starts at {start} but ends at {end}");
    assert!(end <= len, "the range ends at {end}, beyond the length {len}");
    start..end
}
