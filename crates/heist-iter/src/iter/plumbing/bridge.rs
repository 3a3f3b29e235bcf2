//! The doors to the drivers of indexed producers.

use super::anywhere::{self, Kept, Promised};
use super::plan::{Items, Kind, is_divisible};
use super::{Consumer, Producer, ProducerCallback, UnindexedConsumer, by_index};
use crate::iter::IndexedParallelIterator;
use crate::pool;

/// Drives an indexed iterator into a consumer: the usual body of
/// [`drive`](IndexedParallelIterator::drive).
///
/// ```
/// use heist::iter::plumbing::{bridge, Consumer, ProducerCallback, UnindexedConsumer};
/// use heist::prelude::*;
///
/// /// Adds a number to every item, on the producer's side.
/// struct Plus(std::ops::Range<usize>, usize);
/// impl ParallelIterator for Plus {
///     type Item = usize;
///     fn drive_unindexed<C: UnindexedConsumer<usize>>(self, consumer: C) -> C::Result { bridge(self, consumer) }
///     fn opt_len(&self) -> Option<usize> { Some(self.0.len()) }
/// }
/// impl IndexedParallelIterator for Plus {
///     fn len(&self) -> usize { self.0.len() }
///     fn drive<C: Consumer<usize>>(self, consumer: C) -> C::Result { bridge(self, consumer) }
///     fn with_producer<CB: ProducerCallback<usize>>(self, callback: CB) -> CB::Output {
///         let plus = self.1;
///         self.0.into_par_iter().map(move |n| n + plus).with_producer(callback)
///     }
/// }
/// assert_eq!(Plus(0..4, 10).collect::<Vec<_>>(), [10, 11, 12, 13]);
/// ```
pub fn bridge<I, C>(par_iter: I, consumer: C) -> C::Result
where
    I: IndexedParallelIterator,
    C: Consumer<I::Item>,
{
    struct Callback<C> {
        len: usize,
        consumer: C,
    }

    impl<C: Consumer<T>, T> ProducerCallback<T> for Callback<C> {
        type Output = C::Result;

        fn callback<P: Producer<Item = T>>(self, producer: P) -> C::Result {
            bridge_producer_consumer(self.len, producer, self.consumer)
        }
    }

    let len = par_iter.len();
    par_iter.with_producer(Callback { len, consumer })
}

/// [`bridge`] for [`drive_unindexed`](crate::iter::ParallelIterator::drive_unindexed): if the consumer can be divided
/// anywhere, a stretch can still be cut after it has begun.
pub(crate) fn bridge_lazily<I, C>(par_iter: I, consumer: C) -> C::Result
where
    I: IndexedParallelIterator,
    C: UnindexedConsumer<I::Item>,
{
    struct Callback<C> {
        len: usize,
        consumer: C,
    }

    impl<C: UnindexedConsumer<T>, T> ProducerCallback<T> for Callback<C> {
        type Output = C::Result;

        fn callback<P: Producer<Item = T>>(self, producer: P) -> C::Result {
            bridge_producer_lazily(self.len, producer, self.consumer)
        }
    }

    let len = par_iter.len();
    par_iter.with_producer(Callback { len, consumer })
}

/// [`bridge_producer_consumer`] for a consumer that may be divided anywhere.
pub(crate) fn bridge_producer_lazily<P, C>(len: usize, producer: P, consumer: C) -> C::Result
where
    P: Producer,
    C: UnindexedConsumer<P::Item>,
{
    // The constant is the whole condition, so that only one of the drivers is compiled for each loop.
    if C::ANYWHERE {
        let (kind, forks) = (Kind::of::<P, C>(), is_divisible(producer.min_len(), len));
        pool::enter(forks, move |_| anywhere::run_all(kind, Items { producer, len }, Kept(consumer)))
    } else {
        bridge_producer_consumer(len, producer, consumer)
    }
}

/// Drives a producer of `len` items into a consumer.
///
/// ```
/// use heist::iter::plumbing::{bridge_producer_consumer, Consumer, Folder, Reducer, Producer, ProducerCallback};
/// use heist::prelude::*;
///
/// struct Count;
/// impl<T: Send> Consumer<T> for Count {
///     type Folder = Seen;
///     type Reducer = Count;
///     type Result = usize;
///     fn split_at(self, _index: usize) -> (Self, Self, Self) { (Count, Count, Count) }
///     fn into_folder(self) -> Seen { Seen(0) }
///     fn full(&self) -> bool { false }
/// }
/// struct Seen(usize);
/// impl<T> Folder<T> for Seen {
///     type Result = usize;
///     fn consume(self, _item: T) -> Self { Seen(self.0 + 1) }
///     fn complete(self) -> usize { self.0 }
///     fn full(&self) -> bool { false }
/// }
/// impl Reducer<usize> for Count {
///     fn reduce(self, left: usize, right: usize) -> usize { left + right }
/// }
///
/// struct Run(usize);
/// impl<T: Send> ProducerCallback<T> for Run {
///     type Output = usize;
///     fn callback<P: Producer<Item = T>>(self, producer: P) -> usize {
///         bridge_producer_consumer(self.0, producer, Count)
///     }
/// }
/// assert_eq!((0..100u8).into_par_iter().with_producer(Run(100)), 100);
/// ```
pub fn bridge_producer_consumer<P, C>(len: usize, producer: P, consumer: C) -> C::Result
where
    P: Producer,
    C: Consumer<P::Item>,
{
    let (kind, forks) = (Kind::of::<P, C>(), is_divisible(producer.min_len(), len));
    let run = move |_| {
        let items = Items { producer, len };
        // The constant is the whole condition, so that only one of the drivers is compiled for each loop.
        if C::CUTS_BEGUN {
            anywhere::run_all(kind, items, Promised(consumer))
        } else {
            by_index::run_all(kind, items, consumer)
        }
    };
    // Too few items to divide run on the calling thread, in a pool or not.
    pool::enter(forks, run)
}
