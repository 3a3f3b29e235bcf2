//! Parallel iterators for `BTreeMap`.
//!
//! The elements are gathered in a vector first, since the collection cannot be cut; their order is that of the
//! collection.

use crate::iter::plumbing::UnindexedConsumer;
use crate::iter::{IntoParallelIterator, ParallelIterator};
use crate::vec;
use std::collections::BTreeMap;

/// Yields keys and values by value, in the order of the keys.
///
/// ```
/// use heist::prelude::*;
/// use std::collections::BTreeMap;
///
/// let ages = BTreeMap::from([("ann", 30), ("bob", 20)]);
/// let (names, sum) = ages.into_par_iter().map(|(name, age)| (name.len(), age)).reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
/// assert_eq!((names, sum), (6, 50));
/// ```
#[derive(Debug)]
pub struct IntoIter<K, V> {
    inner: vec::IntoIter<(K, V)>,
}

iterate_gathered! {
    impl[K: Ord + Send, V: Send] BTreeMap<K, V>;
    type Item = (K, V);
    type Iter = IntoIter<K, V>;
}

iterate_inner! {
    impl[K: Send, V: Send] IntoIter<K, V>;
    type Item = (K, V);
}

/// Yields references to keys and values, in the order of the keys.
///
/// ```
/// use heist::prelude::*;
/// use std::collections::BTreeMap;
///
/// let ages = BTreeMap::from([("ann", 30), ("bob", 20)]);
/// assert_eq!(ages.par_iter().map(|(_, age)| age).sum::<i32>(), 50);
/// ```
#[derive(Debug)]
pub struct Iter<'a, K, V> {
    inner: vec::IntoIter<(&'a K, &'a V)>,
}

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Iter { inner: self.inner.clone() }
    }
}

iterate_gathered! {
    impl['a, K: Ord + Sync, V: Sync] &'a BTreeMap<K, V>;
    type Item = (&'a K, &'a V);
    type Iter = Iter<'a, K, V>;
}

iterate_inner! {
    impl['a, K: Sync, V: Sync] Iter<'a, K, V>;
    type Item = (&'a K, &'a V);
}

/// Yields references to keys and exclusive ones to values, in the order of the keys.
///
/// ```
/// use heist::prelude::*;
/// use std::collections::BTreeMap;
///
/// let mut ages = BTreeMap::from([("ann", 30), ("bob", 20)]);
/// ages.par_iter_mut().for_each(|(_, age)| *age += 1);
/// assert_eq!(ages["bob"], 21);
/// ```
#[derive(Debug)]
pub struct IterMut<'a, K, V> {
    inner: vec::IntoIter<(&'a K, &'a mut V)>,
}

iterate_gathered! {
    impl['a, K: Ord + Sync, V: Send] &'a mut BTreeMap<K, V>;
    type Item = (&'a K, &'a mut V);
    type Iter = IterMut<'a, K, V>;
}

iterate_inner! {
    impl['a, K: Sync, V: Send] IterMut<'a, K, V>;
    type Item = (&'a K, &'a mut V);
}
