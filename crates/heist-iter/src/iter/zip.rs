//! `zip`.

use super::plumbing::{Consumer, Producer, ProducerCallback, UnindexedConsumer, bridge, bridge_lazily};
use super::{IndexedParallelIterator, ParallelIterator};

/// What [`zip`](IndexedParallelIterator::zip) returns.
///
/// ```
/// # use heist::prelude::*;
/// let v: Vec<_> = (1..3).into_par_iter().zip(["a", "b"]).collect();
/// assert_eq!(v, [(1, "a"), (2, "b")]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct Zip<A, B> {
    a: A,
    b: B,
}

impl<A, B> Zip<A, B> {
    pub(super) fn new(a: A, b: B) -> Self {
        Zip { a, b }
    }
}

impl<A, B> ParallelIterator for Zip<A, B>
where
    A: IndexedParallelIterator,
    B: IndexedParallelIterator,
{
    type Item = (A::Item, B::Item);
    const IS_COUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        bridge_lazily(self, consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.len())
    }
}

impl<A, B> IndexedParallelIterator for Zip<A, B>
where
    A: IndexedParallelIterator,
    B: IndexedParallelIterator,
{
    fn drive<C: Consumer<Self::Item>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn len(&self) -> usize {
        self.a.len().min(self.b.len())
    }

    fn with_producer<CB: ProducerCallback<Self::Item>>(self, callback: CB) -> CB::Output {
        struct CallbackA<CB, B> {
            callback: CB,
            b: B,
        }

        impl<CB, T, B> ProducerCallback<T> for CallbackA<CB, B>
        where
            B: IndexedParallelIterator,
            CB: ProducerCallback<(T, B::Item)>,
        {
            type Output = CB::Output;

            fn callback<P: Producer<Item = T>>(self, a: P) -> CB::Output {
                self.b.with_producer(CallbackB { callback: self.callback, a })
            }
        }

        struct CallbackB<CB, P> {
            callback: CB,
            a: P,
        }

        impl<CB, P, T> ProducerCallback<T> for CallbackB<CB, P>
        where
            P: Producer,
            CB: ProducerCallback<(P::Item, T)>,
        {
            type Output = CB::Output;

            fn callback<Q: Producer<Item = T>>(self, b: Q) -> CB::Output {
                self.callback.callback(ZipProducer { a: self.a, b })
            }
        }

        self.a.with_producer(CallbackA { callback, b: self.b })
    }
}

struct ZipProducer<A, B> {
    a: A,
    b: B,
}

impl<A: Producer, B: Producer> Producer for ZipProducer<A, B> {
    type Item = (A::Item, B::Item);
    type IntoIter = std::iter::Zip<A::IntoIter, B::IntoIter>;
    const COSTLY_START: bool = A::COSTLY_START || B::COSTLY_START;

    fn into_iter(self) -> Self::IntoIter {
        self.a.into_iter().zip(self.b.into_iter())
    }

    fn min_len(&self) -> usize {
        self.a.min_len().max(self.b.min_len())
    }

    fn max_len(&self) -> usize {
        self.a.max_len().min(self.b.max_len())
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let (a_left, a_right) = self.a.split_at(index);
        let (b_left, b_right) = self.b.split_at(index);
        (ZipProducer { a: a_left, b: b_left }, ZipProducer { a: a_right, b: b_right })
    }
}
