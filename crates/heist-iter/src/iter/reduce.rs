//! `reduce`.

use super::ParallelIterator;
use super::plumbing::{Consumer, Folder, Reducer, UnindexedConsumer};

pub(super) fn reduce<I, ID, R, T>(par_iter: I, identity: ID, op: R) -> T
where
    I: ParallelIterator<Item = T>,
    ID: Fn() -> T + Sync,
    R: Fn(T, T) -> T + Sync,
    T: Send,
{
    par_iter.drive_unindexed(Reduce { identity: &identity, op: &op })
}

/// Consumer and reducer in one.
struct Reduce<'r, ID, R> {
    identity: &'r ID,
    op: &'r R,
}

impl<ID, R> Clone for Reduce<'_, ID, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<ID, R> Copy for Reduce<'_, ID, R> {}

impl<'r, ID, R, T> Consumer<T> for Reduce<'r, ID, R>
where
    ID: Fn() -> T + Sync,
    R: Fn(T, T) -> T + Sync,
    T: Send,
{
    type Folder = ReduceFolder<'r, R, T>;
    type Reducer = Self;
    type Result = T;

    fn split_at(self, _index: usize) -> (Self, Self, Self) {
        (self, self, self)
    }

    fn into_folder(self) -> Self::Folder {
        ReduceFolder { op: self.op, value: (self.identity)() }
    }

    fn full(&self) -> bool {
        false
    }
}

impl<ID, R, T> UnindexedConsumer<T> for Reduce<'_, ID, R>
where
    ID: Fn() -> T + Sync,
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

impl<ID, R, T> Reducer<T> for Reduce<'_, ID, R>
where
    R: Fn(T, T) -> T + Sync,
{
    fn reduce(self, left: T, right: T) -> T {
        (self.op)(left, right)
    }
}

struct ReduceFolder<'r, R, T> {
    op: &'r R,
    value: T,
}

impl<R, T> Folder<T> for ReduceFolder<'_, R, T>
where
    R: Fn(T, T) -> T,
{
    type Result = T;

    #[inline]
    fn consume(self, item: T) -> Self {
        ReduceFolder { op: self.op, value: (self.op)(self.value, item) }
    }

    #[inline]
    fn consume_iter<I: IntoIterator<Item = T>>(self, iter: I) -> Self {
        ReduceFolder { op: self.op, value: iter.into_iter().fold(self.value, self.op) }
    }

    fn complete(self) -> T {
        self.value
    }

    #[inline]
    fn full(&self) -> bool {
        false
    }
}
