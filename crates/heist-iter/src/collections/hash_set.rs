//! Parallel iterators for `HashSet`.
//!
//! The elements are gathered in a vector first, since the table cannot be cut; they come in no particular order.

use crate::iter::plumbing::UnindexedConsumer;
use crate::iter::{IntoParallelIterator, ParallelDrainFull, ParallelIterator};
use crate::vec;
use std::collections::HashSet;
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;

/// Yields the elements by value.
///
/// ```
/// use heist::prelude::*;
/// use std::collections::HashSet;
///
/// let set = HashSet::from([3, 1, 2]);
/// assert_eq!(set.into_par_iter().max(), Some(3));
/// ```
#[derive(Debug)]
pub struct IntoIter<T> {
    inner: vec::IntoIter<T>,
}

iterate_gathered! {
    impl[T: Hash + Eq + Send, S: BuildHasher] HashSet<T, S>;
    type Item = T;
    type Iter = IntoIter<T>;
}

iterate_inner! {
    impl[T: Send] IntoIter<T>;
    type Item = T;
}

/// Yields references to the elements.
///
/// ```
/// use heist::prelude::*;
/// use std::collections::HashSet;
///
/// let set = HashSet::from([3, 1, 2]);
/// assert_eq!(set.par_iter().sum::<i32>(), 6);
/// ```
#[derive(Debug)]
pub struct Iter<'a, T> {
    inner: vec::IntoIter<&'a T>,
}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Iter { inner: self.inner.clone() }
    }
}

iterate_gathered! {
    impl['a, T: Hash + Eq + Sync, S: BuildHasher] &'a HashSet<T, S>;
    type Item = &'a T;
    type Iter = Iter<'a, T>;
}

iterate_inner! {
    impl['a, T: Sync] Iter<'a, T>;
    type Item = &'a T;
}

impl<'a, T: Send, S> ParallelDrainFull for &'a mut HashSet<T, S> {
    type Iter = Drain<'a, T>;
    type Item = T;

    fn par_drain(self) -> Self::Iter {
        Drain { inner: Vec::from_iter(self.drain()).into_par_iter(), drained: PhantomData }
    }
}

/// Yields the elements by value, and leaves the set empty.
///
/// ```
/// use heist::prelude::*;
/// use std::collections::HashSet;
///
/// let mut set = HashSet::from([3, 1, 2]);
/// assert_eq!(set.par_drain().sum::<i32>(), 6);
/// assert!(set.is_empty());
/// ```
#[derive(Debug)]
pub struct Drain<'a, T> {
    inner: vec::IntoIter<T>,
    /// The collection stays borrowed, so that it may be drained lazily one day.
    drained: PhantomData<&'a mut HashSet<T>>,
}

iterate_inner! {
    impl[T: Send] Drain<'_, T>;
    type Item = T;
}
