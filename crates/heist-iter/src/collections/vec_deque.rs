//! Parallel iterators for `VecDeque`, from front to back.

use super::lent_vec::LentVec;
use crate::iter::plumbing::{Consumer, ProducerCallback, UnindexedConsumer, bridge, bridge_lazily};
use crate::iter::{
    Chain, IndexedParallelIterator, IntoParallelIterator, ParallelDrainRange, ParallelIterator,
};
use crate::{slice, vec};
use std::collections::VecDeque;
use std::ops::{Range, RangeBounds};

/// Yields the elements by value.
///
/// ```
/// use heist::prelude::*;
/// use std::collections::VecDeque;
///
/// let queue = VecDeque::from([1, 2, 3]);
/// assert_eq!(queue.into_par_iter().rev().collect::<Vec<_>>(), [3, 2, 1]);
/// ```
#[derive(Debug, Clone)]
pub struct IntoIter<T: Send> {
    inner: vec::IntoIter<T>,
}

impl<T: Send> IntoParallelIterator for VecDeque<T> {
    type Item = T;
    type Iter = IntoIter<T>;

    fn into_par_iter(self) -> Self::Iter {
        IntoIter { inner: Vec::from(self).into_par_iter() }
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
/// use std::collections::VecDeque;
///
/// let mut queue = VecDeque::from([1, 2, 3]);
/// queue.rotate_left(1);
/// assert_eq!(queue.par_iter().collect::<Vec<_>>(), [&2, &3, &1]);
/// ```
#[derive(Debug)]
pub struct Iter<'a, T> {
    inner: Chain<slice::Iter<'a, T>, slice::Iter<'a, T>>,
}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Iter { inner: self.inner.clone() }
    }
}

impl<'a, T: Sync> IntoParallelIterator for &'a VecDeque<T> {
    type Item = &'a T;
    type Iter = Iter<'a, T>;

    fn into_par_iter(self) -> Self::Iter {
        let (front, back) = self.as_slices();
        Iter { inner: front.into_par_iter().chain(back) }
    }
}

iterate_indexed_inner! {
    impl['a, T: Sync] Iter<'a, T>;
    type Item = &'a T;
}

/// Yields exclusive references to the elements.
///
/// ```
/// use heist::prelude::*;
/// use std::collections::VecDeque;
///
/// let mut queue = VecDeque::from([1, 2, 3]);
/// queue.par_iter_mut().for_each(|n| *n *= 2);
/// assert_eq!(queue, [2, 4, 6]);
/// ```
#[derive(Debug)]
pub struct IterMut<'a, T> {
    inner: Chain<slice::IterMut<'a, T>, slice::IterMut<'a, T>>,
}

impl<'a, T: Send> IntoParallelIterator for &'a mut VecDeque<T> {
    type Item = &'a mut T;
    type Iter = IterMut<'a, T>;

    fn into_par_iter(self) -> Self::Iter {
        let (front, back) = self.as_mut_slices();
        IterMut { inner: front.into_par_iter().chain(back) }
    }
}

iterate_indexed_inner! {
    impl['a, T: Send] IterMut<'a, T>;
    type Item = &'a mut T;
}

impl<'a, T: Send> ParallelDrainRange<usize> for &'a mut VecDeque<T> {
    type Iter = Drain<'a, T>;
    type Item = T;

    fn par_drain<R: RangeBounds<usize>>(self, range: R) -> Self::Iter {
        Drain { range: slice::resolve_range(range, self.len()), queue: self }
    }
}

/// Moves a range of elements out of a queue, and closes the gap.
///
/// ```
/// use heist::prelude::*;
/// use std::collections::VecDeque;
///
/// let mut queue = VecDeque::from([1, 2, 3, 4]);
/// assert_eq!(queue.par_drain(1..3).sum::<i32>(), 5);
/// assert_eq!(queue, [1, 4]);
/// ```
#[derive(Debug)]
pub struct Drain<'a, T> {
    queue: &'a mut VecDeque<T>,
    /// Elements to be moved out; empty once a producer has them.
    range: Range<usize>,
}

impl<T: Send> ParallelIterator for Drain<'_, T> {
    type Item = T;
    const IS_COUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<T>>(self, consumer: C) -> C::Result {
        bridge_lazily(self, consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.len())
    }
}

impl<T: Send> IndexedParallelIterator for Drain<'_, T> {
    fn len(&self) -> usize {
        self.range.len()
    }

    fn drive<C: Consumer<T>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn with_producer<CB: ProducerCallback<T>>(mut self, callback: CB) -> CB::Output {
        let range = std::mem::replace(&mut self.range, 0..0);
        let mut lent = LentVec::new(self.queue, Vec::from);
        lent.vec.par_drain(range).with_producer(callback)
    }
}

impl<T> Drop for Drain<'_, T> {
    fn drop(&mut self) {
        self.queue.drain(self.range.clone());
    }
}
