//! `flat_map`, and `flatten`'s machinery.

use super::plumbing::{Consumer, Folder, Reducer, UnindexedConsumer};
use super::{IntoParallelIterator, ParallelIterator};

/// What [`flat_map`](ParallelIterator::flat_map) returns.
///
/// ```
/// # use heist::prelude::*;
/// let v: Vec<_> = (1..4).into_par_iter().flat_map(|n| 0..n).collect();
/// assert_eq!(v, [0, 0, 1, 0, 1, 2]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Clone)]
pub struct FlatMap<I, F> {
    base: I,
    map_op: F,
}

impl_debug!(FlatMap<I, F>);

impl<I, F> FlatMap<I, F> {
    pub(super) fn new(base: I, map_op: F) -> Self {
        FlatMap { base, map_op }
    }
}

impl<I, F, PI> ParallelIterator for FlatMap<I, F>
where
    I: ParallelIterator,
    F: Fn(I::Item) -> PI + Sync + Send,
    PI: IntoParallelIterator,
{
    type Item = PI::Item;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<PI::Item>>(self, consumer: C) -> C::Result {
        self.base.drive_unindexed(Inner { base: consumer, open: &self.map_op })
    }
}

/// The consumer of items that `open` turns into loops of their own.
pub(super) struct Inner<'f, C, F> {
    pub(super) base: C,
    pub(super) open: &'f F,
}

impl<T, PI, C, F> Consumer<T> for Inner<'_, C, F>
where
    PI: IntoParallelIterator,
    C: UnindexedConsumer<PI::Item>,
    F: Fn(T) -> PI + Sync,
{
    type Folder = InnerFolder<Self, C::Result>;
    type Reducer = C::Reducer;
    type Result = C::Result;

    fn split_at(self, index: usize) -> (Self, Self, C::Reducer) {
        let (left, right, reducer) = self.base.split_at(index);
        (Inner { base: left, ..self }, Inner { base: right, ..self }, reducer)
    }

    fn into_folder(self) -> Self::Folder {
        InnerFolder { consumer: self, done: None }
    }

    fn full(&self) -> bool {
        self.base.full()
    }
}

impl<T, PI, C, F> UnindexedConsumer<T> for Inner<'_, C, F>
where
    PI: IntoParallelIterator,
    C: UnindexedConsumer<PI::Item>,
    F: Fn(T) -> PI + Sync,
{
    const ANYWHERE: bool = C::ANYWHERE;

    fn split_off_left(&self) -> Self {
        Inner { base: self.base.split_off_left(), open: self.open }
    }

    fn to_reducer(&self) -> C::Reducer {
        self.base.to_reducer()
    }
}

/// Runs the inner loops one after the other, each of them in parallel.
pub(super) struct InnerFolder<C, R> {
    consumer: C,
    done: Option<R>,
}

impl<T, PI, C, F> Folder<T> for InnerFolder<Inner<'_, C, F>, C::Result>
where
    PI: IntoParallelIterator,
    C: UnindexedConsumer<PI::Item>,
    F: Fn(T) -> PI + Sync,
{
    type Result = C::Result;

    fn consume(self, item: T) -> Self {
        let InnerFolder { consumer, done } = self;
        let inner = (consumer.open)(item).into_par_iter();
        let result = inner.drive_unindexed(consumer.base.split_off_left());
        let done = match done {
            None => result,
            Some(done) => consumer.base.to_reducer().reduce(done, result),
        };
        InnerFolder { consumer, done: Some(done) }
    }

    fn complete(self) -> C::Result {
        match self.done {
            Some(done) => {
                drop(self.consumer);
                done
            }
            None => self.consumer.base.into_folder().complete(),
        }
    }

    fn full(&self) -> bool {
        self.consumer.base.full()
    }
}
