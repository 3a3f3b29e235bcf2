//! `map`.

use super::one_to_one::{self, Each, OneToOne};
use super::plumbing::{Consumer, ProducerCallback, UnindexedConsumer};
use super::stage::Through;
use super::{IndexedParallelIterator, ParallelIterator};

/// What [`map`](ParallelIterator::map) returns.
///
/// ```
/// # use heist::prelude::*;
/// let v: Vec<_> = (0..2).into_par_iter().map(|n| n + 1).collect();
/// assert_eq!(v, [1, 2]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Clone)]
pub struct Map<I, F> {
    base: I,
    map_op: F,
}

impl_debug!(Map<I, F>);

impl<I, F> Map<I, F> {
    pub(super) fn new(base: I, map_op: F) -> Self {
        Map { base, map_op }
    }
}

struct Apply<'f, F>(&'f F);

impl<F> Clone for Apply<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Apply<'_, F> {}

impl<T, R, F: Fn(T) -> R + Sync> Each<T> for Apply<'_, F> {
    type Out = R;

    #[inline]
    fn each(self, item: T) -> R {
        (self.0)(item)
    }
}

impl<I, F, R> ParallelIterator for Map<I, F>
where
    I: ParallelIterator,
    F: Fn(I::Item) -> R + Sync + Send,
    R: Send,
{
    type Item = R;
    const IS_COUNTED: bool = I::IS_COUNTED;
    const IS_UNCOUNTED: bool = I::IS_UNCOUNTED;

    fn drive_unindexed<C: UnindexedConsumer<R>>(self, consumer: C) -> C::Result {
        self.base.drive_unindexed(Through::new(consumer, OneToOne(Apply(&self.map_op))))
    }

    fn opt_len(&self) -> Option<usize> {
        self.base.opt_len()
    }
}

impl<I, F, R> IndexedParallelIterator for Map<I, F>
where
    I: IndexedParallelIterator,
    F: Fn(I::Item) -> R + Sync + Send,
    R: Send,
{
    fn drive<C: Consumer<R>>(self, consumer: C) -> C::Result {
        self.base.drive(Through::new(consumer, OneToOne(Apply(&self.map_op))))
    }

    fn len(&self) -> usize {
        self.base.len()
    }

    fn with_producer<CB: ProducerCallback<R>>(self, callback: CB) -> CB::Output {
        one_to_one::with_producer(self.base, Apply(&self.map_op), callback)
    }
}
