//! Pieces between elements that are separators.

use super::pieces::{Keep, Pieces, Separator};
use crate::iter::ParallelIterator;
use crate::iter::plumbing::{UnindexedConsumer, bridge_unindexed};
use std::fmt;
use std::ops::Range;

/// Elements for which the predicate holds.
pub(super) struct Where<'p, P>(pub(super) &'p P);

impl<S, T, P> Separator<S> for Where<'_, P>
where
    S: AsRef<[T]> + HasElement<Element = T>,
    P: Fn(&T) -> bool + Sync,
{
    fn first(&self, sequence: &S, within: Range<usize>) -> Option<Range<usize>> {
        let start = within.start;
        let at = start + sequence.as_ref()[within].iter().position(self.0)?;
        Some(at..at + 1)
    }

    fn last(&self, sequence: &S, within: Range<usize>) -> Option<Range<usize>> {
        let start = within.start;
        let at = start + sequence.as_ref()[within].iter().rposition(self.0)?;
        Some(at..at + 1)
    }
}

/// Says what a slice is a slice of, which `AsRef` alone leaves open.
pub(super) trait HasElement {
    type Element;
}

impl<T> HasElement for &[T] {
    type Element = T;
}

impl<T> HasElement for &mut [T] {
    type Element = T;
}

/// Yields the pieces between separators, which are left out.
///
/// ```
/// use heist::prelude::*;
///
/// let runs: Vec<&[u32]> = [1, 2, 0, 3, 0].par_split(|&n| n == 0).collect();
/// assert_eq!(runs, [&[1, 2][..], &[3], &[]]);
/// ```
pub struct Split<'data, T, P> {
    slice: &'data [T],
    separator: P,
}

impl<'data, T, P> Split<'data, T, P> {
    pub(super) fn new(slice: &'data [T], separator: P) -> Self {
        Split { slice, separator }
    }
}

impl<T, P: Clone> Clone for Split<'_, T, P> {
    fn clone(&self) -> Self {
        Split { slice: self.slice, separator: self.separator.clone() }
    }
}

impl<T: fmt::Debug, P> fmt::Debug for Split<'_, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Split").field("slice", &self.slice).finish_non_exhaustive()
    }
}

impl<'data, T: Sync, P: Fn(&T) -> bool + Sync + Send> ParallelIterator for Split<'data, T, P> {
    type Item = &'data [T];
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        bridge_unindexed(Pieces::new(self.slice, &Where(&self.separator), Keep::Between), consumer)
    }
}

/// Yields the pieces between separators, which are left out, to be changed.
///
/// ```
/// use heist::prelude::*;
///
/// let mut v = [3, 1, 0, 5, 4];
/// v.par_split_mut(|&n| n == 0).for_each(|run| run.sort());
/// assert_eq!(v, [1, 3, 0, 4, 5]);
/// ```
pub struct SplitMut<'data, T, P> {
    slice: &'data mut [T],
    separator: P,
}

impl<'data, T, P> SplitMut<'data, T, P> {
    pub(super) fn new(slice: &'data mut [T], separator: P) -> Self {
        SplitMut { slice, separator }
    }
}

impl<T: fmt::Debug, P> fmt::Debug for SplitMut<'_, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SplitMut").field("slice", &self.slice).finish_non_exhaustive()
    }
}

impl<'data, T: Send, P: Fn(&T) -> bool + Sync + Send> ParallelIterator for SplitMut<'data, T, P> {
    type Item = &'data mut [T];
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        bridge_unindexed(Pieces::new(self.slice, &Where(&self.separator), Keep::Between), consumer)
    }
}
