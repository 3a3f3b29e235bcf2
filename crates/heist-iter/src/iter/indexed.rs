//! The trait of parallel iterators that know how many items they have, and in which order.

use super::plumbing::{Consumer, ProducerCallback};
use super::*;
use std::cmp::Ordering;

/// A parallel iterator with a known number of items that can be addressed by index.
///
/// ```
/// use heist::prelude::*;
///
/// let v: Vec<_> = [10, 20, 30].par_iter().enumerate().rev().collect();
/// assert_eq!(v, [(2, &30), (1, &20), (0, &10)]);
/// ```
#[allow(clippy::len_without_is_empty)]
pub trait IndexedParallelIterator: ParallelIterator {
    /// Runs the loop as a sequence of parallel blocks, each twice as long as the one before.
    ///
    /// A search then looks at the front first, and does not go on when it has found something there.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert_eq!((0..100_000).into_par_iter().by_exponential_blocks().find_first(|n| *n == 5), Some(5));
    /// ```
    fn by_exponential_blocks(self) -> ExponentialBlocks<Self> {
        ExponentialBlocks::new(self)
    }

    /// Runs the loop as a sequence of parallel blocks of `block_size` items each.
    ///
    /// # Panics
    ///
    /// If `block_size` is 0.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let v: Vec<_> = (0..10).into_par_iter().by_uniform_blocks(4).map(|n| n + 1).collect();
    /// assert_eq!(v.len(), 10);
    /// ```
    #[track_caller]
    fn by_uniform_blocks(self, block_size: usize) -> UniformBlocks<Self> {
        assert!(block_size != 0, "block_size must not be zero");
        UniformBlocks::new(self, block_size)
    }

    /// Puts the items into `target` in place of what is there, and keeps its allocation if it is large enough.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let mut v = vec![9; 100];
    /// (0..3).into_par_iter().collect_into_vec(&mut v);
    /// assert_eq!(v, [0, 1, 2]);
    /// ```
    fn collect_into_vec(self, target: &mut Vec<Self::Item>) {
        collect::collect_into_vec(self, target);
    }

    /// Puts the halves of pairs into two vectors in place of what is there, and keeps their allocations if they are
    /// large enough.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let (mut a, mut b) = (Vec::new(), Vec::new());
    /// (0..3).into_par_iter().map(|n| (n, n + 10)).unzip_into_vecs(&mut a, &mut b);
    /// assert_eq!((a, b), (vec![0, 1, 2], vec![10, 11, 12]));
    /// ```
    fn unzip_into_vecs<A, B>(self, left: &mut Vec<A>, right: &mut Vec<B>)
    where
        Self: IndexedParallelIterator<Item = (A, B)>,
        A: Send,
        B: Send,
    {
        collect::unzip_into_vecs(self, left, right);
    }

    /// Pairs the items with those of `zip_op`, as many as both have.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let v: Vec<_> = (1..4).into_par_iter().zip(["a", "b"]).collect();
    /// assert_eq!(v, [(1, "a"), (2, "b")]);
    /// ```
    fn zip<Z>(self, zip_op: Z) -> Zip<Self, Z::Iter>
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
    {
        Zip::new(self, zip_op.into_par_iter())
    }

    /// Pairs the items with those of `zip_op`, which must be as many.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let dot: i32 = [1, 2].par_iter().zip_eq(&[3, 4]).map(|(a, b)| a * b).sum();
    /// assert_eq!(dot, 11);
    /// ```
    #[track_caller]
    fn zip_eq<Z>(self, zip_op: Z) -> ZipEq<Self, Z::Iter>
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
    {
        let other = zip_op.into_par_iter();
        assert_eq!(self.len(), other.len(), "iterators must have the same length");
        ZipEq::new(self, other)
    }

    /// Takes turns with `other`; once one has ended, the rest of the other one follows.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let v: Vec<_> = vec![1, 2].into_par_iter().interleave(vec![7, 8, 9]).collect();
    /// assert_eq!(v, [1, 7, 2, 8, 9]);
    /// ```
    fn interleave<I>(self, other: I) -> Interleave<Self, I::Iter>
    where
        I: IntoParallelIterator<Item = Self::Item, Iter: IndexedParallelIterator>,
    {
        Interleave::new(self, other.into_par_iter())
    }

    /// Takes turns with `other` until the one whose turn it is has ended.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let v: Vec<_> = vec![1, 2, 3, 4].into_par_iter().interleave_shortest(vec![8, 9]).collect();
    /// assert_eq!(v, [1, 8, 2, 9, 3]);
    /// ```
    fn interleave_shortest<I>(self, other: I) -> InterleaveShortest<Self, I::Iter>
    where
        I: IntoParallelIterator<Item = Self::Item, Iter: IndexedParallelIterator>,
    {
        InterleaveShortest::new(self, other.into_par_iter())
    }

    /// Groups the items into vectors of `chunk_size`, the last one perhaps shorter.
    ///
    /// For slices [`par_chunks`](crate::slice::ParallelSlice::par_chunks) does so without moving anything.
    ///
    /// # Panics
    ///
    /// If `chunk_size` is 0.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let v: Vec<_> = (0..5).into_par_iter().chunks(2).collect();
    /// assert_eq!(v, [vec![0, 1], vec![2, 3], vec![4]]);
    /// ```
    #[track_caller]
    fn chunks(self, chunk_size: usize) -> Chunks<Self> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        Chunks::new(self, chunk_size)
    }

    /// Folds every `chunk_size` items into a value, and yields these values.
    ///
    /// # Panics
    ///
    /// If `chunk_size` is 0.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let v: Vec<u32> = (0..5u32).into_par_iter().fold_chunks(2, || 0, |sum, n| sum + n).collect();
    /// assert_eq!(v, [1, 5, 4]);
    /// ```
    #[track_caller]
    fn fold_chunks<T, ID, F>(self, chunk_size: usize, identity: ID, fold_op: F) -> FoldChunks<Self, ID, F>
    where
        ID: Fn() -> T + Send + Sync,
        F: Fn(T, Self::Item) -> T + Send + Sync,
        T: Send,
    {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        FoldChunks::new(self, chunk_size, identity, fold_op)
    }

    /// [`fold_chunks`](Self::fold_chunks) that begins with a clone of `init`.
    ///
    /// # Panics
    ///
    /// If `chunk_size` is 0.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let v: Vec<u32> = (0..5u32).into_par_iter().fold_chunks_with(2, 100, |sum, n| sum + n).collect();
    /// assert_eq!(v, [101, 105, 104]);
    /// ```
    #[track_caller]
    fn fold_chunks_with<T, F>(self, chunk_size: usize, init: T, fold_op: F) -> FoldChunksWith<Self, T, F>
    where
        T: Send + Clone,
        F: Fn(T, Self::Item) -> T + Send + Sync,
    {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        FoldChunksWith::new(self, chunk_size, init, fold_op)
    }

    /// Compares with `other` in dictionary order. Stops soon after the first difference.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// use std::cmp::Ordering;
    /// assert_eq!([1, 2].par_iter().cmp(&[1, 3]), Ordering::Less);
    /// ```
    fn cmp<I>(self, other: I) -> Ordering
    where
        I: IntoParallelIterator<Item = Self::Item, Iter: IndexedParallelIterator>,
        Self::Item: Ord,
    {
        let other = other.into_par_iter();
        let by_len = self.len().cmp(&other.len());
        self.zip(other).map(|(a, b)| a.cmp(&b)).find_first(|order| order.is_ne()).unwrap_or(by_len)
    }

    /// Compares with `other` in dictionary order; `None` if the first difference cannot be compared.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert_eq!([1.0, f64::NAN].par_iter().partial_cmp(&[1.0, 2.0]), None);
    /// ```
    fn partial_cmp<I>(self, other: I) -> Option<Ordering>
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        let other = other.into_par_iter();
        let by_len = self.len().cmp(&other.len());
        self.zip(other)
            .map(|(a, b)| a.partial_cmp(&b))
            .find_first(|order| *order != Some(Ordering::Equal))
            .unwrap_or(Some(by_len))
    }

    /// Whether both have the same number of items, and all are equal.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert!([1, 2].par_iter().eq(&vec![1, 2]));
    /// ```
    fn eq<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialEq<I::Item>,
    {
        let other = other.into_par_iter();
        self.len() == other.len() && self.zip(other).all(|(a, b)| a.eq(&b))
    }

    /// Whether the numbers of items or any two items differ.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert!([1, 2].par_iter().ne(&vec![1, 3]));
    /// ```
    fn ne<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialEq<I::Item>,
    {
        !self.eq(other)
    }

    /// Whether it comes before `other` in dictionary order.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert!([1, 2].par_iter().lt(&vec![1, 2, 0]));
    /// ```
    fn lt<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        self.partial_cmp(other).is_some_and(Ordering::is_lt)
    }

    /// Whether it comes before `other` in dictionary order, or is equal.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert!([1, 2].par_iter().le(&vec![1, 2]));
    /// ```
    fn le<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        self.partial_cmp(other).is_some_and(Ordering::is_le)
    }

    /// Whether it comes after `other` in dictionary order.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert!([2].par_iter().gt(&vec![1, 2]));
    /// ```
    fn gt<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        self.partial_cmp(other).is_some_and(Ordering::is_gt)
    }

    /// Whether it comes after `other` in dictionary order, or is equal.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert!([2].par_iter().ge(&vec![2]));
    /// ```
    fn ge<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        self.partial_cmp(other).is_some_and(Ordering::is_ge)
    }

    /// Pairs each item with its index.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let v: Vec<_> = ["a", "b"].into_par_iter().enumerate().collect();
    /// assert_eq!(v, [(0, "a"), (1, "b")]);
    /// ```
    fn enumerate(self) -> Enumerate<Self> {
        Enumerate::new(self)
    }

    /// The first item and every `step`-th after it.
    ///
    /// # Panics
    ///
    /// If `step` is 0.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let v: Vec<_> = (0..7).into_par_iter().step_by(3).collect();
    /// assert_eq!(v, [0, 3, 6]);
    /// ```
    #[track_caller]
    fn step_by(self, step: usize) -> StepBy<Self> {
        assert!(step != 0, "step_by(0): a step is at least one item");
        StepBy::new(self, step)
    }

    /// All but the first `n` items.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let v: Vec<_> = (0..5).into_par_iter().skip(3).collect();
    /// assert_eq!(v, [3, 4]);
    /// ```
    fn skip(self, n: usize) -> Skip<Self> {
        Skip::new(self, n)
    }

    /// The first `n` items.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let v: Vec<_> = (0..5).into_par_iter().take(2).collect();
    /// assert_eq!(v, [0, 1]);
    /// ```
    fn take(self, n: usize) -> Take<Self> {
        Take::new(self, n)
    }

    /// The index of some item that `predicate` says yes to: whichever is found first in time.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert_eq!([5, 7, 9].par_iter().position_any(|n| *n == 7), Some(1));
    /// ```
    fn position_any<P>(self, predicate: P) -> Option<usize>
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        self.positions(predicate).find_any(|_| true)
    }

    /// The index of the first item that `predicate` says yes to.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert_eq!([5, 7, 7].par_iter().position_first(|n| *n == 7), Some(1));
    /// ```
    fn position_first<P>(self, predicate: P) -> Option<usize>
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        self.positions(predicate).find_first(|_| true)
    }

    /// The index of the last item that `predicate` says yes to.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert_eq!([5, 7, 7].par_iter().position_last(|n| *n == 7), Some(2));
    /// ```
    fn position_last<P>(self, predicate: P) -> Option<usize>
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        self.positions(predicate).find_last(|_| true)
    }

    /// [`position_any`](Self::position_any) under the name that suggests an order which it does not have.
    #[doc(hidden)]
    #[deprecated(note = "say which one is meant: `position_any`, `position_first` or `position_last`")]
    fn position<P>(self, predicate: P) -> Option<usize>
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        self.position_any(predicate)
    }

    /// The indices of all items that `predicate` says yes to.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let v: Vec<_> = [5, 7, 7].par_iter().positions(|n| *n == 7).collect();
    /// assert_eq!(v, [1, 2]);
    /// ```
    fn positions<P>(self, predicate: P) -> Positions<Self, P>
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        Positions::new(self, predicate)
    }

    /// The items in reverse order.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let v: Vec<_> = (0..3).into_par_iter().rev().collect();
    /// assert_eq!(v, [2, 1, 0]);
    /// ```
    fn rev(self) -> Rev<Self> {
        Rev::new(self)
    }

    /// Never makes parts of fewer than `min` items.
    ///
    /// Loops divide themselves well without it; it is a bound for when parts have a cost of their own.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let parts = (0..1000).into_par_iter().with_min_len(500).fold(|| 0, |n, _| n + 1).collect::<Vec<_>>();
    /// assert!(parts.iter().all(|n| *n >= 500));
    /// ```
    fn with_min_len(self, min: usize) -> MinLen<Self> {
        MinLen::new(self, min)
    }

    /// Makes parts of at most `max` items, unless that is against a minimum.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let parts = (0..1000).into_par_iter().with_max_len(10).fold(|| 0, |n, _| n + 1).collect::<Vec<_>>();
    /// assert!(parts.iter().all(|n| *n <= 10));
    /// ```
    fn with_max_len(self, max: usize) -> MaxLen<Self> {
        MaxLen::new(self, max)
    }

    /// How many items there are.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert_eq!([1, 2, 3].par_iter().chunks(2).len(), 2);
    /// ```
    fn len(&self) -> usize;

    /// Runs the loop into a consumer that is divided by index. Users call the other methods, adaptors call this one.
    ///
    /// See [`Consumer`] for an example.
    fn drive<C: Consumer<Self::Item>>(self, consumer: C) -> C::Result;

    /// Lends the producer to `callback`: a producer may borrow from the frame of this call.
    ///
    /// See [`ProducerCallback`] for an example.
    fn with_producer<CB: ProducerCallback<Self::Item>>(self, callback: CB) -> CB::Output;
}
