//! `skip`.

use super::plumbing::{
    Consumer, Folder, NoopReducer, Producer, ProducerCallback, UnindexedConsumer, bridge, bridge_lazily,
    bridge_producer_lazily,
};
use super::{IndexedParallelIterator, ParallelIterator};

/// What [`skip`](IndexedParallelIterator::skip) returns.
///
/// ```
/// # use heist::prelude::*;
/// let v: Vec<_> = (0..5).into_par_iter().skip(3).collect();
/// assert_eq!(v, [3, 4]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct Skip<I> {
    base: I,
    n: usize,
}

impl<I: IndexedParallelIterator> Skip<I> {
    pub(super) fn new(base: I, n: usize) -> Self {
        let n = n.min(base.len());
        Skip { base, n }
    }
}

impl<I: IndexedParallelIterator> ParallelIterator for Skip<I> {
    type Item = I::Item;
    const IS_COUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        bridge_lazily(self, consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.len())
    }
}

impl<I: IndexedParallelIterator> IndexedParallelIterator for Skip<I> {
    fn drive<C: Consumer<Self::Item>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn len(&self) -> usize {
        self.base.len() - self.n
    }

    fn with_producer<CB: ProducerCallback<Self::Item>>(self, callback: CB) -> CB::Output {
        struct Callback<CB> {
            callback: CB,
            n: usize,
        }

        impl<T, CB: ProducerCallback<T>> ProducerCallback<T> for Callback<CB> {
            type Output = CB::Output;

            fn callback<P: Producer<Item = T>>(self, base: P) -> CB::Output {
                let (skipped, rest) = base.split_at(self.n);
                // As in a sequential loop, adaptors before `skip` see the skipped items too.
                bridge_producer_lazily(self.n, skipped, Noop);
                self.callback.callback(rest)
            }
        }

        self.base.with_producer(Callback { callback, n: self.n })
    }
}

/// The consumer that does nothing.
struct Noop;

impl<T> Consumer<T> for Noop {
    type Folder = Self;
    type Reducer = NoopReducer;
    type Result = ();

    fn split_at(self, _index: usize) -> (Self, Self, NoopReducer) {
        (Noop, Noop, NoopReducer)
    }

    fn into_folder(self) -> Self {
        self
    }

    fn full(&self) -> bool {
        false
    }
}

impl<T> UnindexedConsumer<T> for Noop {
    const ANYWHERE: bool = true;

    fn split_off_left(&self) -> Self {
        Noop
    }

    fn to_reducer(&self) -> NoopReducer {
        NoopReducer
    }
}

impl<T> Folder<T> for Noop {
    type Result = ();

    fn consume(self, _item: T) -> Self {
        self
    }

    fn consume_iter<I: IntoIterator<Item = T>>(self, iter: I) -> Self {
        iter.into_iter().for_each(drop);
        self
    }

    fn complete(self) {}

    fn full(&self) -> bool {
        false
    }
}
