//! Chunks from the back, the last of which may be short.

use crate::iter::plumbing::{Consumer, Producer, ProducerCallback, UnindexedConsumer, bridge, bridge_lazily};
use crate::iter::{IndexedParallelIterator, ParallelIterator};

/// Yields chunks of a slice from the back, the last of which may be short.
///
/// ```
/// use heist::prelude::*;
///
/// let chunks: Vec<&[i32]> = [1, 2, 3, 4, 5].par_rchunks(2).collect();
/// assert_eq!(chunks, [&[4, 5][..], &[2, 3], &[1]]);
/// ```
#[derive(Debug)]
pub struct RChunks<'data, T> {
    size: usize,
    slice: &'data [T],
}

impl<'data, T> RChunks<'data, T> {
    pub(super) fn new(size: usize, slice: &'data [T]) -> Self {
        RChunks { size, slice }
    }
}

impl<T> Clone for RChunks<'_, T> {
    fn clone(&self) -> Self {
        RChunks { ..*self }
    }
}

indexed_source! {
    impl['data, T: Sync] RChunks<'data, T>;
    type Item = &'data [T];
    fn len(&this) -> usize { this.slice.len().div_ceil(this.size) }
    fn producer(this) { RChunksProducer { size: this.size, slice: this.slice } }
}

struct RChunksProducer<'data, T> {
    size: usize,
    slice: &'data [T],
}

impl<'data, T: Sync> Producer for RChunksProducer<'data, T> {
    type Item = &'data [T];
    type IntoIter = std::slice::RChunks<'data, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.slice.rchunks(self.size)
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        // The last chunk, which is the first in memory, may be short.
        let at = self.slice.len().saturating_sub(index.saturating_mul(self.size));
        let (right, left) = self.slice.split_at(at);
        (RChunksProducer { slice: left, ..self }, RChunksProducer { slice: right, ..self })
    }
}

/// Yields chunks of a slice to be changed from the back, the last of which may be short.
///
/// ```
/// use heist::prelude::*;
///
/// let mut v = [1, 2, 3, 4, 5];
/// v.par_rchunks_mut(2).enumerate().for_each(|(i, chunk)| chunk.fill(i));
/// assert_eq!(v, [2, 1, 1, 0, 0]);
/// ```
#[derive(Debug)]
pub struct RChunksMut<'data, T> {
    size: usize,
    slice: &'data mut [T],
}

impl<'data, T> RChunksMut<'data, T> {
    pub(super) fn new(size: usize, slice: &'data mut [T]) -> Self {
        RChunksMut { size, slice }
    }
}

indexed_source! {
    impl['data, T: Send] RChunksMut<'data, T>;
    type Item = &'data mut [T];
    fn len(&this) -> usize { this.slice.len().div_ceil(this.size) }
    fn producer(this) { RChunksMutProducer { size: this.size, slice: this.slice } }
}

struct RChunksMutProducer<'data, T> {
    size: usize,
    slice: &'data mut [T],
}

impl<'data, T: Send> Producer for RChunksMutProducer<'data, T> {
    type Item = &'data mut [T];
    type IntoIter = std::slice::RChunksMut<'data, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.slice.rchunks_mut(self.size)
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        // The last chunk, which is the first in memory, may be short.
        let at = self.slice.len().saturating_sub(index.saturating_mul(self.size));
        let (right, left) = self.slice.split_at_mut(at);
        (RChunksMutProducer { slice: left, ..self }, RChunksMutProducer { slice: right, ..self })
    }
}
