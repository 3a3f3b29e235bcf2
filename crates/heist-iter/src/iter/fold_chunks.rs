//! `fold_chunks`.

use super::chunks::{self, Chunk};
use super::plumbing::{Consumer, ProducerCallback, UnindexedConsumer, bridge, bridge_lazily};
use super::{IndexedParallelIterator, ParallelIterator};

/// What [`fold_chunks`](IndexedParallelIterator::fold_chunks) returns.
///
/// ```
/// # use heist::prelude::*;
/// let v: Vec<u32> = (0..5u32).into_par_iter().fold_chunks(2, || 0, |sum, n| sum + n).collect();
/// assert_eq!(v, [1, 5, 4]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Clone)]
pub struct FoldChunks<I, ID, F> {
    base: I,
    size: usize,
    identity: ID,
    fold_op: F,
}

impl_debug!(FoldChunks<I, ID, F>);

impl<I, ID, F> FoldChunks<I, ID, F> {
    /// `size` is not 0.
    pub(super) fn new(base: I, size: usize, identity: ID, fold_op: F) -> Self {
        FoldChunks { base, size, identity, fold_op }
    }
}

impl<I, ID, T, F> ParallelIterator for FoldChunks<I, ID, F>
where
    I: IndexedParallelIterator,
    ID: Fn() -> T + Send + Sync,
    F: Fn(T, I::Item) -> T + Send + Sync,
    T: Send,
{
    type Item = T;
    const IS_COUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<T>>(self, consumer: C) -> C::Result {
        bridge_lazily(self, consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.len())
    }
}

impl<I, ID, T, F> IndexedParallelIterator for FoldChunks<I, ID, F>
where
    I: IndexedParallelIterator,
    ID: Fn() -> T + Send + Sync,
    F: Fn(T, I::Item) -> T + Send + Sync,
    T: Send,
{
    fn drive<C: Consumer<T>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn len(&self) -> usize {
        self.base.len().div_ceil(self.size)
    }

    fn with_producer<CB: ProducerCallback<T>>(self, callback: CB) -> CB::Output {
        chunks::with_producer(
            self.base,
            self.size,
            Folded { identity: &self.identity, fold_op: &self.fold_op },
            callback,
        )
    }
}

struct Folded<'f, ID, F> {
    identity: &'f ID,
    fold_op: &'f F,
}

impl<ID, F> Clone for Folded<'_, ID, F> {
    fn clone(&self) -> Self {
        Folded { ..*self }
    }
}

impl<T, U, ID, F> Chunk<U> for Folded<'_, ID, F>
where
    ID: Fn() -> T + Sync,
    F: Fn(T, U) -> T + Sync,
{
    type Out = T;

    fn make(self, items: impl Iterator<Item = U>) -> T {
        items.fold((self.identity)(), self.fold_op)
    }
}
