//! `update`.

use super::one_to_one::{self, Each, OneToOne};
use super::plumbing::{Consumer, ProducerCallback, UnindexedConsumer};
use super::stage::Through;
use super::{IndexedParallelIterator, ParallelIterator};

/// What [`update`](ParallelIterator::update) returns.
///
/// ```
/// # use heist::prelude::*;
/// let v: Vec<_> = (0..2).into_par_iter().update(|n| *n += 1).collect();
/// assert_eq!(v, [1, 2]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Clone)]
pub struct Update<I, F> {
    base: I,
    update_op: F,
}

impl_debug!(Update<I, F>);

impl<I, F> Update<I, F> {
    pub(super) fn new(base: I, update_op: F) -> Self {
        Update { base, update_op }
    }
}

struct Apply<'f, F>(&'f F);

impl<F> Clone for Apply<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Apply<'_, F> {}

impl<T, F: Fn(&mut T) + Sync> Each<T> for Apply<'_, F> {
    type Out = T;

    #[inline]
    fn each(self, mut item: T) -> T {
        (self.0)(&mut item);
        item
    }
}

impl<I, F> ParallelIterator for Update<I, F>
where
    I: ParallelIterator,
    F: Fn(&mut I::Item) + Sync + Send,
{
    type Item = I::Item;
    const IS_COUNTED: bool = I::IS_COUNTED;
    const IS_UNCOUNTED: bool = I::IS_UNCOUNTED;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        self.base.drive_unindexed(Through::new(consumer, OneToOne(Apply(&self.update_op))))
    }

    fn opt_len(&self) -> Option<usize> {
        self.base.opt_len()
    }
}

impl<I, F> IndexedParallelIterator for Update<I, F>
where
    I: IndexedParallelIterator,
    F: Fn(&mut I::Item) + Sync + Send,
{
    fn drive<C: Consumer<I::Item>>(self, consumer: C) -> C::Result {
        self.base.drive(Through::new(consumer, OneToOne(Apply(&self.update_op))))
    }

    fn len(&self) -> usize {
        self.base.len()
    }

    fn with_producer<CB: ProducerCallback<I::Item>>(self, callback: CB) -> CB::Output {
        one_to_one::with_producer(self.base, Apply(&self.update_op), callback)
    }
}
