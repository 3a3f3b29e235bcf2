//! `positions`.

use super::plumbing::UnindexedConsumer;
use super::{IndexedParallelIterator, ParallelIterator};

/// What [`positions`](IndexedParallelIterator::positions) returns.
///
/// ```
/// # use heist::prelude::*;
/// let v: Vec<_> = [5, 7, 7].par_iter().positions(|n| *n == 7).collect();
/// assert_eq!(v, [1, 2]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Clone)]
pub struct Positions<I, P> {
    base: I,
    predicate: P,
}

impl_debug!(Positions<I, P>);

impl<I, P> Positions<I, P> {
    pub(super) fn new(base: I, predicate: P) -> Self {
        Positions { base, predicate }
    }
}

impl<I, P> ParallelIterator for Positions<I, P>
where
    I: IndexedParallelIterator,
    P: Fn(I::Item) -> bool + Sync + Send,
{
    type Item = usize;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<usize>>(self, consumer: C) -> C::Result {
        let predicate = &self.predicate;
        let positions = self.base.enumerate().filter_map(|(index, item)| predicate(item).then_some(index));
        positions.drive_unindexed(consumer)
    }
}
