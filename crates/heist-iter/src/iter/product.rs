//! `product`.

use super::ParallelIterator;
use super::plumbing::{Consumer, Folder, Reducer, UnindexedConsumer};
use std::iter::Product;
use std::marker::PhantomData;

pub(super) fn product<I, S>(par_iter: I) -> S
where
    I: ParallelIterator,
    S: Send + Product<I::Item> + Product<S>,
{
    par_iter.drive_unindexed(ProductOf(PhantomData))
}

/// Consumer and reducer in one.
struct ProductOf<S>(PhantomData<fn() -> S>);

impl<S> Clone for ProductOf<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for ProductOf<S> {}

impl<S, T> Consumer<T> for ProductOf<S>
where
    S: Send + Product<T> + Product<S>,
{
    type Folder = ProductFolder<S>;
    type Reducer = Self;
    type Result = S;

    fn split_at(self, _index: usize) -> (Self, Self, Self) {
        (self, self, self)
    }

    fn into_folder(self) -> Self::Folder {
        ProductFolder(std::iter::empty::<T>().product())
    }

    fn full(&self) -> bool {
        false
    }
}

impl<S, T> UnindexedConsumer<T> for ProductOf<S>
where
    S: Send + Product<T> + Product<S>,
{
    const ANYWHERE: bool = true;

    fn split_off_left(&self) -> Self {
        *self
    }

    fn to_reducer(&self) -> Self {
        *self
    }
}

impl<S: Product<S>> Reducer<S> for ProductOf<S> {
    fn reduce(self, left: S, right: S) -> S {
        merge(left, right)
    }
}

struct ProductFolder<S>(S);

impl<S, T> Folder<T> for ProductFolder<S>
where
    S: Product<T> + Product<S>,
{
    type Result = S;

    #[inline]
    fn consume(self, item: T) -> Self {
        ProductFolder(merge(self.0, std::iter::once(item).product()))
    }

    #[inline]
    fn consume_iter<I: IntoIterator<Item = T>>(self, iter: I) -> Self {
        ProductFolder(merge(self.0, iter.into_iter().product()))
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
fn merge<S: Product<S>>(left: S, right: S) -> S {
    [left, right].into_iter().product()
}
