//! The trait of all parallel iterators.

use super::plumbing::UnindexedConsumer;
use super::reduce_with::first_of;
use super::try_kind::Try;
use super::*;
use std::cmp::Ordering;
use std::collections::LinkedList;
use std::iter::{Product, Sum};

/// An iterator whose items may be handled by all workers of the pool at once.
///
/// The methods are those of [`Iterator`] where they make sense in parallel. Closures are shared by the workers, so they
/// are `Fn + Sync + Send`. A panic in a closure reaches the caller once; items that were not consumed are dropped.
///
/// ```
/// use heist::prelude::*;
///
/// let total: u32 = ["1", "x", "3"].par_iter().filter_map(|s| s.parse::<u32>().ok()).sum();
/// assert_eq!(total, 4);
/// ```
pub trait ParallelIterator: Sized + Send {
    /// What the iterator yields.
    type Item: Send;

    /// Calls `op` with every item, in no particular order.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// let sum = AtomicU32::new(0);
    /// (1..=10u32).into_par_iter().for_each(|n| { sum.fetch_add(n, Ordering::Relaxed); });
    /// assert_eq!(sum.into_inner(), 55);
    /// ```
    fn for_each<OP>(self, op: OP)
    where
        OP: Fn(Self::Item) + Sync + Send,
    {
        for_each::for_each(self, &op);
    }

    /// [`for_each`](Self::for_each) with a value that each stretch of items has for itself: a clone of `init`.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// (0..5).into_par_iter().for_each_with(sender, |sender, n| sender.send(n).unwrap());
    /// let mut got: Vec<i32> = receiver.iter().collect();
    /// got.sort();
    /// assert_eq!(got, [0, 1, 2, 3, 4]);
    /// ```
    fn for_each_with<OP, T>(self, init: T, op: OP)
    where
        OP: Fn(&mut T, Self::Item) + Sync + Send,
        T: Send + Clone,
    {
        self.map_with(init, op).collect()
    }

    /// [`for_each`](Self::for_each) with a value that each stretch of items makes for itself, by `init`.
    ///
    /// The value need not be `Send`. A stretch is what one worker runs without giving anything away, so `init` is called
    /// about as often as work changes hands.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// use std::cell::RefCell;
    /// use std::rc::Rc;
    /// (0..100).into_par_iter().for_each_init(|| Rc::new(RefCell::new(0)), |seen, n| *seen.borrow_mut() += n);
    /// ```
    fn for_each_init<OP, INIT, T>(self, init: INIT, op: OP)
    where
        OP: Fn(&mut T, Self::Item) + Sync + Send,
        INIT: Fn() -> T + Sync + Send,
    {
        self.map_init(init, op).collect()
    }

    /// Calls `op` with every item until one call fails; returns one of the failures.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let odd = (0..100).into_par_iter().try_for_each(|n| if n != 42 { Ok(()) } else { Err(n) });
    /// assert_eq!(odd, Err(42));
    /// ```
    fn try_for_each<OP, R>(self, op: OP) -> R
    where
        OP: Fn(Self::Item) -> R + Sync + Send,
        R: Try<Output = ()> + Send,
    {
        self.map(op).try_reduce(<()>::default, |(), ()| R::from_output(()))
    }

    /// [`try_for_each`](Self::try_for_each) with a clone of `init` for each stretch.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// (0..5).into_par_iter().try_for_each_with(sender, |sender, n| sender.send(n)).unwrap();
    /// assert_eq!(receiver.iter().count(), 5);
    /// ```
    fn try_for_each_with<OP, T, R>(self, init: T, op: OP) -> R
    where
        OP: Fn(&mut T, Self::Item) -> R + Sync + Send,
        T: Send + Clone,
        R: Try<Output = ()> + Send,
    {
        self.map_with(init, op).try_reduce(<()>::default, |(), ()| R::from_output(()))
    }

    /// [`try_for_each`](Self::try_for_each) with a value from `init` for each stretch.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let done = (0..9).into_par_iter().try_for_each_init(Vec::new, |seen, n| { seen.push(n); Some(()) });
    /// assert_eq!(done, Some(()));
    /// ```
    fn try_for_each_init<OP, INIT, T, R>(self, init: INIT, op: OP) -> R
    where
        OP: Fn(&mut T, Self::Item) -> R + Sync + Send,
        INIT: Fn() -> T + Sync + Send,
        R: Try<Output = ()> + Send,
    {
        self.map_init(init, op).try_reduce(<()>::default, |(), ()| R::from_output(()))
    }

    /// How many items there are.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert_eq!((0..100).into_par_iter().filter(|n| n % 7 == 0).count(), 15);
    /// ```
    fn count(self) -> usize {
        self.map(|_| 1).sum()
    }

    /// Replaces each item by what `map_op` makes of it.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let v: Vec<_> = (0..4).into_par_iter().map(|n| n * n).collect();
    /// assert_eq!(v, [0, 1, 4, 9]);
    /// ```
    fn map<F, R>(self, map_op: F) -> Map<Self, F>
    where
        F: Fn(Self::Item) -> R + Sync + Send,
        R: Send,
    {
        Map::new(self, map_op)
    }

    /// [`map`](Self::map) with a value that each stretch of items has for itself: a clone of `init`.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let v: Vec<_> = (0..3).into_par_iter().map_with(String::from("#"), |s, n| format!("{s}{n}")).collect();
    /// assert_eq!(v, ["#0", "#1", "#2"]);
    /// ```
    fn map_with<F, T, R>(self, init: T, map_op: F) -> MapWith<Self, T, F>
    where
        F: Fn(&mut T, Self::Item) -> R + Sync + Send,
        T: Send + Clone,
        R: Send,
    {
        MapWith::new(self, init, map_op)
    }

    /// [`map`](Self::map) with a value that each stretch of items makes for itself, by `init`. It need not be `Send`.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let lengths: Vec<_> = (0..4usize)
    ///     .into_par_iter()
    ///     .map_init(String::new, |buffer, n| { buffer.clear(); buffer.push_str(&"x".repeat(n)); buffer.len() })
    ///     .collect();
    /// assert_eq!(lengths, [0, 1, 2, 3]);
    /// ```
    fn map_init<F, INIT, T, R>(self, init: INIT, map_op: F) -> MapInit<Self, INIT, F>
    where
        F: Fn(&mut T, Self::Item) -> R + Sync + Send,
        INIT: Fn() -> T + Sync + Send,
        R: Send,
    {
        MapInit::new(self, init, map_op)
    }

    /// Clones the items that it is given by reference.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let names: Vec<String> = [String::from("a")].par_iter().cloned().collect();
    /// assert_eq!(names, ["a"]);
    /// ```
    fn cloned<'a, T>(self) -> Cloned<Self>
    where
        T: 'a + Clone + Send,
        Self: ParallelIterator<Item = &'a T>,
    {
        Cloned::new(self)
    }

    /// Copies the items that it is given by reference.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert_eq!([1, 2, 3].par_iter().copied().sum::<i32>(), 6);
    /// ```
    fn copied<'a, T>(self) -> Copied<Self>
    where
        T: 'a + Copy + Send,
        Self: ParallelIterator<Item = &'a T>,
    {
        Copied::new(self)
    }

    /// Shows each item to `inspect_op` on its way through.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let sum: i32 = (0..5).into_par_iter().inspect(|n| assert!(*n < 5)).sum();
    /// assert_eq!(sum, 10);
    /// ```
    fn inspect<OP>(self, inspect_op: OP) -> Inspect<Self, OP>
    where
        OP: Fn(&Self::Item) + Sync + Send,
    {
        Inspect::new(self, inspect_op)
    }

    /// Lets `update_op` change each item on its way through.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let v: Vec<_> = (0..3).into_par_iter().update(|n| *n += 1).collect();
    /// assert_eq!(v, [1, 2, 3]);
    /// ```
    fn update<F>(self, update_op: F) -> Update<Self, F>
    where
        F: Fn(&mut Self::Item) + Sync + Send,
    {
        Update::new(self, update_op)
    }

    /// Keeps the items that `filter_op` says yes to.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let even: Vec<_> = (0..7).into_par_iter().filter(|n| n % 2 == 0).collect();
    /// assert_eq!(even, [0, 2, 4, 6]);
    /// ```
    fn filter<P>(self, filter_op: P) -> Filter<Self, P>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        Filter::new(self, filter_op)
    }

    /// Replaces each item by what `filter_op` makes of it, or drops it for `None`.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let v: Vec<u8> = ["7", "-", "9"].par_iter().filter_map(|s| s.parse().ok()).collect();
    /// assert_eq!(v, [7, 9]);
    /// ```
    fn filter_map<P, R>(self, filter_op: P) -> FilterMap<Self, P>
    where
        P: Fn(Self::Item) -> Option<R> + Sync + Send,
        R: Send,
    {
        FilterMap::new(self, filter_op)
    }

    /// Replaces each item by all items of a parallel iterator.
    ///
    /// If the inner loops are short, [`flat_map_iter`](Self::flat_map_iter) is cheaper.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let v: Vec<_> = (0..4).into_par_iter().flat_map(|n| 0..n).collect();
    /// assert_eq!(v, [0, 0, 1, 0, 1, 2]);
    /// ```
    fn flat_map<F, PI>(self, map_op: F) -> FlatMap<Self, F>
    where
        F: Fn(Self::Item) -> PI + Sync + Send,
        PI: IntoParallelIterator,
    {
        FlatMap::new(self, map_op)
    }

    /// Replaces each item by all items of a sequential iterator, which runs where the item is.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let letters: String = ["ab", "c"].par_iter().flat_map_iter(|s| s.chars()).collect();
    /// assert_eq!(letters, "abc");
    /// ```
    fn flat_map_iter<F, SI>(self, map_op: F) -> FlatMapIter<Self, F>
    where
        F: Fn(Self::Item) -> SI + Sync + Send,
        SI: IntoIterator<Item: Send>,
    {
        FlatMapIter::new(self, map_op)
    }

    /// Puts the items of the items, which are parallel iterators, one after the other.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let v: Vec<_> = vec![vec![1], vec![], vec![2, 3]].into_par_iter().flatten().collect();
    /// assert_eq!(v, [1, 2, 3]);
    /// ```
    fn flatten(self) -> Flatten<Self>
    where
        Self::Item: IntoParallelIterator,
    {
        Flatten::new(self)
    }

    /// Puts the items of the items, which are sequential iterators, one after the other.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let v: Vec<_> = vec![Some(1), None, Some(2)].into_par_iter().flatten_iter().collect();
    /// assert_eq!(v, [1, 2]);
    /// ```
    fn flatten_iter(self) -> FlattenIter<Self>
    where
        Self::Item: IntoIterator<Item: Send>,
    {
        FlattenIter::new(self)
    }

    /// Merges all items into one by `op`, which must be associative; `identity` makes its neutral element, and may be
    /// called any number of times.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let gcd = |mut a: u32, mut b: u32| { while b > 0 { (a, b) = (b, a % b) } a };
    /// assert_eq!([12, 18, 30].par_iter().copied().reduce(|| 0, gcd), 6);
    /// ```
    fn reduce<OP, ID>(self, identity: ID, op: OP) -> Self::Item
    where
        OP: Fn(Self::Item, Self::Item) -> Self::Item + Sync + Send,
        ID: Fn() -> Self::Item + Sync + Send,
    {
        reduce::reduce(self, identity, op)
    }

    /// [`reduce`](Self::reduce) without a neutral element: `None` if there are no items.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert_eq!(["b", "a"].par_iter().copied().reduce_with(|a, b| a.min(b)), Some("a"));
    /// assert_eq!((0..0).into_par_iter().reduce_with(|a, b| a + b), None);
    /// ```
    fn reduce_with<OP>(self, op: OP) -> Option<Self::Item>
    where
        OP: Fn(Self::Item, Self::Item) -> Self::Item + Sync + Send,
    {
        reduce_with::reduce_with(self, op)
    }

    /// [`reduce`](Self::reduce) of items that may be failures, by an `op` that may fail. Stops early at a failure.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let add = |a: u8, b: u8| a.checked_add(b);
    /// assert_eq!([1, 2, 3].par_iter().copied().map(Some).try_reduce(|| 0, add), Some(6));
    /// assert_eq!([200, 2, 99].par_iter().copied().map(Some).try_reduce(|| 0, add), None);
    /// ```
    fn try_reduce<T, OP, ID>(self, identity: ID, op: OP) -> Self::Item
    where
        OP: Fn(T, T) -> Self::Item + Sync + Send,
        ID: Fn() -> T + Sync + Send,
        Self::Item: Try<Output = T>,
    {
        try_reduce::try_reduce(self, identity, op)
    }

    /// [`try_reduce`](Self::try_reduce) without a neutral element: `None` if there are no items.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let most = ["4", "9"].par_iter().map(|s| s.parse::<u8>()).try_reduce_with(|a, b| Ok(a.max(b)));
    /// assert_eq!(most, Some(Ok(9)));
    /// ```
    fn try_reduce_with<T, OP>(self, op: OP) -> Option<Self::Item>
    where
        OP: Fn(T, T) -> Self::Item + Sync + Send,
        Self::Item: Try<Output = T>,
    {
        try_reduce_with::try_reduce_with(self, op)
    }

    /// Folds each stretch of items into a value and yields these values, in order.
    ///
    /// How many there are depends on how the loop was divided, so a fold is usually followed by a
    /// [`reduce`](Self::reduce) or [`sum`](Self::sum).
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let longest = ["a", "abc"].par_iter().fold(|| 0, |most, s| s.len().max(most)).reduce(|| 0, usize::max);
    /// assert_eq!(longest, 3);
    /// ```
    fn fold<T, ID, F>(self, identity: ID, fold_op: F) -> Fold<Self, ID, F>
    where
        F: Fn(T, Self::Item) -> T + Sync + Send,
        ID: Fn() -> T + Sync + Send,
        T: Send,
    {
        Fold::new(self, identity, fold_op)
    }

    /// [`fold`](Self::fold) that begins with a clone of `init`.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let sum: u32 = (0..10u32).into_par_iter().fold_with(0, |sum, n| sum + n).sum();
    /// assert_eq!(sum, 45);
    /// ```
    fn fold_with<F, T>(self, init: T, fold_op: F) -> FoldWith<Self, T, F>
    where
        F: Fn(T, Self::Item) -> T + Sync + Send,
        T: Send + Clone,
    {
        FoldWith::new(self, init, fold_op)
    }

    /// [`fold`](Self::fold) by a `fold_op` that may fail, which ends the stretch.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let sum = [1u8, 2, 3]
    ///     .par_iter()
    ///     .try_fold(|| 0u8, |sum, &n| sum.checked_add(n))
    ///     .try_reduce(|| 0, |a, b| a.checked_add(b));
    /// assert_eq!(sum, Some(6));
    /// ```
    fn try_fold<T, R, ID, F>(self, identity: ID, fold_op: F) -> TryFold<Self, R, ID, F>
    where
        F: Fn(T, Self::Item) -> R + Sync + Send,
        ID: Fn() -> T + Sync + Send,
        R: Try<Output = T> + Send,
    {
        TryFold::new(self, identity, fold_op)
    }

    /// [`try_fold`](Self::try_fold) that begins with a clone of `init`.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let parsed = ["1", "x"].par_iter().try_fold_with(0, |sum, s| s.parse::<i32>().map(|n| sum + n));
    /// assert!(parsed.try_reduce(|| 0, |a, b| Ok(a + b)).is_err());
    /// ```
    fn try_fold_with<F, T, R>(self, init: T, fold_op: F) -> TryFoldWith<Self, R, F>
    where
        F: Fn(T, Self::Item) -> R + Sync + Send,
        R: Try<Output = T> + Send,
        T: Clone + Send,
    {
        TryFoldWith::new(self, init, fold_op)
    }

    /// The sum of all items. Sums of floats depend on how the loop was divided, in the last bits.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert_eq!((1..=100u32).into_par_iter().sum::<u32>(), 5050);
    /// ```
    fn sum<S>(self) -> S
    where
        S: Send + Sum<Self::Item> + Sum<S>,
    {
        sum::sum(self)
    }

    /// The product of all items. Products of floats depend on how the loop was divided, in the last bits.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert_eq!((1..=10u32).into_par_iter().product::<u32>(), 3_628_800);
    /// ```
    fn product<P>(self) -> P
    where
        P: Send + Product<Self::Item> + Product<P>,
    {
        product::product(self)
    }

    /// The least item; the first one of several.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert_eq!([3, 1, 2].par_iter().min(), Some(&1));
    /// ```
    fn min(self) -> Option<Self::Item>
    where
        Self::Item: Ord,
    {
        self.reduce_with(Ord::min)
    }

    /// The least item by `f`; the first one of several.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert_eq!([0.5, -2.0].par_iter().min_by(|a, b| f64::total_cmp(a, b)), Some(&-2.0));
    /// ```
    fn min_by<F>(self, f: F) -> Option<Self::Item>
    where
        F: Sync + Send + Fn(&Self::Item, &Self::Item) -> Ordering,
    {
        self.reduce_with(|a, b| if f(&a, &b) == Ordering::Greater { first_of(b, a) } else { first_of(a, b) })
    }

    /// The item with the least key; the first one of several. Each key is computed once.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert_eq!([-3, 2, 5i32].par_iter().min_by_key(|n| n.abs()), Some(&2));
    /// ```
    fn min_by_key<K, F>(self, f: F) -> Option<Self::Item>
    where
        K: Ord + Send,
        F: Sync + Send + Fn(&Self::Item) -> K,
    {
        self.map(|item| (f(&item), item)).min_by(|a, b| a.0.cmp(&b.0)).map(without_key)
    }

    /// The greatest item; the last one of several.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert_eq!([3, 1, 2].par_iter().max(), Some(&3));
    /// ```
    fn max(self) -> Option<Self::Item>
    where
        Self::Item: Ord,
    {
        self.reduce_with(Ord::max)
    }

    /// The greatest item by `f`; the last one of several.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert_eq!([0.5, -2.0].par_iter().max_by(|a, b| f64::total_cmp(a, b)), Some(&0.5));
    /// ```
    fn max_by<F>(self, f: F) -> Option<Self::Item>
    where
        F: Sync + Send + Fn(&Self::Item, &Self::Item) -> Ordering,
    {
        self.reduce_with(|a, b| if f(&a, &b) == Ordering::Greater { first_of(a, b) } else { first_of(b, a) })
    }

    /// The item with the greatest key; the last one of several. Each key is computed once.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert_eq!(["aa", "b", "cc"].par_iter().max_by_key(|s| s.len()), Some(&"cc"));
    /// ```
    fn max_by_key<K, F>(self, f: F) -> Option<Self::Item>
    where
        K: Ord + Send,
        F: Sync + Send + Fn(&Self::Item) -> K,
    {
        self.map(|item| (f(&item), item)).max_by(|a, b| a.0.cmp(&b.0)).map(without_key)
    }

    /// Puts another iterator's items after its own.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let v: Vec<_> = (0..2).into_par_iter().chain(5..7).collect();
    /// assert_eq!(v, [0, 1, 5, 6]);
    /// ```
    fn chain<C>(self, chain: C) -> Chain<Self, C::Iter>
    where
        C: IntoParallelIterator<Item = Self::Item>,
    {
        Chain::new(self, chain.into_par_iter())
    }

    /// Some item that `predicate` says yes to, if there is one: whichever is found first in time. Stops the others.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let found = (0..1000).into_par_iter().find_any(|n| n % 100 == 99).unwrap();
    /// assert_eq!(found % 100, 99);
    /// ```
    fn find_any<P>(self, predicate: P) -> Option<Self::Item>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        find::find_any(self, predicate)
    }

    /// The first item, in order, that `predicate` says yes to. Stops the search to the right of a find.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert_eq!((0..1000).into_par_iter().find_first(|n| n % 100 == 99), Some(99));
    /// ```
    fn find_first<P>(self, predicate: P) -> Option<Self::Item>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        find_first_last::find_first(self, predicate)
    }

    /// The last item, in order, that `predicate` says yes to. Stops the search to the left of a find.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert_eq!((0..1000).into_par_iter().find_last(|n| n % 100 == 99), Some(999));
    /// ```
    fn find_last<P>(self, predicate: P) -> Option<Self::Item>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        find_first_last::find_last(self, predicate)
    }

    /// Some `Some` that `predicate` makes of an item, if there is one.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert_eq!(["x", "7"].par_iter().find_map_any(|s| s.parse::<u8>().ok()), Some(7));
    /// ```
    fn find_map_any<P, R>(self, predicate: P) -> Option<R>
    where
        P: Fn(Self::Item) -> Option<R> + Sync + Send,
        R: Send,
    {
        self.filter_map(predicate).find_any(|_| true)
    }

    /// The first `Some`, in order, that `predicate` makes of an item.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert_eq!(["x", "7", "8"].par_iter().find_map_first(|s| s.parse::<u8>().ok()), Some(7));
    /// ```
    fn find_map_first<P, R>(self, predicate: P) -> Option<R>
    where
        P: Fn(Self::Item) -> Option<R> + Sync + Send,
        R: Send,
    {
        self.filter_map(predicate).find_first(|_| true)
    }

    /// The last `Some`, in order, that `predicate` makes of an item.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert_eq!(["x", "7", "8"].par_iter().find_map_last(|s| s.parse::<u8>().ok()), Some(8));
    /// ```
    fn find_map_last<P, R>(self, predicate: P) -> Option<R>
    where
        P: Fn(Self::Item) -> Option<R> + Sync + Send,
        R: Send,
    {
        self.filter_map(predicate).find_last(|_| true)
    }

    /// [`find_any`](Self::find_any) under the name that suggests an order which it does not have.
    #[doc(hidden)]
    #[deprecated(note = "say which one is meant: `find_any`, `find_first` or `find_last`")]
    fn find<P>(self, predicate: P) -> Option<Self::Item>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        self.find_any(predicate)
    }

    /// Whether `predicate` says yes to some item.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert!((0..10).into_par_iter().any(|n| n == 7));
    /// ```
    fn any<P>(self, predicate: P) -> bool
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        self.map(predicate).find_any(|&yes| yes).is_some()
    }

    /// Whether `predicate` says yes to every item.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert!(!(0..10).into_par_iter().all(|n| n < 7));
    /// ```
    fn all<P>(self, predicate: P) -> bool
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        self.map(predicate).find_any(|&yes| !yes).is_none()
    }

    /// Yields what is in the `Some` items and stops everybody soon after the first `None`, first in time.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let all: Vec<_> = (0..3).into_par_iter().map(Some).while_some().collect();
    /// assert_eq!(all, [0, 1, 2]);
    /// ```
    fn while_some<T>(self) -> WhileSome<Self>
    where
        Self: ParallelIterator<Item = Option<T>>,
        T: Send,
    {
        WhileSome::new(self)
    }

    /// Stops everybody soon after a panic. Without it the other workers finish what they have begun.
    ///
    /// ```should_panic
    /// # use heist::prelude::*;
    /// (0..1_000_000).into_par_iter().panic_fuse().for_each(|n| assert_ne!(n, 123));
    /// ```
    fn panic_fuse(self) -> PanicFuse<Self> {
        PanicFuse::new(self)
    }

    /// Makes a collection of the items, in order where the collection has one.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let v: Vec<u32> = (0..4).into_par_iter().collect();
    /// let r: Result<Vec<u8>, _> = ["1", "?"].par_iter().map(|s| s.parse()).collect();
    /// assert!(v == [0, 1, 2, 3] && r.is_err());
    /// ```
    fn collect<C>(self) -> C
    where
        C: FromParallelIterator<Self::Item>,
    {
        C::from_par_iter(self)
    }

    /// Makes two collections of the halves of pairs. Works for nested pairs as well.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let (n, s): (Vec<_>, Vec<_>) = (0..3).into_par_iter().map(|n| (n, n * n)).unzip();
    /// assert_eq!((n, s), (vec![0, 1, 2], vec![0, 1, 4]));
    /// ```
    fn unzip<A, B, FromA, FromB>(self) -> (FromA, FromB)
    where
        Self: ParallelIterator<Item = (A, B)>,
        FromA: Default + Send + ParallelExtend<A>,
        FromB: Default + Send + ParallelExtend<B>,
        A: Send,
        B: Send,
    {
        unzip::unzip(self)
    }

    /// Makes one collection of the items that `predicate` says yes to, and one of the others.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let (even, odd): (Vec<_>, Vec<_>) = (0..5).into_par_iter().partition(|n| n % 2 == 0);
    /// assert_eq!((even, odd), (vec![0, 2, 4], vec![1, 3]));
    /// ```
    fn partition<A, B, P>(self, predicate: P) -> (A, B)
    where
        A: Default + Send + ParallelExtend<Self::Item>,
        B: Default + Send + ParallelExtend<Self::Item>,
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        unzip::partition(self, predicate)
    }

    /// Makes one collection of the left and one of the right results of `predicate`.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// use heist::iter::Either;
    /// let (numbers, words): (Vec<u8>, Vec<&str>) = ["1", "b"].par_iter().partition_map(|&s| match s.parse::<u8>() {
    ///     Ok(n) => Either::Left(n),
    ///     Err(_) => Either::Right(s),
    /// });
    /// assert_eq!((numbers, words), (vec![1], vec!["b"]));
    /// ```
    fn partition_map<A, B, P, L, R>(self, predicate: P) -> (A, B)
    where
        A: Default + Send + ParallelExtend<L>,
        B: Default + Send + ParallelExtend<R>,
        P: Fn(Self::Item) -> Either<L, R> + Sync + Send,
        L: Send,
        R: Send,
    {
        unzip::partition_map(self, predicate)
    }

    /// Puts a clone of `element` between each two items.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let v: Vec<_> = (1..4).into_par_iter().intersperse(0).collect();
    /// assert_eq!(v, [1, 0, 2, 0, 3]);
    /// ```
    fn intersperse(self, element: Self::Item) -> Intersperse<Self>
    where
        Self::Item: Clone,
    {
        Intersperse::new(self, element)
    }

    /// Some `n` items, whichever come first in time.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert_eq!((0..100).into_par_iter().filter(|n| n % 2 == 0).take_any(5).count(), 5);
    /// ```
    fn take_any(self, n: usize) -> TakeAny<Self> {
        TakeAny::new(self, n)
    }

    /// All but some `n` items, whichever come first in time.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert_eq!((0..100).into_par_iter().skip_any(30).count(), 70);
    /// ```
    fn skip_any(self, n: usize) -> SkipAny<Self> {
        SkipAny::new(self, n)
    }

    /// Items until `predicate` says no for the first time, first in time; then everybody stops.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert!((0..100).into_par_iter().take_any_while(|n| *n < 50).all(|n| n < 50));
    /// ```
    fn take_any_while<P>(self, predicate: P) -> TakeAnyWhile<Self, P>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        TakeAnyWhile::new(self, predicate)
    }

    /// Drops items until `predicate` says no for the first time, first in time; then everybody keeps theirs.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert!((0..100).into_par_iter().skip_any_while(|n| *n < 50).count() >= 50);
    /// ```
    fn skip_any_while<P>(self, predicate: P) -> SkipAnyWhile<Self, P>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        SkipAnyWhile::new(self, predicate)
    }

    /// All items in order, as the vectors that the stretches made.
    ///
    /// This is what collecting an iterator of unknown length starts with. The vectors' number and lengths depend on how
    /// the loop was divided.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let lists = (0..100).into_par_iter().filter(|n| n % 2 == 0).collect_vec_list();
    /// assert!(lists.into_iter().flatten().eq((0..100).step_by(2)));
    /// ```
    fn collect_vec_list(self) -> LinkedList<Vec<Self::Item>> {
        match collect::collect_vecs(self) {
            Either::Left(vec) => LinkedList::from([vec]),
            Either::Right(list) => list,
        }
    }

    /// Runs the loop: every item goes into `consumer`. Users call the other methods, adaptors call this one.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// use heist::iter::plumbing::UnindexedConsumer;
    /// struct Pass<I>(I);
    /// impl<I: ParallelIterator> ParallelIterator for Pass<I> {
    ///     type Item = I::Item;
    ///     fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
    ///         self.0.drive_unindexed(consumer)
    ///     }
    /// }
    /// assert_eq!(Pass((0..3).into_par_iter()).count(), 3);
    /// ```
    fn drive_unindexed<C>(self, consumer: C) -> C::Result
    where
        C: UnindexedConsumer<Self::Item>;

    /// How many items there are, if that is known in advance and the items can be driven by index.
    ///
    /// A collection may then reserve its space and have the items written in place.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// assert_eq!([1, 2].par_iter().opt_len(), Some(2));
    /// assert_eq!([1, 2].par_iter().filter(|_| true).opt_len(), None);
    /// ```
    fn opt_len(&self) -> Option<usize> {
        None
    }

    /// Whether [`opt_len`](Self::opt_len) is `Some` for all iterators of this type, so that only what is done then is compiled.
    /// Adaptors that keep the number of items say what the iterator that they wrap says.
    #[doc(hidden)]
    const IS_COUNTED: bool = false;

    /// Whether it is `None` for all.
    #[doc(hidden)]
    const IS_UNCOUNTED: bool = false;
}

fn without_key<K, T>((key, item): (K, T)) -> T {
    drop(key);
    item
}
