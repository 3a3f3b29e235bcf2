//! Chunks from the back, all of one size.

use crate::iter::plumbing::{Consumer, Producer, ProducerCallback, UnindexedConsumer, bridge, bridge_lazily};
use crate::iter::{IndexedParallelIterator, ParallelIterator};
use std::mem;

/// Yields chunks of a slice from the back, all of one size; what is left over in front is the remainder.
///
/// ```
/// use heist::prelude::*;
///
/// let chunks: Vec<&[i32]> = [1, 2, 3, 4, 5].par_rchunks_exact(2).collect();
/// assert_eq!(chunks, [&[4, 5], &[2, 3]]);
/// ```
#[derive(Debug)]
pub struct RChunksExact<'data, T> {
    size: usize,
    slice: &'data [T],
    rest: &'data [T],
}

impl<'data, T> RChunksExact<'data, T> {
    pub(super) fn new(size: usize, slice: &'data [T]) -> Self {
        let (rest, slice) = slice.split_at(slice.len() % size);
        RChunksExact { size, slice, rest }
    }

    /// The elements before the first chunk, fewer than a chunk, which are not yielded.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!([1, 2, 3, 4, 5].par_rchunks_exact(2).remainder(), [1]);
    /// ```
    pub fn remainder(&self) -> &'data [T] {
        self.rest
    }
}

impl<T> Clone for RChunksExact<'_, T> {
    fn clone(&self) -> Self {
        RChunksExact { ..*self }
    }
}

indexed_source! {
    impl['data, T: Sync] RChunksExact<'data, T>;
    type Item = &'data [T];
    fn len(&this) -> usize { this.slice.len() / this.size }
    fn producer(this) { RChunksExactProducer { size: this.size, slice: this.slice } }
}

struct RChunksExactProducer<'data, T> {
    size: usize,
    slice: &'data [T],
}

impl<'data, T: Sync> Producer for RChunksExactProducer<'data, T> {
    type Item = &'data [T];
    type IntoIter = std::slice::RChunksExact<'data, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.slice.rchunks_exact(self.size)
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let (right, left) = self.slice.split_at(self.slice.len() - index * self.size);
        (RChunksExactProducer { slice: left, ..self }, RChunksExactProducer { slice: right, ..self })
    }
}

/// Yields chunks of a slice to be changed from the back, all of one size; what is left over in front is the remainder.
///
/// ```
/// use heist::prelude::*;
///
/// let mut v = [1, 2, 3, 4, 5];
/// v.par_rchunks_exact_mut(2).enumerate().for_each(|(i, pair)| pair.fill(i));
/// assert_eq!(v, [1, 1, 1, 0, 0]);
/// ```
#[derive(Debug)]
pub struct RChunksExactMut<'data, T> {
    size: usize,
    slice: &'data mut [T],
    rest: &'data mut [T],
}

impl<'data, T> RChunksExactMut<'data, T> {
    pub(super) fn new(size: usize, slice: &'data mut [T]) -> Self {
        let (rest, slice) = slice.split_at_mut(slice.len() % size);
        RChunksExactMut { size, slice, rest }
    }

    /// The elements before the first chunk, fewer than a chunk, which are not yielded; gives up the iterator for them.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut v = [1, 2, 3, 4, 5];
    /// v.par_rchunks_exact_mut(2).into_remainder().fill(0);
    /// assert_eq!(v, [0, 2, 3, 4, 5]);
    /// ```
    pub fn into_remainder(self) -> &'data mut [T] {
        self.rest
    }

    /// The elements before the first chunk, for as long as the iterator is not used otherwise.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut v = [1, 2, 3, 4, 5];
    /// let mut pairs = v.par_rchunks_exact_mut(2);
    /// pairs.remainder()[0] = 9;
    /// pairs.for_each(|pair| pair.reverse());
    /// assert_eq!(v, [9, 3, 2, 5, 4]);
    /// ```
    pub fn remainder(&mut self) -> &mut [T] {
        self.rest
    }

    /// The elements before the first chunk, once; leaves an empty slice in their place.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut v = [1, 2, 3, 4, 5];
    /// let mut pairs = v.par_rchunks_exact_mut(2);
    /// assert_eq!(pairs.take_remainder(), [1]);
    /// assert_eq!(pairs.take_remainder(), []);
    /// ```
    pub fn take_remainder(&mut self) -> &'data mut [T] {
        mem::take(&mut self.rest)
    }
}

indexed_source! {
    impl['data, T: Send] RChunksExactMut<'data, T>;
    type Item = &'data mut [T];
    fn len(&this) -> usize { this.slice.len() / this.size }
    fn producer(this) { RChunksExactMutProducer { size: this.size, slice: this.slice } }
}

struct RChunksExactMutProducer<'data, T> {
    size: usize,
    slice: &'data mut [T],
}

impl<'data, T: Send> Producer for RChunksExactMutProducer<'data, T> {
    type Item = &'data mut [T];
    type IntoIter = std::slice::RChunksExactMut<'data, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.slice.rchunks_exact_mut(self.size)
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let (right, left) = self.slice.split_at_mut(self.slice.len() - index * self.size);
        (RChunksExactMutProducer { slice: left, ..self }, RChunksExactMutProducer { slice: right, ..self })
    }
}
