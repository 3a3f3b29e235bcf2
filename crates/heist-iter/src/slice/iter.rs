//! Element by element.

use crate::iter::plumbing::{Consumer, Producer, ProducerCallback, UnindexedConsumer, bridge, bridge_lazily};
use crate::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

impl<'data, T: Sync> IntoParallelIterator for &'data [T] {
    type Item = &'data T;
    type Iter = Iter<'data, T>;

    fn into_par_iter(self) -> Self::Iter {
        Iter { slice: self }
    }
}

impl<'data, T: Sync> IntoParallelIterator for &'data Box<[T]> {
    type Item = &'data T;
    type Iter = Iter<'data, T>;

    fn into_par_iter(self) -> Self::Iter {
        Iter { slice: self }
    }
}

impl<'data, T: Send> IntoParallelIterator for &'data mut [T] {
    type Item = &'data mut T;
    type Iter = IterMut<'data, T>;

    fn into_par_iter(self) -> Self::Iter {
        IterMut { slice: self }
    }
}

impl<'data, T: Send> IntoParallelIterator for &'data mut Box<[T]> {
    type Item = &'data mut T;
    type Iter = IterMut<'data, T>;

    fn into_par_iter(self) -> Self::Iter {
        IterMut { slice: self }
    }
}

/// Yields a shared reference to every element.
///
/// ```
/// use heist::prelude::*;
///
/// assert_eq!([2, 3, 5, 7].par_iter().sum::<i32>(), 17);
/// ```
#[derive(Debug)]
pub struct Iter<'data, T> {
    slice: &'data [T],
}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Iter { ..*self }
    }
}

indexed_source! {
    impl['data, T: Sync] Iter<'data, T>;
    type Item = &'data T;
    fn len(&this) -> usize { this.slice.len() }
    fn producer(this) { IterProducer { slice: this.slice } }
}

struct IterProducer<'data, T> {
    slice: &'data [T],
}

impl<'data, T: Sync> Producer for IterProducer<'data, T> {
    type Item = &'data T;
    type IntoIter = std::slice::Iter<'data, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.slice.iter()
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let (left, right) = self.slice.split_at(index);
        (IterProducer { slice: left }, IterProducer { slice: right })
    }
}

/// Yields an exclusive reference to every element.
///
/// ```
/// use heist::prelude::*;
///
/// let mut prices = [10, 20, 30];
/// prices.par_iter_mut().for_each(|price| *price /= 2);
/// assert_eq!(prices, [5, 10, 15]);
/// ```
#[derive(Debug)]
pub struct IterMut<'data, T> {
    slice: &'data mut [T],
}

indexed_source! {
    impl['data, T: Send] IterMut<'data, T>;
    type Item = &'data mut T;
    fn len(&this) -> usize { this.slice.len() }
    fn producer(this) { IterMutProducer { slice: this.slice } }
}

struct IterMutProducer<'data, T> {
    slice: &'data mut [T],
}

impl<'data, T: Send> Producer for IterMutProducer<'data, T> {
    type Item = &'data mut T;
    type IntoIter = std::slice::IterMut<'data, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.slice.iter_mut()
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let (left, right) = self.slice.split_at_mut(index);
        (IterMutProducer { slice: left }, IterMutProducer { slice: right })
    }
}
