//! Arrays as parallel iterators.
//!
//! ```
//! use heist::prelude::*;
//!
//! let lengths: Vec<_> = [String::from("a"), String::from("bc")].into_par_iter().map(|s| s.len()).collect();
//! assert_eq!(lengths, [1, 2]);
//! ```

use crate::iter::plumbing::{Consumer, ProducerCallback, UnindexedConsumer, bridge, bridge_lazily};
use crate::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use crate::slice::{Iter, IterMut};
use crate::vec::OwningProducer;
use std::mem::ManuallyDrop;

impl<'data, T: Sync, const N: usize> IntoParallelIterator for &'data [T; N] {
    type Item = &'data T;
    type Iter = Iter<'data, T>;

    fn into_par_iter(self) -> Self::Iter {
        self.as_slice().into_par_iter()
    }
}

impl<'data, T: Send, const N: usize> IntoParallelIterator for &'data mut [T; N] {
    type Item = &'data mut T;
    type Iter = IterMut<'data, T>;

    fn into_par_iter(self) -> Self::Iter {
        self.as_mut_slice().into_par_iter()
    }
}

impl<T: Send, const N: usize> IntoParallelIterator for [T; N] {
    type Item = T;
    type Iter = IntoIter<T, N>;

    fn into_par_iter(self) -> Self::Iter {
        IntoIter { array: self }
    }
}

/// The elements of an array, by value.
///
/// ```
/// # use heist::prelude::*;
/// assert_eq!([1, 2, 3].into_par_iter().rev().collect::<Vec<_>>(), [3, 2, 1]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct IntoIter<T, const N: usize> {
    array: [T; N],
}

impl<T: Send, const N: usize> ParallelIterator for IntoIter<T, N> {
    type Item = T;
    const IS_COUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<T>>(self, consumer: C) -> C::Result {
        bridge_lazily(self, consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(N)
    }
}

impl<T: Send, const N: usize> IndexedParallelIterator for IntoIter<T, N> {
    fn drive<C: Consumer<T>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn len(&self) -> usize {
        N
    }

    fn with_producer<CB: ProducerCallback<T>>(self, callback: CB) -> CB::Output {
        let mut array = ManuallyDrop::new(self.array);
        // SAFETY: the array will not drop its elements, nobody else uses them, and its memory outlives the callback.
        let producer = unsafe { OwningProducer::new(array.as_mut_slice()) };
        callback.callback(producer)
    }
}
