//! Chunks from the front, all of one size.

use crate::iter::plumbing::{Consumer, Producer, ProducerCallback, UnindexedConsumer, bridge, bridge_lazily};
use crate::iter::{IndexedParallelIterator, ParallelIterator};
use std::mem;

/// Yields chunks of a slice, all of one size; what is left over at the end is the remainder.
///
/// ```
/// use heist::prelude::*;
///
/// let pairs = [1, 2, 3, 4, 5].par_chunks_exact(2).map(|pair| pair[0] * pair[1]);
/// assert_eq!(pairs.collect::<Vec<_>>(), [2, 12]);
/// ```
#[derive(Debug)]
pub struct ChunksExact<'data, T> {
    size: usize,
    slice: &'data [T],
    rest: &'data [T],
}

impl<'data, T> ChunksExact<'data, T> {
    pub(super) fn new(size: usize, slice: &'data [T]) -> Self {
        let (slice, rest) = slice.split_at(slice.len() / size * size);
        ChunksExact { size, slice, rest }
    }

    /// The elements after the last chunk, fewer than a chunk, which are not yielded.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!([1, 2, 3, 4, 5].par_chunks_exact(2).remainder(), [5]);
    /// ```
    pub fn remainder(&self) -> &'data [T] {
        self.rest
    }
}

impl<T> Clone for ChunksExact<'_, T> {
    fn clone(&self) -> Self {
        ChunksExact { ..*self }
    }
}

indexed_source! {
    impl['data, T: Sync] ChunksExact<'data, T>;
    type Item = &'data [T];
    fn len(&this) -> usize { this.slice.len() / this.size }
    fn producer(this) { ChunksExactProducer { size: this.size, slice: this.slice } }
}

struct ChunksExactProducer<'data, T> {
    size: usize,
    slice: &'data [T],
}

impl<'data, T: Sync> Producer for ChunksExactProducer<'data, T> {
    type Item = &'data [T];
    type IntoIter = std::slice::ChunksExact<'data, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.slice.chunks_exact(self.size)
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let (left, right) = self.slice.split_at(index * self.size);
        (ChunksExactProducer { slice: left, ..self }, ChunksExactProducer { slice: right, ..self })
    }
}

/// Yields chunks of a slice to be changed, all of one size; what is left over at the end is the remainder.
///
/// ```
/// use heist::prelude::*;
///
/// let mut v = [1, 2, 3, 4, 5];
/// v.par_chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
/// assert_eq!(v, [2, 1, 4, 3, 5]);
/// ```
#[derive(Debug)]
pub struct ChunksExactMut<'data, T> {
    size: usize,
    slice: &'data mut [T],
    rest: &'data mut [T],
}

impl<'data, T> ChunksExactMut<'data, T> {
    pub(super) fn new(size: usize, slice: &'data mut [T]) -> Self {
        let (slice, rest) = slice.split_at_mut(slice.len() / size * size);
        ChunksExactMut { size, slice, rest }
    }

    /// The elements after the last chunk, fewer than a chunk, which are not yielded; gives up the iterator for them.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut v = [1, 2, 3, 4, 5];
    /// v.par_chunks_exact_mut(2).into_remainder().fill(0);
    /// assert_eq!(v, [1, 2, 3, 4, 0]);
    /// ```
    pub fn into_remainder(self) -> &'data mut [T] {
        self.rest
    }

    /// The elements after the last chunk, for as long as the iterator is not used otherwise.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut v = [1, 2, 3, 4, 5];
    /// let mut pairs = v.par_chunks_exact_mut(2);
    /// pairs.remainder()[0] = 9;
    /// pairs.for_each(|pair| pair.reverse());
    /// assert_eq!(v, [2, 1, 4, 3, 9]);
    /// ```
    pub fn remainder(&mut self) -> &mut [T] {
        self.rest
    }

    /// The elements after the last chunk, once; leaves an empty slice in their place.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut v = [1, 2, 3, 4, 5];
    /// let mut pairs = v.par_chunks_exact_mut(2);
    /// assert_eq!(pairs.take_remainder(), [5]);
    /// assert_eq!(pairs.take_remainder(), []);
    /// ```
    pub fn take_remainder(&mut self) -> &'data mut [T] {
        mem::take(&mut self.rest)
    }
}

indexed_source! {
    impl['data, T: Send] ChunksExactMut<'data, T>;
    type Item = &'data mut [T];
    fn len(&this) -> usize { this.slice.len() / this.size }
    fn producer(this) { ChunksExactMutProducer { size: this.size, slice: this.slice } }
}

struct ChunksExactMutProducer<'data, T> {
    size: usize,
    slice: &'data mut [T],
}

impl<'data, T: Send> Producer for ChunksExactMutProducer<'data, T> {
    type Item = &'data mut [T];
    type IntoIter = std::slice::ChunksExactMut<'data, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.slice.chunks_exact_mut(self.size)
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let (left, right) = self.slice.split_at_mut(index * self.size);
        (ChunksExactMutProducer { slice: left, ..self }, ChunksExactMutProducer { slice: right, ..self })
    }
}
