//! `inspect`.

use super::one_to_one::{self, Each, OneToOne};
use super::plumbing::{Consumer, ProducerCallback, UnindexedConsumer};
use super::stage::Through;
use super::{IndexedParallelIterator, ParallelIterator};

/// What [`inspect`](ParallelIterator::inspect) returns.
///
/// ```
/// # use heist::prelude::*;
/// let sum: i32 = (0..5).into_par_iter().inspect(|n| assert!(*n < 5)).sum();
/// assert_eq!(sum, 10);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Clone)]
pub struct Inspect<I, F> {
    base: I,
    inspect_op: F,
}

impl_debug!(Inspect<I, F>);

impl<I, F> Inspect<I, F> {
    pub(super) fn new(base: I, inspect_op: F) -> Self {
        Inspect { base, inspect_op }
    }
}

struct Apply<'f, F>(&'f F);

impl<F> Clone for Apply<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Apply<'_, F> {}

impl<T, F: Fn(&T) + Sync> Each<T> for Apply<'_, F> {
    type Out = T;

    #[inline]
    fn each(self, item: T) -> T {
        (self.0)(&item);
        item
    }
}

impl<I, F> ParallelIterator for Inspect<I, F>
where
    I: ParallelIterator,
    F: Fn(&I::Item) + Sync + Send,
{
    type Item = I::Item;
    const IS_COUNTED: bool = I::IS_COUNTED;
    const IS_UNCOUNTED: bool = I::IS_UNCOUNTED;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        self.base.drive_unindexed(Through::new(consumer, OneToOne(Apply(&self.inspect_op))))
    }

    fn opt_len(&self) -> Option<usize> {
        self.base.opt_len()
    }
}

impl<I, F> IndexedParallelIterator for Inspect<I, F>
where
    I: IndexedParallelIterator,
    F: Fn(&I::Item) + Sync + Send,
{
    fn drive<C: Consumer<I::Item>>(self, consumer: C) -> C::Result {
        self.base.drive(Through::new(consumer, OneToOne(Apply(&self.inspect_op))))
    }

    fn len(&self) -> usize {
        self.base.len()
    }

    fn with_producer<CB: ProducerCallback<I::Item>>(self, callback: CB) -> CB::Output {
        one_to_one::with_producer(self.base, Apply(&self.inspect_op), callback)
    }
}
