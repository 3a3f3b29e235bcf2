//! `sum`.

use super::ParallelIterator;
use super::plumbing::{Consumer, Folder, Reducer, UnindexedConsumer};
use std::iter::Sum;
use std::marker::PhantomData;

pub(super) fn sum<I, S>(par_iter: I) -> S
where
    I: ParallelIterator,
    S: Send + Sum<I::Item> + Sum<S>,
{
    par_iter.drive_unindexed(SumOf(PhantomData))
}

/// Consumer and reducer in one.
struct SumOf<S>(PhantomData<fn() -> S>);

impl<S> Clone for SumOf<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for SumOf<S> {}

impl<S, T> Consumer<T> for SumOf<S>
where
    S: Send + Sum<T> + Sum<S>,
{
    type Folder = SumFolder<S>;
    type Reducer = Self;
    type Result = S;

    fn split_at(self, _index: usize) -> (Self, Self, Self) {
        (self, self, self)
    }

    fn into_folder(self) -> Self::Folder {
        SumFolder(std::iter::empty::<T>().sum())
    }

    fn full(&self) -> bool {
        false
    }
}

impl<S, T> UnindexedConsumer<T> for SumOf<S>
where
    S: Send + Sum<T> + Sum<S>,
{
    const ANYWHERE: bool = true;

    fn split_off_left(&self) -> Self {
        *self
    }

    fn to_reducer(&self) -> Self {
        *self
    }
}

impl<S: Sum<S>> Reducer<S> for SumOf<S> {
    fn reduce(self, left: S, right: S) -> S {
        merge(left, right)
    }
}

struct SumFolder<S>(S);

impl<S, T> Folder<T> for SumFolder<S>
where
    S: Sum<T> + Sum<S>,
{
    type Result = S;

    #[inline]
    fn consume(self, item: T) -> Self {
        SumFolder(merge(self.0, std::iter::once(item).sum()))
    }

    #[inline]
    fn consume_iter<I: IntoIterator<Item = T>>(self, iter: I) -> Self {
        SumFolder(merge(self.0, iter.into_iter().sum()))
    }

    fn complete(self) -> S {
        self.0
    }

    #[inline]
    fn full(&self) -> bool {
        false
    }
}

#[inline]
fn merge<S: Sum<S>>(left: S, right: S) -> S {
    [left, right].into_iter().sum()
}
