//! How things become parallel iterators, and what parallel iterators become.

use super::ParallelIterator;
use std::ops::RangeBounds;

/// What can be turned into a parallel iterator.
///
/// Implemented by ranges, vectors, arrays, options, the standard collections, references to them, and by every parallel
/// iterator itself.
///
/// ```
/// use heist::prelude::*;
///
/// let doubled: Vec<i32> = vec![1, 2, 3].into_par_iter().map(|n| n * 2).collect();
/// assert_eq!(doubled, [2, 4, 6]);
/// ```
pub trait IntoParallelIterator {
    /// The iterator that it becomes.
    type Iter: ParallelIterator<Item = Self::Item>;

    /// What that iterator yields.
    type Item: Send;

    /// Turns `self` into a parallel iterator.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!((0..100u64).into_par_iter().sum::<u64>(), 4950);
    /// ```
    fn into_par_iter(self) -> Self::Iter;
}

impl<T: ParallelIterator> IntoParallelIterator for T {
    type Iter = T;
    type Item = T::Item;

    fn into_par_iter(self) -> T {
        self
    }
}

/// What can be iterated by shared reference.
///
/// Comes with `&I: IntoParallelIterator`, so nobody needs to implement it.
///
/// ```
/// use heist::prelude::*;
///
/// let gems = vec!["opal", "jade"];
/// assert!(gems.par_iter().all(|gem| gem.len() == 4));
/// ```
pub trait IntoParallelRefIterator<'data> {
    /// The iterator that it becomes.
    type Iter: ParallelIterator<Item = Self::Item>;

    /// What that iterator yields: usually `&'data T`.
    type Item: Send + 'data;

    /// Iterates by shared reference.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!([3, 1, 2].par_iter().max(), Some(&3));
    /// ```
    fn par_iter(&'data self) -> Self::Iter;
}

impl<'data, I: 'data + ?Sized> IntoParallelRefIterator<'data> for I
where
    &'data I: IntoParallelIterator,
{
    type Iter = <&'data I as IntoParallelIterator>::Iter;
    type Item = <&'data I as IntoParallelIterator>::Item;

    fn par_iter(&'data self) -> Self::Iter {
        self.into_par_iter()
    }
}

/// What can be iterated by exclusive reference.
///
/// Comes with `&mut I: IntoParallelIterator`, so nobody needs to implement it.
///
/// ```
/// use heist::prelude::*;
///
/// let mut loot = [1, 2, 3];
/// loot.par_iter_mut().for_each(|coin| *coin *= 10);
/// assert_eq!(loot, [10, 20, 30]);
/// ```
pub trait IntoParallelRefMutIterator<'data> {
    /// The iterator that it becomes.
    type Iter: ParallelIterator<Item = Self::Item>;

    /// What that iterator yields: usually `&'data mut T`.
    type Item: Send + 'data;

    /// Iterates by exclusive reference.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut names = vec![String::from("ada"), String::from("bob")];
    /// names.par_iter_mut().for_each(|name| name.make_ascii_uppercase());
    /// assert_eq!(names, ["ADA", "BOB"]);
    /// ```
    fn par_iter_mut(&'data mut self) -> Self::Iter;
}

impl<'data, I: 'data + ?Sized> IntoParallelRefMutIterator<'data> for I
where
    &'data mut I: IntoParallelIterator,
{
    type Iter = <&'data mut I as IntoParallelIterator>::Iter;
    type Item = <&'data mut I as IntoParallelIterator>::Item;

    fn par_iter_mut(&'data mut self) -> Self::Iter {
        self.into_par_iter()
    }
}

/// What a parallel iterator can be [collected](ParallelIterator::collect) into.
///
/// The simplest implementation folds small collections and merges them:
///
/// ```
/// use heist::prelude::*;
///
/// struct Bag(Vec<u32>);
/// impl FromParallelIterator<u32> for Bag {
///     fn from_par_iter<I: IntoParallelIterator<Item = u32>>(par_iter: I) -> Self {
///         Bag(par_iter.into_par_iter().collect())
///     }
/// }
/// let bag: Bag = (0..5).into_par_iter().collect();
/// assert_eq!(bag.0.len(), 5);
/// ```
pub trait FromParallelIterator<T>
where
    T: Send,
{
    /// Makes a collection of all items.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let v = Vec::from_par_iter(0..3);
    /// assert_eq!(v, [0, 1, 2]);
    /// ```
    fn from_par_iter<I>(par_iter: I) -> Self
    where
        I: IntoParallelIterator<Item = T>;
}

/// What can take the items of a parallel iterator in addition to its own.
///
/// ```
/// use heist::prelude::*;
///
/// let mut v = vec![7];
/// v.par_extend(0..3);
/// assert_eq!(v, [7, 0, 1, 2]);
/// ```
pub trait ParallelExtend<T>
where
    T: Send,
{
    /// Adds all items.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut text = String::from("ab");
    /// text.par_extend(['c', 'd']);
    /// assert_eq!(text, "abcd");
    /// ```
    fn par_extend<I>(&mut self, par_iter: I)
    where
        I: IntoParallelIterator<Item = T>;
}

/// Collections whose items can all be moved out while the allocation stays.
///
/// ```
/// use heist::prelude::*;
/// use std::collections::HashSet;
///
/// let mut set: HashSet<u32> = (0..10).collect();
/// let sum: u32 = set.par_drain().sum();
/// assert_eq!((sum, set.len()), (45, 0));
/// ```
pub trait ParallelDrainFull {
    /// The draining iterator.
    type Iter: ParallelIterator<Item = Self::Item>;

    /// What it yields.
    type Item: Send;

    /// Moves all items out, even those that are not consumed.
    ///
    /// ```
    /// use heist::prelude::*;
    /// use std::collections::BinaryHeap;
    ///
    /// let mut heap = BinaryHeap::from([1, 5, 2]);
    /// assert_eq!(heap.par_drain().max(), Some(5));
    /// assert!(heap.is_empty());
    /// ```
    fn par_drain(self) -> Self::Iter;
}

/// Sequences of which a range of items can be moved out.
///
/// ```
/// use heist::prelude::*;
///
/// let mut v: Vec<u32> = (0..6).collect();
/// let middle: Vec<u32> = v.par_drain(2..4).collect();
/// assert_eq!((middle, v), (vec![2, 3], vec![0, 1, 4, 5]));
/// ```
pub trait ParallelDrainRange<Idx = usize> {
    /// The draining iterator.
    type Iter: ParallelIterator<Item = Self::Item>;

    /// What it yields.
    type Item: Send;

    /// Moves the items of `range` out, even those that are not consumed, and closes the gap.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut v = vec!['a', 'b', 'c'];
    /// v.par_drain(..1).for_each(drop);
    /// assert_eq!(v, ['b', 'c']);
    /// ```
    fn par_drain<R: RangeBounds<Idx>>(self, range: R) -> Self::Iter;
}
