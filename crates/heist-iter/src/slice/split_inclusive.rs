//! Pieces that end with an element that is a separator.

use super::pieces::{Keep, Pieces};
use super::split::Where;
use crate::iter::ParallelIterator;
use crate::iter::plumbing::{UnindexedConsumer, bridge_unindexed};
use std::fmt;

/// Yields pieces that end with a separator; the last one may do without.
///
/// ```
/// use heist::prelude::*;
///
/// let runs: Vec<&[u32]> = [1, 2, 0, 3, 0].par_split_inclusive(|&n| n == 0).collect();
/// assert_eq!(runs, [&[1, 2, 0][..], &[3, 0]]);
/// ```
pub struct SplitInclusive<'data, T, P> {
    slice: &'data [T],
    separator: P,
}

impl<'data, T, P> SplitInclusive<'data, T, P> {
    pub(super) fn new(slice: &'data [T], separator: P) -> Self {
        SplitInclusive { slice, separator }
    }
}

impl<T, P: Clone> Clone for SplitInclusive<'_, T, P> {
    fn clone(&self) -> Self {
        SplitInclusive { slice: self.slice, separator: self.separator.clone() }
    }
}

impl<T: fmt::Debug, P> fmt::Debug for SplitInclusive<'_, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SplitInclusive").field("slice", &self.slice).finish_non_exhaustive()
    }
}

impl<'data, T: Sync, P: Fn(&T) -> bool + Sync + Send> ParallelIterator for SplitInclusive<'data, T, P> {
    type Item = &'data [T];
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        bridge_unindexed(Pieces::new(self.slice, &Where(&self.separator), Keep::Inclusive), consumer)
    }
}

/// Yields pieces that end with a separator, to be changed; the last one may do without.
///
/// ```
/// use heist::prelude::*;
///
/// let mut v = [3, 1, 0, 5, 4];
/// v.par_split_inclusive_mut(|&n| n == 0).for_each(|run| run.reverse());
/// assert_eq!(v, [0, 1, 3, 4, 5]);
/// ```
pub struct SplitInclusiveMut<'data, T, P> {
    slice: &'data mut [T],
    separator: P,
}

impl<'data, T, P> SplitInclusiveMut<'data, T, P> {
    pub(super) fn new(slice: &'data mut [T], separator: P) -> Self {
        SplitInclusiveMut { slice, separator }
    }
}

impl<T: fmt::Debug, P> fmt::Debug for SplitInclusiveMut<'_, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SplitInclusiveMut").field("slice", &self.slice).finish_non_exhaustive()
    }
}

impl<'data, T: Send, P: Fn(&T) -> bool + Sync + Send> ParallelIterator for SplitInclusiveMut<'data, T, P> {
    type Item = &'data mut [T];
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        bridge_unindexed(Pieces::new(self.slice, &Where(&self.separator), Keep::Inclusive), consumer)
    }
}
