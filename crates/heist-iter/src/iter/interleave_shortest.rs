//! `interleave_shortest`.

use super::plumbing::{Consumer, ProducerCallback, UnindexedConsumer};
use super::{IndexedParallelIterator, Interleave, ParallelIterator, Take};

/// What [`interleave_shortest`](IndexedParallelIterator::interleave_shortest) returns.
///
/// ```
/// # use heist::prelude::*;
/// let v: Vec<_> = vec![1, 2, 3].into_par_iter().interleave_shortest(vec![9]).collect();
/// assert_eq!(v, [1, 9, 2]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct InterleaveShortest<I, J> {
    interleave: Interleave<Take<I>, Take<J>>,
}

impl<I, J> InterleaveShortest<I, J>
where
    I: IndexedParallelIterator,
    J: IndexedParallelIterator<Item = I::Item>,
{
    pub(super) fn new(i: I, j: J) -> Self {
        // The first side has the last item if it is the longer one, because it has the first turn.
        let of_i = i.len().min(j.len().saturating_add(1));
        let of_j = j.len().min(of_i);
        InterleaveShortest { interleave: i.take(of_i).interleave(j.take(of_j)) }
    }
}

impl<I, J> ParallelIterator for InterleaveShortest<I, J>
where
    I: IndexedParallelIterator,
    J: IndexedParallelIterator<Item = I::Item>,
{
    type Item = I::Item;
    const IS_COUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        self.interleave.drive_unindexed(consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        self.interleave.opt_len()
    }
}

impl<I, J> IndexedParallelIterator for InterleaveShortest<I, J>
where
    I: IndexedParallelIterator,
    J: IndexedParallelIterator<Item = I::Item>,
{
    fn drive<C: Consumer<I::Item>>(self, consumer: C) -> C::Result {
        self.interleave.drive(consumer)
    }

    fn len(&self) -> usize {
        self.interleave.len()
    }

    fn with_producer<CB: ProducerCallback<I::Item>>(self, callback: CB) -> CB::Output {
        self.interleave.with_producer(callback)
    }
}
