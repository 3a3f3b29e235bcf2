//! `reduce_with`, and through it `min`, `max` and their kin.

use super::ParallelIterator;
use super::plumbing::{Consumer, Folder, Reducer, UnindexedConsumer};

pub(super) fn reduce_with<I, R, T>(par_iter: I, op: R) -> Option<T>
where
    I: ParallelIterator<Item = T>,
    R: Fn(T, T) -> T + Sync,
    T: Send,
{
    par_iter.drive_unindexed(ReduceWith { op: &op })
}

/// The first of two values, one of which must go.
#[inline]
pub(super) fn first_of<T>(first: T, second: T) -> T {
    drop(second);
    first
}

/// Consumer and reducer in one.
struct ReduceWith<'r, R> {
    op: &'r R,
}

impl<R> Clone for ReduceWith<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for ReduceWith<'_, R> {}

impl<'r, R, T> Consumer<T> for ReduceWith<'r, R>
where
    R: Fn(T, T) -> T + Sync,
    T: Send,
{
    type Folder = ReduceWithFolder<'r, R, T>;
    type Reducer = Self;
    type Result = Option<T>;

    fn split_at(self, _index: usize) -> (Self, Self, Self) {
        (self, self, self)
    }

    fn into_folder(self) -> Self::Folder {
        ReduceWithFolder { op: self.op, value: None }
    }

    fn full(&self) -> bool {
        false
    }
}

impl<R, T> UnindexedConsumer<T> for ReduceWith<'_, R>
where
    R: Fn(T, T) -> T + Sync,
    T: Send,
{
    const ANYWHERE: bool = true;

    fn split_off_left(&self) -> Self {
        *self
    }

    fn to_reducer(&self) -> Self {
        *self
    }
}

impl<R, T> Reducer<Option<T>> for ReduceWith<'_, R>
where
    R: Fn(T, T) -> T + Sync,
{
    fn reduce(self, left: Option<T>, right: Option<T>) -> Option<T> {
        match (left, right) {
            (Some(left), Some(right)) => Some((self.op)(left, right)),
            (left, right) => left.or(right),
        }
    }
}

struct ReduceWithFolder<'r, R, T> {
    op: &'r R,
    value: Option<T>,
}

impl<R, T> Folder<T> for ReduceWithFolder<'_, R, T>
where
    R: Fn(T, T) -> T,
{
    type Result = Option<T>;

    #[inline]
    fn consume(self, item: T) -> Self {
        let value = match self.value {
            Some(value) => (self.op)(value, item),
            None => item,
        };
        ReduceWithFolder { op: self.op, value: Some(value) }
    }

    #[inline]
    fn consume_iter<I: IntoIterator<Item = T>>(self, iter: I) -> Self {
        let mut iter = iter.into_iter();
        let value = self.value.or_else(|| iter.next()).map(|first| iter.fold(first, self.op));
        ReduceWithFolder { op: self.op, value }
    }

    fn complete(self) -> Option<T> {
        self.value
    }

    #[inline]
    fn full(&self) -> bool {
        false
    }
}
