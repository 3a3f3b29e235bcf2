//! Parallel iterators for `BTreeSet`.
//!
//! The elements are gathered in a vector first, since the collection cannot be cut; their order is that of the
//! collection.

use crate::iter::plumbing::UnindexedConsumer;
use crate::iter::{IntoParallelIterator, ParallelIterator};
use crate::vec;
use std::collections::BTreeSet;

/// Yields the elements by value, in their order.
///
/// ```
/// use heist::prelude::*;
/// use std::collections::BTreeSet;
///
/// let set = BTreeSet::from([3, 1, 2]);
/// assert_eq!(set.into_par_iter().map(|n| n * 10).collect::<Vec<_>>(), [10, 20, 30]);
/// ```
#[derive(Debug)]
pub struct IntoIter<T> {
    inner: vec::IntoIter<T>,
}

iterate_gathered! {
    impl[T: Ord + Send] BTreeSet<T>;
    type Item = T;
    type Iter = IntoIter<T>;
}

iterate_inner! {
    impl[T: Send] IntoIter<T>;
    type Item = T;
}

/// Yields references to the elements, in their order.
///
/// ```
/// use heist::prelude::*;
/// use std::collections::BTreeSet;
///
/// let set = BTreeSet::from([3, 1, 2]);
/// assert_eq!(set.par_iter().collect::<Vec<_>>(), [&1, &2, &3]);
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
    impl['a, T: Ord + Sync] &'a BTreeSet<T>;
    type Item = &'a T;
    type Iter = Iter<'a, T>;
}

iterate_inner! {
    impl['a, T: Sync] Iter<'a, T>;
    type Item = &'a T;
}
