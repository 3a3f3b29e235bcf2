//! Parallel iterators for `HashMap`.
//!
//! The elements are gathered in a vector first, since the table cannot be cut; they come in no particular order.

use crate::iter::plumbing::UnindexedConsumer;
use crate::iter::{IntoParallelIterator, ParallelDrainFull, ParallelIterator};
use crate::vec;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;

/// Yields keys and values by value.
///
/// ```
/// use heist::prelude::*;
/// use std::collections::HashMap;
///
/// let stock = HashMap::from([("bolt", 5), ("nut", 7)]);
/// assert_eq!(stock.into_par_iter().map(|(_, count)| count).sum::<i32>(), 12);
/// ```
#[derive(Debug)]
pub struct IntoIter<K, V> {
    inner: vec::IntoIter<(K, V)>,
}

iterate_gathered! {
    impl[K: Hash + Eq + Send, V: Send, S: BuildHasher] HashMap<K, V, S>;
    type Item = (K, V);
    type Iter = IntoIter<K, V>;
}

iterate_inner! {
    impl[K: Send, V: Send] IntoIter<K, V>;
    type Item = (K, V);
}

/// Yields references to keys and values.
///
/// ```
/// use heist::prelude::*;
/// use std::collections::HashMap;
///
/// let stock = HashMap::from([("bolt", 5), ("nut", 7)]);
/// assert_eq!(stock.par_iter().max_by_key(|(_, count)| **count), Some((&"nut", &7)));
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
    impl['a, K: Hash + Eq + Sync, V: Sync, S: BuildHasher] &'a HashMap<K, V, S>;
    type Item = (&'a K, &'a V);
    type Iter = Iter<'a, K, V>;
}

iterate_inner! {
    impl['a, K: Sync, V: Sync] Iter<'a, K, V>;
    type Item = (&'a K, &'a V);
}

/// Yields references to keys and exclusive ones to values.
///
/// ```
/// use heist::prelude::*;
/// use std::collections::HashMap;
///
/// let mut stock = HashMap::from([("bolt", 5), ("nut", 7)]);
/// stock.par_iter_mut().for_each(|(_, count)| *count -= 1);
/// assert_eq!((stock["bolt"], stock["nut"]), (4, 6));
/// ```
#[derive(Debug)]
pub struct IterMut<'a, K, V> {
    inner: vec::IntoIter<(&'a K, &'a mut V)>,
}

iterate_gathered! {
    impl['a, K: Hash + Eq + Sync, V: Send, S: BuildHasher] &'a mut HashMap<K, V, S>;
    type Item = (&'a K, &'a mut V);
    type Iter = IterMut<'a, K, V>;
}

iterate_inner! {
    impl['a, K: Sync, V: Send] IterMut<'a, K, V>;
    type Item = (&'a K, &'a mut V);
}

impl<'a, K: Send, V: Send, S> ParallelDrainFull for &'a mut HashMap<K, V, S> {
    type Iter = Drain<'a, K, V>;
    type Item = (K, V);

    fn par_drain(self) -> Self::Iter {
        Drain { inner: Vec::from_iter(self.drain()).into_par_iter(), drained: PhantomData }
    }
}

/// Yields keys and values by value, and leaves the map empty.
///
/// ```
/// use heist::prelude::*;
/// use std::collections::HashMap;
///
/// let mut stock = HashMap::from([("bolt", 5), ("nut", 7)]);
/// assert_eq!(stock.par_drain().map(|(_, count)| count).sum::<i32>(), 12);
/// assert!(stock.is_empty());
/// ```
#[derive(Debug)]
pub struct Drain<'a, K, V> {
    inner: vec::IntoIter<(K, V)>,
    /// The collection stays borrowed, so that it may be drained lazily one day.
    drained: PhantomData<&'a mut HashMap<K, V>>,
}

iterate_inner! {
    impl[K: Send, V: Send] Drain<'_, K, V>;
    type Item = (K, V);
}
