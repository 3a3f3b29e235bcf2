//! `enumerate`.

use super::plumbing::{Consumer, Producer, ProducerCallback, UnindexedConsumer, bridge, bridge_lazily};
use super::{IndexedParallelIterator, ParallelIterator};

/// What [`enumerate`](IndexedParallelIterator::enumerate) returns.
///
/// ```
/// # use heist::prelude::*;
/// let v: Vec<_> = ["a", "b"].into_par_iter().enumerate().collect();
/// assert_eq!(v, [(0, "a"), (1, "b")]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct Enumerate<I> {
    base: I,
}

impl<I> Enumerate<I> {
    pub(super) fn new(base: I) -> Self {
        Enumerate { base }
    }
}

impl<I: IndexedParallelIterator> ParallelIterator for Enumerate<I> {
    type Item = (usize, I::Item);
    const IS_COUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        bridge_lazily(self, consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.len())
    }
}

impl<I: IndexedParallelIterator> IndexedParallelIterator for Enumerate<I> {
    fn drive<C: Consumer<Self::Item>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn len(&self) -> usize {
        self.base.len()
    }

    fn with_producer<CB: ProducerCallback<Self::Item>>(self, callback: CB) -> CB::Output {
        struct Callback<CB> {
            callback: CB,
        }

        impl<T, CB: ProducerCallback<(usize, T)>> ProducerCallback<T> for Callback<CB> {
            type Output = CB::Output;

            fn callback<P: Producer<Item = T>>(self, base: P) -> CB::Output {
                self.callback.callback(EnumerateProducer { base, offset: 0 })
            }
        }

        self.base.with_producer(Callback { callback })
    }
}

struct EnumerateProducer<P> {
    base: P,
    offset: usize,
}

impl<P: Producer> Producer for EnumerateProducer<P> {
    type Item = (usize, P::Item);
    type IntoIter = std::iter::Zip<std::ops::Range<usize>, P::IntoIter>;
    const COSTLY_START: bool = P::COSTLY_START;

    fn into_iter(self) -> Self::IntoIter {
        let base = self.base.into_iter();
        // The range must end with the base, or the pairs would be wrong from the back. `offset + len` is at most the
        // whole length.
        (self.offset..self.offset + base.len()).zip(base)
    }

    fn min_len(&self) -> usize {
        self.base.min_len()
    }

    fn max_len(&self) -> usize {
        self.base.max_len()
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let (left, right) = self.base.split_at(index);
        (
            EnumerateProducer { base: left, offset: self.offset },
            EnumerateProducer { base: right, offset: self.offset + index },
        )
    }
}
