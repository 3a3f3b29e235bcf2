//! What adaptors and sources are made of.
//!
//! A parallel iterator joins two sides. A **producer** can be divided and turned into an ordinary iterator; a
//! **consumer** can be divided in step with it, becomes a **folder** that takes items one after the other, and its
//! **reducer** merges the results of two neighbouring parts. A *bridge* drives the one into the other.
//!
//! # Writing an adaptor
//!
//! Implement [`ParallelIterator::drive_unindexed`](super::ParallelIterator::drive_unindexed) by wrapping the consumer
//! that comes from downstream and handing it upstream. Adaptors that keep the number of items implement
//! [`IndexedParallelIterator`](super::IndexedParallelIterator) too.
//!
//! A user's `Drop` may panic, too. What a function has already put into its result is then forgotten, not dropped
//! (rust-lang/rust#47949): a filter that drops an item on its way out would lose all that its folder has collected. So
//! whatever is not wanted is dropped explicitly, before there is a result.
#![doc = include_str!("README.md")]

mod anywhere;
mod bridge;
mod brief;
mod by_index;
mod chain;
mod habit;
mod pace;
mod plan;
mod unindexed;

pub use bridge::{bridge, bridge_producer_consumer};
pub(crate) use bridge::{bridge_lazily, bridge_producer_lazily};
pub use unindexed::bridge_unindexed;

/// A generic closure over the producer of an indexed iterator; see
/// [`with_producer`](super::IndexedParallelIterator::with_producer).
///
/// A producer may borrow from the frame that made it, so it cannot be returned. It is lent to a callback instead.
///
/// ```
/// use heist::iter::plumbing::{Producer, ProducerCallback};
/// use heist::prelude::*;
///
/// struct First;
/// impl<T> ProducerCallback<T> for First {
///     type Output = Option<T>;
///     fn callback<P: Producer<Item = T>>(self, producer: P) -> Option<T> {
///         producer.into_iter().next()
///     }
/// }
/// assert_eq!((5..9usize).into_par_iter().with_producer(First), Some(5));
/// ```
pub trait ProducerCallback<T> {
    /// What the callback returns.
    type Output;

    /// Called with the producer.
    fn callback<P>(self, producer: P) -> Self::Output
    where
        P: Producer<Item = T>;
}

/// A source of a known number of items that can be cut at any index.
///
/// A producer does not know its length by itself: whoever holds it passes the length along.
///
/// ```
/// use heist::iter::plumbing::{bridge_producer_consumer, Producer};
///
/// /// The numbers from `from`, as many as the length says.
/// struct Count { from: usize, len: usize }
/// impl Producer for Count {
///     type Item = usize;
///     type IntoIter = std::ops::Range<usize>;
///     fn into_iter(self) -> Self::IntoIter { self.from..self.from + self.len }
///     fn split_at(self, at: usize) -> (Self, Self) {
///         (Count { from: self.from, len: at }, Count { from: self.from + at, len: self.len - at })
///     }
/// }
/// let (left, right) = Count { from: 0, len: 10 }.split_at(4);
/// assert_eq!((left.into_iter().len(), right.into_iter().next()), (4, Some(4)));
/// ```
pub trait Producer: Send + Sized {
    /// What [`into_iter`](Self::into_iter) yields.
    type Item;

    /// The sequential iterator that this producer becomes.
    type IntoIter: Iterator<Item = Self::Item> + DoubleEndedIterator + ExactSizeIterator;

    /// Whether [`into_iter`](Self::into_iter) does work that should not be repeated for every block, such as calling a
    /// user's closure. Then a part is folded as a whole. Adaptors say what the producer that they wrap says.
    #[doc(hidden)]
    const COSTLY_START: bool = false;

    /// Turns the producer into a sequential iterator over all its items.
    fn into_iter(self) -> Self::IntoIter;

    /// The fewest items that a part of its own is worth. Parts are not made smaller than this; see
    /// [`with_min_len`](super::IndexedParallelIterator::with_min_len).
    fn min_len(&self) -> usize {
        1
    }

    /// The most items that one part should have; see
    /// [`with_max_len`](super::IndexedParallelIterator::with_max_len).
    fn max_len(&self) -> usize {
        usize::MAX
    }

    /// Cuts into the items before `index` and those from `index` on.
    ///
    /// Called for every block as well as for every part, so it should take constant time.
    fn split_at(self, index: usize) -> (Self, Self);

    /// Feeds all items to `folder`, stopping early once it is full.
    fn fold_with<F>(self, folder: F) -> F
    where
        F: Folder<Self::Item>,
    {
        folder.consume_iter(self.into_iter())
    }
}

/// Where the items go: a recipe for folders, divided in step with the producer.
///
/// ```
/// use heist::iter::plumbing::{Consumer, Folder, Reducer};
/// use heist::prelude::*;
///
/// #[derive(Clone, Copy)]
/// struct Longest;
/// struct Best(usize);
/// impl Consumer<&str> for Longest {
///     type Folder = Best;
///     type Reducer = Longest;
///     type Result = usize;
///     fn split_at(self, _index: usize) -> (Self, Self, Self) { (self, self, self) }
///     fn into_folder(self) -> Best { Best(0) }
///     fn full(&self) -> bool { false }
/// }
/// impl Folder<&str> for Best {
///     type Result = usize;
///     fn consume(self, word: &str) -> Self { Best(self.0.max(word.len())) }
///     fn complete(self) -> usize { self.0 }
///     fn full(&self) -> bool { false }
/// }
/// impl Reducer<usize> for Longest {
///     fn reduce(self, left: usize, right: usize) -> usize { left.max(right) }
/// }
/// assert_eq!(["oak", "willow", "ash"].par_iter().copied().drive(Longest), 6);
/// ```
pub trait Consumer<Item>: Send + Sized {
    /// The folder that this consumer becomes.
    type Folder: Folder<Item, Result = Self::Result>;

    /// Merges the results of two neighbouring parts.
    type Reducer: Reducer<Self::Result>;

    /// What a part comes to.
    type Result: Send;

    /// Cuts into a consumer for the first `index` items, one for the rest, and the reducer that merges their results.
    fn split_at(self, index: usize) -> (Self, Self, Self::Reducer);

    /// Begins to take items, one after the other.
    fn into_folder(self) -> Self::Folder;

    /// Whether any further item would be in vain.
    fn full(&self) -> bool;

    /// Whether [`cut_begun`](Self::cut_begun) works. Adaptors that hand on one item for each say what the consumer that
    /// they wrap says.
    #[doc(hidden)]
    const CUTS_BEGUN: bool = false;

    /// [`split_at`](Self::split_at) for a folder that has begun and gets only `index` more items.
    #[doc(hidden)]
    fn cut_begun(_folder: Self::Folder, _index: usize) -> (Self::Folder, Self, Self::Reducer) {
        unreachable!("a consumer that does not cut what has begun was asked to")
    }
}

/// Takes items one after the other and comes to a result.
///
/// See [`Consumer`] for an example.
pub trait Folder<Item>: Sized {
    /// What [`complete`](Self::complete) returns.
    type Result;

    /// Takes one item.
    fn consume(self, item: Item) -> Self;

    /// Takes the items of `iter` until it ends or the folder is full.
    fn consume_iter<I>(mut self, iter: I) -> Self
    where
        I: IntoIterator<Item = Item>,
    {
        for item in iter {
            self = self.consume(item);
            if self.full() {
                break;
            }
        }
        self
    }

    /// Ends the part.
    fn complete(self) -> Self::Result;

    /// Whether any further item would be in vain.
    fn full(&self) -> bool;
}

/// Merges the results of two neighbouring parts.
///
/// See [`Consumer`] for an example.
pub trait Reducer<Result> {
    /// Merges; `left` covers the items just before those of `right`.
    fn reduce(self, left: Result, right: Result) -> Result;
}

/// A consumer that can be divided without saying where.
///
/// Filters and their like do not know how many items will reach the consumer.
pub trait UnindexedConsumer<I>: Consumer<I> {
    /// Whether [`split_off_left`](Self::split_off_left) works whatever the source, at any time and any number of times.
    ///
    /// Then an indexed source may cut a stretch after it has begun, too. Adaptors say what the consumer that they wrap
    /// says. Collecting into reserved space must know each part's place in advance, and so says no, even where it
    /// passes for an unindexed consumer because the number of items is known.
    #[doc(hidden)]
    const ANYWHERE: bool = false;

    /// Cuts off a consumer for whatever comes first; `self` keeps what comes after.
    fn split_off_left(&self) -> Self;

    /// The reducer that merges the two.
    fn to_reducer(&self) -> Self::Reducer;
}

/// A source that can be cut somewhere, but not at a chosen index, and whose length is unknown.
///
/// ```
/// use heist::iter::plumbing::{bridge_unindexed, Folder, UnindexedConsumer, UnindexedProducer};
/// use heist::prelude::*;
///
/// /// The leaves of an unbalanced binary tree.
/// enum Tree { Leaf(u32), Node(Box<(Tree, Tree)>) }
/// impl UnindexedProducer for Tree {
///     type Item = u32;
///     fn split(self) -> (Self, Option<Self>) {
///         match self {
///             Tree::Node(children) => (children.0, Some(children.1)),
///             leaf => (leaf, None),
///         }
///     }
///     fn fold_with<F: Folder<u32>>(self, folder: F) -> F {
///         match self {
///             Tree::Leaf(value) => folder.consume(value),
///             Tree::Node(children) => {
///                 let folder = UnindexedProducer::fold_with(children.0, folder);
///                 if folder.full() { folder } else { UnindexedProducer::fold_with(children.1, folder) }
///             }
///         }
///     }
/// }
/// impl ParallelIterator for Tree {
///     type Item = u32;
///     fn drive_unindexed<C: UnindexedConsumer<u32>>(self, consumer: C) -> C::Result {
///         bridge_unindexed(self, consumer)
///     }
/// }
/// let node = |a, b| Tree::Node(Box::new((a, b)));
/// let tree = node(Tree::Leaf(1), node(Tree::Leaf(2), Tree::Leaf(3)));
/// assert_eq!(tree.collect::<Vec<_>>(), [1, 2, 3]);
/// ```
pub trait UnindexedProducer: Send + Sized {
    /// What is produced.
    type Item;

    /// Cuts in two if that is possible; the first part comes before the second.
    fn split(self) -> (Self, Option<Self>);

    /// Feeds all items to `folder`, stopping early once it is full.
    fn fold_with<F>(self, folder: F) -> F
    where
        F: Folder<Self::Item>;
}

/// The reducer of consumers without a result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoopReducer;

impl Reducer<()> for NoopReducer {
    fn reduce(self, _left: (), _right: ()) {}
}
