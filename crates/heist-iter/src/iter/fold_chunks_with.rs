//! `fold_chunks_with`.

use super::chunks::{self, Chunk};
use super::plumbing::{Consumer, ProducerCallback, UnindexedConsumer, bridge, bridge_lazily};
use super::{IndexedParallelIterator, ParallelIterator};

/// What [`fold_chunks_with`](IndexedParallelIterator::fold_chunks_with) returns.
///
/// ```
/// # use heist::prelude::*;
/// let v: Vec<u32> = (0..5u32).into_par_iter().fold_chunks_with(2, 0, |sum, n| sum + n).collect();
/// assert_eq!(v, [1, 5, 4]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Clone)]
pub struct FoldChunksWith<I, T, F> {
    base: I,
    size: usize,
    init: T,
    fold_op: F,
}

impl_debug!(FoldChunksWith<I, T, F>);

impl<I, T, F> FoldChunksWith<I, T, F> {
    /// `size` is not 0.
    pub(super) fn new(base: I, size: usize, init: T, fold_op: F) -> Self {
        FoldChunksWith { base, size, init, fold_op }
    }
}

impl<I, T, F> ParallelIterator for FoldChunksWith<I, T, F>
where
    I: IndexedParallelIterator,
    T: Send + Clone,
    F: Fn(T, I::Item) -> T + Send + Sync,
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

impl<I, T, F> IndexedParallelIterator for FoldChunksWith<I, T, F>
where
    I: IndexedParallelIterator,
    T: Send + Clone,
    F: Fn(T, I::Item) -> T + Send + Sync,
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
            Folded { init: self.init, fold_op: &self.fold_op },
            callback,
        )
    }
}

struct Folded<'f, T, F> {
    init: T,
    fold_op: &'f F,
}

impl<T: Clone, F> Clone for Folded<'_, T, F> {
    fn clone(&self) -> Self {
        Folded { init: self.init.clone(), fold_op: self.fold_op }
    }
}

impl<T, U, F> Chunk<U> for Folded<'_, T, F>
where
    T: Clone + Send,
    F: Fn(T, U) -> T + Sync,
{
    type Out = T;

    fn make(self, items: impl Iterator<Item = U>) -> T {
        items.fold(self.init, self.fold_op)
    }
}
