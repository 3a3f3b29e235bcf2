//! `flatten`.

use super::flat_map::Inner;
use super::plumbing::UnindexedConsumer;
use super::{IntoParallelIterator, ParallelIterator};

/// What [`flatten`](ParallelIterator::flatten) returns.
///
/// ```
/// # use heist::prelude::*;
/// let v: Vec<_> = vec![vec![1], vec![2, 3]].into_par_iter().flatten().collect();
/// assert_eq!(v, [1, 2, 3]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct Flatten<I> {
    base: I,
}

impl<I> Flatten<I> {
    pub(super) fn new(base: I) -> Self {
        Flatten { base }
    }
}

impl<I> ParallelIterator for Flatten<I>
where
    I: ParallelIterator<Item: IntoParallelIterator>,
{
    type Item = <I::Item as IntoParallelIterator>::Item;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        self.base.drive_unindexed(Inner { base: consumer, open: &|item: I::Item| item })
    }
}
