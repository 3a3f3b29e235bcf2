//! `flatten_iter`.

use super::ParallelIterator;
use super::plumbing::{Folder, UnindexedConsumer};
use super::stage::{Stage, Through};

/// What [`flatten_iter`](ParallelIterator::flatten_iter) returns.
///
/// ```
/// # use heist::prelude::*;
/// let v: Vec<_> = vec![vec![1], vec![2, 3]].into_par_iter().flatten_iter().collect();
/// assert_eq!(v, [1, 2, 3]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct FlattenIter<I> {
    base: I,
}

impl<I> FlattenIter<I> {
    pub(super) fn new(base: I) -> Self {
        FlattenIter { base }
    }
}

#[derive(Clone, Copy)]
struct Unpack;

impl<T: IntoIterator> Stage<T> for Unpack {
    type Out = T::Item;

    #[inline]
    fn feed<F: Folder<T::Item>>(self, folder: F, item: T) -> F {
        folder.consume_iter(item)
    }
}

impl<I> ParallelIterator for FlattenIter<I>
where
    I: ParallelIterator<Item: IntoIterator<Item: Send>>,
{
    type Item = <I::Item as IntoIterator>::Item;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        self.base.drive_unindexed(Through::new(consumer, Unpack))
    }
}
