//! `filter_map`.

use super::ParallelIterator;
use super::plumbing::{Folder, UnindexedConsumer};
use super::stage::{Stage, Through};

/// What [`filter_map`](ParallelIterator::filter_map) returns.
///
/// ```
/// # use heist::prelude::*;
/// let v: Vec<u8> = ["1", "x"].par_iter().filter_map(|s| s.parse().ok()).collect();
/// assert_eq!(v, [1]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Clone)]
pub struct FilterMap<I, P> {
    base: I,
    filter_op: P,
}

impl_debug!(FilterMap<I, P>);

impl<I, P> FilterMap<I, P> {
    pub(super) fn new(base: I, filter_op: P) -> Self {
        FilterMap { base, filter_op }
    }
}

struct Apply<'f, P>(&'f P);

impl<P> Clone for Apply<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Apply<'_, P> {}

impl<T, R, P: Fn(T) -> Option<R> + Sync> Stage<T> for Apply<'_, P> {
    type Out = R;

    #[inline]
    fn feed<F: Folder<R>>(self, folder: F, item: T) -> F {
        match (self.0)(item) {
            Some(item) => folder.consume(item),
            None => folder,
        }
    }
}

impl<I, P, R> ParallelIterator for FilterMap<I, P>
where
    I: ParallelIterator,
    P: Fn(I::Item) -> Option<R> + Sync + Send,
    R: Send,
{
    type Item = R;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        self.base.drive_unindexed(Through::new(consumer, Apply(&self.filter_op)))
    }
}
