//! Chunks from the front, the last of which may be short.

use crate::iter::plumbing::{Consumer, Producer, ProducerCallback, UnindexedConsumer, bridge, bridge_lazily};
use crate::iter::{IndexedParallelIterator, ParallelIterator};

/// Yields chunks of a slice, the last of which may be short.
///
/// ```
/// use heist::prelude::*;
///
/// let sums: Vec<i32> = [1, 2, 3, 4, 5].par_chunks(2).map(|chunk| chunk.iter().sum()).collect();
/// assert_eq!(sums, [3, 7, 5]);
/// ```
#[derive(Debug)]
pub struct Chunks<'data, T> {
    size: usize,
    slice: &'data [T],
}

impl<'data, T> Chunks<'data, T> {
    pub(super) fn new(size: usize, slice: &'data [T]) -> Self {
        Chunks { size, slice }
    }
}

impl<T> Clone for Chunks<'_, T> {
    fn clone(&self) -> Self {
        Chunks { ..*self }
    }
}

indexed_source! {
    impl['data, T: Sync] Chunks<'data, T>;
    type Item = &'data [T];
    fn len(&this) -> usize { this.slice.len().div_ceil(this.size) }
    fn producer(this) { ChunksProducer { size: this.size, slice: this.slice } }
}

struct ChunksProducer<'data, T> {
    size: usize,
    slice: &'data [T],
}

impl<'data, T: Sync> Producer for ChunksProducer<'data, T> {
    type Item = &'data [T];
    type IntoIter = std::slice::Chunks<'data, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.slice.chunks(self.size)
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        // The last chunk may be short.
        let at = self.slice.len().min(index.saturating_mul(self.size));
        let (left, right) = self.slice.split_at(at);
        (ChunksProducer { slice: left, ..self }, ChunksProducer { slice: right, ..self })
    }
}

/// Yields chunks of a slice to be changed, the last of which may be short.
///
/// ```
/// use heist::prelude::*;
///
/// let mut v = [1, 2, 3, 4, 5];
/// v.par_chunks_mut(2).for_each(|chunk| chunk.reverse());
/// assert_eq!(v, [2, 1, 4, 3, 5]);
/// ```
#[derive(Debug)]
pub struct ChunksMut<'data, T> {
    size: usize,
    slice: &'data mut [T],
}

impl<'data, T> ChunksMut<'data, T> {
    pub(super) fn new(size: usize, slice: &'data mut [T]) -> Self {
        ChunksMut { size, slice }
    }
}

indexed_source! {
    impl['data, T: Send] ChunksMut<'data, T>;
    type Item = &'data mut [T];
    fn len(&this) -> usize { this.slice.len().div_ceil(this.size) }
    fn producer(this) { ChunksMutProducer { size: this.size, slice: this.slice } }
}

struct ChunksMutProducer<'data, T> {
    size: usize,
    slice: &'data mut [T],
}

impl<'data, T: Send> Producer for ChunksMutProducer<'data, T> {
    type Item = &'data mut [T];
    type IntoIter = std::slice::ChunksMut<'data, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.slice.chunks_mut(self.size)
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        // The last chunk may be short.
        let at = self.slice.len().min(index.saturating_mul(self.size));
        let (left, right) = self.slice.split_at_mut(at);
        (ChunksMutProducer { slice: left, ..self }, ChunksMutProducer { slice: right, ..self })
    }
}
