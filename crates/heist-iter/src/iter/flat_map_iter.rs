//! `flat_map_iter`.

use super::ParallelIterator;
use super::plumbing::{Folder, UnindexedConsumer};
use super::stage::{Stage, Through};

/// What [`flat_map_iter`](ParallelIterator::flat_map_iter) returns.
///
/// ```
/// # use heist::prelude::*;
/// let v: Vec<_> = (1..4).into_par_iter().flat_map_iter(|n| 0..n).collect();
/// assert_eq!(v, [0, 0, 1, 0, 1, 2]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Clone)]
pub struct FlatMapIter<I, P> {
    base: I,
    map_op: P,
}

impl_debug!(FlatMapIter<I, P>);

impl<I, P> FlatMapIter<I, P> {
    pub(super) fn new(base: I, map_op: P) -> Self {
        FlatMapIter { base, map_op }
    }
}

struct Apply<'f, P>(&'f P);

impl<P> Clone for Apply<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Apply<'_, P> {}

impl<T, SI: IntoIterator, P: Fn(T) -> SI + Sync> Stage<T> for Apply<'_, P> {
    type Out = SI::Item;

    #[inline]
    fn feed<F: Folder<SI::Item>>(self, folder: F, item: T) -> F {
        folder.consume_iter((self.0)(item))
    }
}

impl<I, P, SI> ParallelIterator for FlatMapIter<I, P>
where
    I: ParallelIterator,
    P: Fn(I::Item) -> SI + Sync + Send,
    SI: IntoIterator<Item: Send>,
{
    type Item = SI::Item;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        self.base.drive_unindexed(Through::new(consumer, Apply(&self.map_op)))
    }
}
