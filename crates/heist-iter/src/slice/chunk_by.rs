//! Stretches of neighbours that belong together.

use super::pieces::{Keep, Pieces, Separator};
use super::split::HasElement;
use crate::iter::ParallelIterator;
use crate::iter::plumbing::{UnindexedConsumer, bridge_unindexed};
use std::fmt;
use std::ops::Range;

/// The empty space between two neighbours that do not belong together.
struct Breaks<'p, P>(&'p P);

impl<S, T, P> Separator<S> for Breaks<'_, P>
where
    S: AsRef<[T]> + HasElement<Element = T>,
    P: Fn(&T, &T) -> bool + Sync,
{
    fn first(&self, sequence: &S, within: Range<usize>) -> Option<Range<usize>> {
        let slice = sequence.as_ref();
        let at = (within.start.max(1)..within.end).find(|&at| !(self.0)(&slice[at - 1], &slice[at]))?;
        Some(at..at)
    }

    fn last(&self, sequence: &S, within: Range<usize>) -> Option<Range<usize>> {
        let slice = sequence.as_ref();
        let at = (within.start.max(1)..within.end).rfind(|&at| !(self.0)(&slice[at - 1], &slice[at]))?;
        Some(at..at)
    }
}

/// Yields stretches of neighbours that belong together.
///
/// ```
/// use heist::prelude::*;
///
/// let runs: Vec<&[u32]> = [1, 1, 2, 3, 3].par_chunk_by(|a, b| a == b).collect();
/// assert_eq!(runs, [&[1, 1][..], &[2], &[3, 3]]);
/// ```
pub struct ChunkBy<'data, T, P> {
    slice: &'data [T],
    together: P,
}

impl<'data, T, P> ChunkBy<'data, T, P> {
    pub(super) fn new(slice: &'data [T], together: P) -> Self {
        ChunkBy { slice, together }
    }
}

impl<T, P: Clone> Clone for ChunkBy<'_, T, P> {
    fn clone(&self) -> Self {
        ChunkBy { slice: self.slice, together: self.together.clone() }
    }
}

impl<T: fmt::Debug, P> fmt::Debug for ChunkBy<'_, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkBy").field("slice", &self.slice).finish_non_exhaustive()
    }
}

impl<'data, T: Sync, P: Fn(&T, &T) -> bool + Sync + Send> ParallelIterator for ChunkBy<'data, T, P> {
    type Item = &'data [T];
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        bridge_unindexed(Pieces::new(self.slice, &Breaks(&self.together), Keep::Inclusive), consumer)
    }
}

/// Yields stretches of neighbours that belong together, to be changed.
///
/// ```
/// use heist::prelude::*;
///
/// let mut v = [1, 4, 7, 2, 5, 3];
/// v.par_chunk_by_mut(|a, b| a < b).for_each(|rising| rising.reverse());
/// assert_eq!(v, [7, 4, 1, 5, 2, 3]);
/// ```
pub struct ChunkByMut<'data, T, P> {
    slice: &'data mut [T],
    together: P,
}

impl<'data, T, P> ChunkByMut<'data, T, P> {
    pub(super) fn new(slice: &'data mut [T], together: P) -> Self {
        ChunkByMut { slice, together }
    }
}

impl<T: fmt::Debug, P> fmt::Debug for ChunkByMut<'_, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkByMut").field("slice", &self.slice).finish_non_exhaustive()
    }
}

impl<'data, T: Send, P: Fn(&T, &T) -> bool + Sync + Send> ParallelIterator for ChunkByMut<'data, T, P> {
    type Item = &'data mut [T];
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        bridge_unindexed(Pieces::new(self.slice, &Breaks(&self.together), Keep::Inclusive), consumer)
    }
}
