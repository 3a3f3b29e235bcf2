//! `for_each`.

use super::ParallelIterator;
use super::plumbing::{Consumer, Folder, NoopReducer, UnindexedConsumer};

pub(super) fn for_each<I, F>(par_iter: I, op: &F)
where
    I: ParallelIterator,
    F: Fn(I::Item) + Sync,
{
    par_iter.drive_unindexed(Call(op));
}

/// Calls a closure with each item: consumer and folder in one.
struct Call<'f, F>(&'f F);

impl<T, F: Fn(T) + Sync> Consumer<T> for Call<'_, F> {
    type Folder = Self;
    type Reducer = NoopReducer;
    type Result = ();

    fn split_at(self, _index: usize) -> (Self, Self, NoopReducer) {
        (Call(self.0), self, NoopReducer)
    }

    fn into_folder(self) -> Self {
        self
    }

    fn full(&self) -> bool {
        false
    }
}

impl<T, F: Fn(T) + Sync> UnindexedConsumer<T> for Call<'_, F> {
    const ANYWHERE: bool = true;

    fn split_off_left(&self) -> Self {
        Call(self.0)
    }

    fn to_reducer(&self) -> NoopReducer {
        NoopReducer
    }
}

impl<T, F: Fn(T) + Sync> Folder<T> for Call<'_, F> {
    type Result = ();

    #[inline]
    fn consume(self, item: T) -> Self {
        (self.0)(item);
        self
    }

    #[inline]
    fn consume_iter<I: IntoIterator<Item = T>>(self, iter: I) -> Self {
        iter.into_iter().for_each(self.0);
        self
    }

    fn complete(self) {}

    #[inline]
    fn full(&self) -> bool {
        false
    }
}
