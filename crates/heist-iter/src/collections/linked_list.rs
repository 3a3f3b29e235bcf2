//! Parallel iterators for `LinkedList`.
//!
//! The elements are gathered in a vector first, since the collection cannot be cut; their order is that of the
//! collection.

use crate::iter::plumbing::UnindexedConsumer;
use crate::iter::{IntoParallelIterator, ParallelIterator};
use crate::vec;
use std::collections::LinkedList;

/// Yields the elements by value, from front to back.
///
/// ```
/// use heist::prelude::*;
/// use std::collections::LinkedList;
///
/// let list = LinkedList::from([1, 2, 3]);
/// assert_eq!(list.into_par_iter().map(|n| n * n).collect::<Vec<_>>(), [1, 4, 9]);
/// ```
#[derive(Debug, Clone)]
pub struct IntoIter<T> {
    inner: vec::IntoIter<T>,
}

iterate_gathered! {
    impl[T: Send] LinkedList<T>;
    type Item = T;
    type Iter = IntoIter<T>;
}

iterate_inner! {
    impl[T: Send] IntoIter<T>;
    type Item = T;
}

/// Yields references to the elements, from front to back.
///
/// ```
/// use heist::prelude::*;
/// use std::collections::LinkedList;
///
/// let list = LinkedList::from([1, 2, 3]);
/// assert_eq!(list.par_iter().sum::<i32>(), 6);
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
    impl['a, T: Sync] &'a LinkedList<T>;
    type Item = &'a T;
    type Iter = Iter<'a, T>;
}

iterate_inner! {
    impl['a, T: Sync] Iter<'a, T>;
    type Item = &'a T;
}

/// Yields exclusive references to the elements, from front to back.
///
/// ```
/// use heist::prelude::*;
/// use std::collections::LinkedList;
///
/// let mut list = LinkedList::from([1, 2, 3]);
/// list.par_iter_mut().for_each(|n| *n *= 2);
/// assert_eq!(list.into_iter().collect::<Vec<_>>(), [2, 4, 6]);
/// ```
#[derive(Debug)]
pub struct IterMut<'a, T> {
    inner: vec::IntoIter<&'a mut T>,
}

iterate_gathered! {
    impl['a, T: Send] &'a mut LinkedList<T>;
    type Item = &'a mut T;
    type Iter = IterMut<'a, T>;
}

iterate_inner! {
    impl['a, T: Send] IterMut<'a, T>;
    type Item = &'a mut T;
}
