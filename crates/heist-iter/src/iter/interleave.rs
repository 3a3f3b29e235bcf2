//! `interleave`.

use super::plumbing::{Consumer, Producer, ProducerCallback, UnindexedConsumer, bridge, bridge_lazily};
use super::{IndexedParallelIterator, ParallelIterator};
use std::cmp::Ordering;

/// What [`interleave`](IndexedParallelIterator::interleave) returns.
///
/// ```
/// # use heist::prelude::*;
/// let v: Vec<_> = vec![1, 2].into_par_iter().interleave(vec![7, 8, 9]).collect();
/// assert_eq!(v, [1, 7, 2, 8, 9]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct Interleave<I, J> {
    i: I,
    j: J,
}

impl<I, J> Interleave<I, J> {
    pub(super) fn new(i: I, j: J) -> Self {
        Interleave { i, j }
    }
}

impl<I, J> ParallelIterator for Interleave<I, J>
where
    I: IndexedParallelIterator,
    J: IndexedParallelIterator<Item = I::Item>,
{
    type Item = I::Item;
    const IS_COUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        bridge_lazily(self, consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.len())
    }
}

impl<I, J> IndexedParallelIterator for Interleave<I, J>
where
    I: IndexedParallelIterator,
    J: IndexedParallelIterator<Item = I::Item>,
{
    fn drive<C: Consumer<I::Item>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn len(&self) -> usize {
        self.i.len().checked_add(self.j.len()).expect("overflow")
    }

    fn with_producer<CB: ProducerCallback<I::Item>>(self, callback: CB) -> CB::Output {
        struct CallbackI<CB, J> {
            callback: CB,
            i_len: usize,
            j: J,
        }

        impl<CB, J> ProducerCallback<J::Item> for CallbackI<CB, J>
        where
            J: IndexedParallelIterator,
            CB: ProducerCallback<J::Item>,
        {
            type Output = CB::Output;

            fn callback<P: Producer<Item = J::Item>>(self, i: P) -> CB::Output {
                let j_len = self.j.len();
                self.j.with_producer(CallbackJ { callback: self.callback, i_len: self.i_len, i, j_len })
            }
        }

        struct CallbackJ<CB, P> {
            callback: CB,
            i_len: usize,
            i: P,
            j_len: usize,
        }

        impl<CB, P> ProducerCallback<P::Item> for CallbackJ<CB, P>
        where
            P: Producer,
            CB: ProducerCallback<P::Item>,
        {
            type Output = CB::Output;

            fn callback<Q: Producer<Item = P::Item>>(self, j: Q) -> CB::Output {
                let CallbackJ { callback, i_len, i, j_len } = self;
                callback.callback(InterleaveProducer { i, i_len, j, j_len, is_i_next: true })
            }
        }

        let i_len = self.i.len();
        self.i.with_producer(CallbackI { callback, i_len, j: self.j })
    }
}

struct InterleaveProducer<I, J> {
    i: I,
    i_len: usize,
    j: J,
    j_len: usize,
    is_i_next: bool,
}

/// How many of the first `index` items come from either side.
fn shares(index: usize, i_len: usize, j_len: usize, is_i_next: bool) -> (usize, usize) {
    let (more, less) = (index.div_ceil(2), index / 2);
    let (of_i, of_j) = if is_i_next { (more, less) } else { (less, more) };
    if of_i > i_len {
        (i_len, index - i_len)
    } else if of_j > j_len {
        (index - j_len, j_len)
    } else {
        (of_i, of_j)
    }
}

impl<I, J> Producer for InterleaveProducer<I, J>
where
    I: Producer,
    J: Producer<Item = I::Item>,
{
    type Item = I::Item;
    type IntoIter = InterleaveIter<I::IntoIter, J::IntoIter>;
    const COSTLY_START: bool = I::COSTLY_START || J::COSTLY_START;

    fn into_iter(self) -> Self::IntoIter {
        InterleaveIter { i: self.i.into_iter(), j: self.j.into_iter(), is_i_next: self.is_i_next }
    }

    fn min_len(&self) -> usize {
        self.i.min_len().max(self.j.min_len())
    }

    fn max_len(&self) -> usize {
        self.i.max_len().min(self.j.max_len())
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let (of_i, of_j) = shares(index, self.i_len, self.j_len, self.is_i_next);
        let (i_left, i_right) = self.i.split_at(of_i);
        let (j_left, j_right) = self.j.split_at(of_j);
        let is_i_next = self.is_i_next == index.is_multiple_of(2);
        (
            InterleaveProducer { i: i_left, i_len: of_i, j: j_left, j_len: of_j, is_i_next: self.is_i_next },
            InterleaveProducer {
                i: i_right,
                i_len: self.i_len - of_i,
                j: j_right,
                j_len: self.j_len - of_j,
                is_i_next,
            },
        )
    }
}

struct InterleaveIter<I, J> {
    i: I,
    j: J,
    is_i_next: bool,
}

impl<I, J> Iterator for InterleaveIter<I, J>
where
    I: ExactSizeIterator,
    J: ExactSizeIterator<Item = I::Item>,
{
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.is_i_next = !self.is_i_next;
        if self.is_i_next {
            self.j.next().or_else(|| self.i.next())
        } else {
            self.i.next().or_else(|| self.j.next())
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.i.len() + self.j.len();
        (len, Some(len))
    }
}

impl<I, J> DoubleEndedIterator for InterleaveIter<I, J>
where
    I: ExactSizeIterator + DoubleEndedIterator,
    J: ExactSizeIterator<Item = I::Item> + DoubleEndedIterator,
{
    fn next_back(&mut self) -> Option<I::Item> {
        // The longer side has the last item; of two equal ones it is the side that comes second.
        match self.i.len().cmp(&self.j.len()) {
            Ordering::Greater => self.i.next_back(),
            Ordering::Less => self.j.next_back(),
            Ordering::Equal if self.is_i_next => self.j.next_back(),
            Ordering::Equal => self.i.next_back(),
        }
    }
}

impl<I, J> ExactSizeIterator for InterleaveIter<I, J>
where
    I: ExactSizeIterator,
    J: ExactSizeIterator<Item = I::Item>,
{
}
