//! `filter`.

use super::ParallelIterator;
use super::plumbing::{Folder, UnindexedConsumer};
use super::stage::{Stage, Through};

/// What [`filter`](ParallelIterator::filter) returns.
///
/// ```
/// # use heist::prelude::*;
/// let v: Vec<_> = (0..5).into_par_iter().filter(|n| n % 2 == 0).collect();
/// assert_eq!(v, [0, 2, 4]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Clone)]
pub struct Filter<I, P> {
    base: I,
    filter_op: P,
}

impl_debug!(Filter<I, P>);

impl<I, P> Filter<I, P> {
    pub(super) fn new(base: I, filter_op: P) -> Self {
        Filter { base, filter_op }
    }
}

struct Apply<'f, P>(&'f P);

impl<P> Clone for Apply<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Apply<'_, P> {}

impl<T, P: Fn(&T) -> bool + Sync> Stage<T> for Apply<'_, P> {
    type Out = T;

    #[inline]
    fn feed<F: Folder<T>>(self, folder: F, item: T) -> F {
        if (self.0)(&item) {
            folder.consume(item)
        } else {
            drop(item);
            folder
        }
    }
}

impl<I, P> ParallelIterator for Filter<I, P>
where
    I: ParallelIterator,
    P: Fn(&I::Item) -> bool + Sync + Send,
{
    type Item = I::Item;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        self.base.drive_unindexed(Through::new(consumer, Apply(&self.filter_op)))
    }
}
