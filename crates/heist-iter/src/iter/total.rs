//! What `sum` and `product` share: one value made of many.

use super::ParallelIterator;
use super::plumbing::{Consumer, Folder, Reducer, UnindexedConsumer};
use std::marker::PhantomData;

/// How an `S` is made of `T`s.
pub(super) trait Total<T, S> {
    /// The total of all items, in order.
    fn of(items: impl Iterator<Item = T>) -> S;
}

/// The total of all items, by way of `K`.
pub(super) fn total<K, I, S>(par_iter: I) -> S
where
    K: Total<I::Item, S> + Total<S, S>,
    I: ParallelIterator,
    S: Send,
{
    par_iter.drive_unindexed(Totals::<K, S>(PhantomData))
}

/// Consumer and reducer in one.
struct Totals<K, S>(PhantomData<fn() -> (K, S)>);

impl<K, S> Clone for Totals<K, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, S> Copy for Totals<K, S> {}

impl<K, S, T> Consumer<T> for Totals<K, S>
where
    K: Total<T, S> + Total<S, S>,
    S: Send,
{
    type Folder = TotalFolder<K, S>;
    type Reducer = Self;
    type Result = S;

    fn split_at(self, _index: usize) -> (Self, Self, Self) {
        (self, self, self)
    }

    fn into_folder(self) -> Self::Folder {
        TotalFolder { total: K::of(std::iter::empty::<T>()), kind: PhantomData }
    }

    fn full(&self) -> bool {
        false
    }
}

impl<K, S, T> UnindexedConsumer<T> for Totals<K, S>
where
    K: Total<T, S> + Total<S, S>,
    S: Send,
{
    const ANYWHERE: bool = true;

    fn split_off_left(&self) -> Self {
        *self
    }

    fn to_reducer(&self) -> Self {
        *self
    }
}

impl<K: Total<S, S>, S> Reducer<S> for Totals<K, S> {
    fn reduce(self, left: S, right: S) -> S {
        K::of([left, right].into_iter())
    }
}

struct TotalFolder<K, S> {
    total: S,
    kind: PhantomData<fn() -> K>,
}

impl<K: Total<S, S>, S> TotalFolder<K, S> {
    #[inline]
    fn and(self, more: S) -> Self {
        TotalFolder { total: K::of([self.total, more].into_iter()), kind: PhantomData }
    }
}

impl<K, S, T> Folder<T> for TotalFolder<K, S>
where
    K: Total<T, S> + Total<S, S>,
{
    type Result = S;

    #[inline]
    fn consume(self, item: T) -> Self {
        let more = K::of(std::iter::once(item));
        self.and(more)
    }

    #[inline]
    fn consume_iter<I: IntoIterator<Item = T>>(self, iter: I) -> Self {
        let more = K::of(iter.into_iter());
        self.and(more)
    }

    fn complete(self) -> S {
        self.total
    }

    #[inline]
    fn full(&self) -> bool {
        false
    }
}
