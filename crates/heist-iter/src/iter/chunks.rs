//! `chunks`, and what `fold_chunks` and `fold_chunks_with` share with it.

use super::plumbing::{Consumer, Producer, ProducerCallback, UnindexedConsumer, bridge, bridge_lazily};
use super::{IndexedParallelIterator, ParallelIterator};

/// What [`chunks`](IndexedParallelIterator::chunks) returns.
///
/// ```
/// # use heist::prelude::*;
/// let v: Vec<_> = (0..5).into_par_iter().chunks(2).collect();
/// assert_eq!(v, [vec![0, 1], vec![2, 3], vec![4]]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct Chunks<I> {
    base: I,
    size: usize,
}

impl<I> Chunks<I> {
    /// `size` is not 0.
    pub(super) fn new(base: I, size: usize) -> Self {
        Chunks { base, size }
    }
}

impl<I: IndexedParallelIterator> ParallelIterator for Chunks<I> {
    type Item = Vec<I::Item>;
    const IS_COUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<Vec<I::Item>>>(self, consumer: C) -> C::Result {
        bridge_lazily(self, consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.len())
    }
}

impl<I: IndexedParallelIterator> IndexedParallelIterator for Chunks<I> {
    fn drive<C: Consumer<Vec<I::Item>>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn len(&self) -> usize {
        self.base.len().div_ceil(self.size)
    }

    fn with_producer<CB: ProducerCallback<Vec<I::Item>>>(self, callback: CB) -> CB::Output {
        with_producer(self.base, self.size, ToVec, callback)
    }
}

#[derive(Clone, Copy)]
struct ToVec;

impl<T: Send> Chunk<T> for ToVec {
    type Out = Vec<T>;

    fn make(self, items: impl Iterator<Item = T>) -> Vec<T> {
        items.collect()
    }
}

/// What is made of each chunk.
pub(super) trait Chunk<T>: Clone + Send {
    type Out;

    fn make(self, items: impl Iterator<Item = T>) -> Self::Out;
}

/// Lends a producer of chunks.
pub(super) fn with_producer<I, K, CB>(base: I, size: usize, chunk: K, callback: CB) -> CB::Output
where
    I: IndexedParallelIterator,
    K: Chunk<I::Item>,
    CB: ProducerCallback<K::Out>,
{
    struct Callback<CB, K> {
        callback: CB,
        size: usize,
        len: usize,
        chunk: K,
    }

    impl<T, CB, K> ProducerCallback<T> for Callback<CB, K>
    where
        K: Chunk<T>,
        CB: ProducerCallback<K::Out>,
    {
        type Output = CB::Output;

        fn callback<P: Producer<Item = T>>(self, base: P) -> CB::Output {
            let Callback { callback, size, len, chunk } = self;
            callback.callback(ChunkProducer { base, size, len, chunk })
        }
    }

    let len = base.len();
    base.with_producer(Callback { callback, size, len, chunk })
}

struct ChunkProducer<P, K> {
    base: P,
    size: usize,
    /// Of `base`.
    len: usize,
    chunk: K,
}

impl<P, K> Producer for ChunkProducer<P, K>
where
    P: Producer,
    K: Chunk<P::Item>,
{
    type Item = K::Out;
    type IntoIter = ChunkIter<P, K>;
    const COSTLY_START: bool = P::COSTLY_START;

    fn into_iter(self) -> Self::IntoIter {
        ChunkIter { base: Some(self.base), size: self.size, len: self.len, chunk: self.chunk }
    }

    fn min_len(&self) -> usize {
        self.base.min_len().div_ceil(self.size)
    }

    fn max_len(&self) -> usize {
        self.base.max_len() / self.size
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let index = index.saturating_mul(self.size).min(self.len);
        let (left, right) = self.base.split_at(index);
        let chunk = self.chunk.clone();
        (
            ChunkProducer { base: left, size: self.size, len: index, chunk },
            ChunkProducer { base: right, len: self.len - index, size: self.size, chunk: self.chunk },
        )
    }
}

struct ChunkIter<P, K> {
    /// `None` once it has ended.
    base: Option<P>,
    size: usize,
    len: usize,
    chunk: K,
}

impl<P, K> Iterator for ChunkIter<P, K>
where
    P: Producer,
    K: Chunk<P::Item>,
{
    type Item = K::Out;

    fn next(&mut self) -> Option<K::Out> {
        let base = self.base.take()?;
        let items = if self.len > self.size {
            let (first, rest) = base.split_at(self.size);
            self.base = Some(rest);
            self.len -= self.size;
            first
        } else if self.len > 0 {
            self.len = 0;
            base
        } else {
            return None;
        };
        Some(self.chunk.clone().make(items.into_iter()))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.len.div_ceil(self.size);
        (len, Some(len))
    }
}

impl<P, K> DoubleEndedIterator for ChunkIter<P, K>
where
    P: Producer,
    K: Chunk<P::Item>,
{
    fn next_back(&mut self) -> Option<K::Out> {
        let base = self.base.take()?;
        let items = if self.len > self.size {
            // The last chunk has the remainder, if there is one.
            let last = (self.len - 1) % self.size + 1;
            self.len -= last;
            let (rest, last) = base.split_at(self.len);
            self.base = Some(rest);
            last
        } else if self.len > 0 {
            self.len = 0;
            base
        } else {
            return None;
        };
        Some(self.chunk.clone().make(items.into_iter()))
    }
}

impl<P, K> ExactSizeIterator for ChunkIter<P, K>
where
    P: Producer,
    K: Chunk<P::Item>,
{
}
