//! Parallel iterators for `BinaryHeap`.
//!
//! The elements come in the heap's own order, which is neither ascending nor descending.

use super::lent_vec::LentVec;
use crate::iter::plumbing::{Consumer, ProducerCallback, UnindexedConsumer, bridge, bridge_lazily};
use crate::iter::{
    IndexedParallelIterator, IntoParallelIterator, ParallelDrainFull, ParallelDrainRange, ParallelIterator,
};
use crate::{slice, vec};
use std::collections::BinaryHeap;

/// Yields the elements by value.
///
/// ```
/// use heist::prelude::*;
/// use std::collections::BinaryHeap;
///
/// let heap = BinaryHeap::from([3, 1, 2]);
/// assert_eq!(heap.into_par_iter().sum::<i32>(), 6);
/// ```
#[derive(Debug, Clone)]
pub struct IntoIter<T> {
    inner: vec::IntoIter<T>,
}

impl<T: Send> IntoParallelIterator for BinaryHeap<T> {
    type Item = T;
    type Iter = IntoIter<T>;

    fn into_par_iter(self) -> Self::Iter {
        IntoIter { inner: self.into_vec().into_par_iter() }
    }
}

iterate_indexed_inner! {
    impl[T: Send] IntoIter<T>;
    type Item = T;
}

/// Yields references to the elements.
///
/// ```
/// use heist::prelude::*;
/// use std::collections::BinaryHeap;
///
/// let heap = BinaryHeap::from([3, 1, 2]);
/// assert!(heap.par_iter().any(|&n| n == 1));
/// ```
#[derive(Debug)]
pub struct Iter<'a, T> {
    inner: slice::Iter<'a, T>,
}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Iter { inner: self.inner.clone() }
    }
}

impl<'a, T: Sync> IntoParallelIterator for &'a BinaryHeap<T> {
    type Item = &'a T;
    type Iter = Iter<'a, T>;

    fn into_par_iter(self) -> Self::Iter {
        Iter { inner: self.as_slice().into_par_iter() }
    }
}

iterate_indexed_inner! {
    impl['a, T: Sync] Iter<'a, T>;
    type Item = &'a T;
}

impl<'a, T: Ord + Send> ParallelDrainFull for &'a mut BinaryHeap<T> {
    type Iter = Drain<'a, T>;
    type Item = T;

    fn par_drain(self) -> Self::Iter {
        Drain { heap: self }
    }
}

/// Yields the elements by value, and leaves the heap empty.
///
/// ```
/// use heist::prelude::*;
/// use std::collections::BinaryHeap;
///
/// let mut heap = BinaryHeap::from([3, 1, 2]);
/// assert_eq!(heap.par_drain().min(), Some(1));
/// assert!(heap.is_empty());
/// ```
#[derive(Debug)]
pub struct Drain<'a, T> {
    heap: &'a mut BinaryHeap<T>,
}

impl<T: Ord + Send> ParallelIterator for Drain<'_, T> {
    type Item = T;
    const IS_COUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<T>>(self, consumer: C) -> C::Result {
        bridge_lazily(self, consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.len())
    }
}

impl<T: Ord + Send> IndexedParallelIterator for Drain<'_, T> {
    fn len(&self) -> usize {
        self.heap.len()
    }

    fn drive<C: Consumer<T>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn with_producer<CB: ProducerCallback<T>>(self, callback: CB) -> CB::Output {
        let mut lent = LentVec::new(self.heap, BinaryHeap::into_vec);
        lent.vec.par_drain(..).with_producer(callback)
    }
}

impl<T> Drop for Drain<'_, T> {
    fn drop(&mut self) {
        // Empty already if a producer took the elements.
        self.heap.clear();
    }
}
