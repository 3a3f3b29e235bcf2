//! `chain`.

use super::plumbing::{Consumer, Folder, Producer, ProducerCallback, Reducer, UnindexedConsumer};
use super::{IndexedParallelIterator, ParallelIterator};
use crate::pool;

/// What [`chain`](ParallelIterator::chain) returns.
///
/// ```
/// # use heist::prelude::*;
/// let v: Vec<_> = (0..2).into_par_iter().chain(8..10).collect();
/// assert_eq!(v, [0, 1, 8, 9]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct Chain<A, B> {
    a: A,
    b: B,
}

impl<A, B> Chain<A, B> {
    pub(super) fn new(a: A, b: B) -> Self {
        Chain { a, b }
    }
}

impl<A, B> ParallelIterator for Chain<A, B>
where
    A: ParallelIterator,
    B: ParallelIterator<Item = A::Item>,
{
    type Item = A::Item;

    fn drive_unindexed<C: UnindexedConsumer<A::Item>>(self, consumer: C) -> C::Result {
        let Chain { a, b } = self;
        let (left, right, reducer) = match a.opt_len() {
            Some(len) => consumer.split_at(len),
            None => {
                let reducer = consumer.to_reducer();
                (consumer.split_off_left(), consumer, reducer)
            }
        };
        let (left, right) = pool::join(|_| a.drive_unindexed(left), |_| b.drive_unindexed(right));
        reducer.reduce(left, right)
    }

    fn opt_len(&self) -> Option<usize> {
        self.a.opt_len()?.checked_add(self.b.opt_len()?)
    }
}

impl<A, B> IndexedParallelIterator for Chain<A, B>
where
    A: IndexedParallelIterator,
    B: IndexedParallelIterator<Item = A::Item>,
{
    fn drive<C: Consumer<A::Item>>(self, consumer: C) -> C::Result {
        let Chain { a, b } = self;
        let (left, right, reducer) = consumer.split_at(a.len());
        let (left, right) = pool::join(|_| a.drive(left), |_| b.drive(right));
        reducer.reduce(left, right)
    }

    fn len(&self) -> usize {
        self.a.len().checked_add(self.b.len()).expect("overflow")
    }

    fn with_producer<CB: ProducerCallback<A::Item>>(self, callback: CB) -> CB::Output {
        struct CallbackA<CB, B> {
            callback: CB,
            a_len: usize,
            b: B,
        }

        impl<CB, B> ProducerCallback<B::Item> for CallbackA<CB, B>
        where
            B: IndexedParallelIterator,
            CB: ProducerCallback<B::Item>,
        {
            type Output = CB::Output;

            fn callback<P: Producer<Item = B::Item>>(self, a: P) -> CB::Output {
                self.b.with_producer(CallbackB { callback: self.callback, a_len: self.a_len, a })
            }
        }

        struct CallbackB<CB, P> {
            callback: CB,
            a_len: usize,
            a: P,
        }

        impl<CB, P> ProducerCallback<P::Item> for CallbackB<CB, P>
        where
            P: Producer,
            CB: ProducerCallback<P::Item>,
        {
            type Output = CB::Output;

            fn callback<Q: Producer<Item = P::Item>>(self, b: Q) -> CB::Output {
                self.callback.callback(ChainProducer { a_len: self.a_len, a: self.a, b })
            }
        }

        let a_len = self.a.len();
        self.a.with_producer(CallbackA { callback, a_len, b: self.b })
    }
}

struct ChainProducer<A, B> {
    a_len: usize,
    a: A,
    b: B,
}

impl<A, B> Producer for ChainProducer<A, B>
where
    A: Producer,
    B: Producer<Item = A::Item>,
{
    type Item = A::Item;
    type IntoIter = ChainIter<A::IntoIter, B::IntoIter>;
    const COSTLY_START: bool = A::COSTLY_START || B::COSTLY_START;

    fn into_iter(self) -> Self::IntoIter {
        ChainIter { a: self.a.into_iter(), b: self.b.into_iter() }
    }

    fn min_len(&self) -> usize {
        self.a.min_len().max(self.b.min_len())
    }

    fn max_len(&self) -> usize {
        self.a.max_len().min(self.b.max_len())
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let in_a = index.min(self.a_len);
        let (a_left, a_right) = self.a.split_at(in_a);
        let (b_left, b_right) = self.b.split_at(index - in_a);
        (
            ChainProducer { a_len: in_a, a: a_left, b: b_left },
            ChainProducer { a_len: self.a_len - in_a, a: a_right, b: b_right },
        )
    }

    fn fold_with<F: Folder<A::Item>>(self, folder: F) -> F {
        let folder = if self.a_len > 0 { self.a.fold_with(folder) } else { folder };
        if folder.full() {
            drop(self.b);
            folder
        } else {
            self.b.fold_with(folder)
        }
    }
}

/// The standard chain does not know its exact length, because it might overflow.
struct ChainIter<A, B> {
    a: A,
    b: B,
}

impl<A, B> Iterator for ChainIter<A, B>
where
    A: ExactSizeIterator,
    B: ExactSizeIterator<Item = A::Item>,
{
    type Item = A::Item;

    fn next(&mut self) -> Option<A::Item> {
        self.a.next().or_else(|| self.b.next())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.a.len() + self.b.len();
        (len, Some(len))
    }

    fn fold<T, F: FnMut(T, A::Item) -> T>(self, init: T, mut fold: F) -> T {
        let init = self.a.fold(init, &mut fold);
        self.b.fold(init, fold)
    }
}

impl<A, B> DoubleEndedIterator for ChainIter<A, B>
where
    A: ExactSizeIterator + DoubleEndedIterator,
    B: ExactSizeIterator<Item = A::Item> + DoubleEndedIterator,
{
    fn next_back(&mut self) -> Option<A::Item> {
        self.b.next_back().or_else(|| self.a.next_back())
    }
}

impl<A, B> ExactSizeIterator for ChainIter<A, B>
where
    A: ExactSizeIterator,
    B: ExactSizeIterator<Item = A::Item>,
{
}
