//! `with_min_len` and `with_max_len`.

use super::plumbing::{
    Consumer, Folder, Producer, ProducerCallback, UnindexedConsumer, bridge, bridge_lazily,
};
use super::{IndexedParallelIterator, ParallelIterator};

/// What [`with_min_len`](IndexedParallelIterator::with_min_len) returns.
///
/// ```
/// # use heist::prelude::*;
/// let sum: i32 = (0..100).into_par_iter().with_min_len(50).sum();
/// assert_eq!(sum, 4950);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct MinLen<I> {
    base: I,
    min: usize,
}

impl<I> MinLen<I> {
    pub(super) fn new(base: I, min: usize) -> Self {
        MinLen { base, min }
    }
}

impl<I: IndexedParallelIterator> ParallelIterator for MinLen<I> {
    type Item = I::Item;
    const IS_COUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        bridge_lazily(self, consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.len())
    }
}

impl<I: IndexedParallelIterator> IndexedParallelIterator for MinLen<I> {
    fn drive<C: Consumer<I::Item>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn len(&self) -> usize {
        self.base.len()
    }

    fn with_producer<CB: ProducerCallback<I::Item>>(self, callback: CB) -> CB::Output {
        self.base.with_producer(Callback { callback, min: self.min, max: usize::MAX })
    }
}

/// What [`with_max_len`](IndexedParallelIterator::with_max_len) returns.
///
/// ```
/// # use heist::prelude::*;
/// let sum: i32 = (0..100).into_par_iter().with_max_len(10).sum();
/// assert_eq!(sum, 4950);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct MaxLen<I> {
    base: I,
    max: usize,
}

impl<I> MaxLen<I> {
    pub(super) fn new(base: I, max: usize) -> Self {
        MaxLen { base, max }
    }
}

impl<I: IndexedParallelIterator> ParallelIterator for MaxLen<I> {
    type Item = I::Item;
    const IS_COUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        bridge_lazily(self, consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.len())
    }
}

impl<I: IndexedParallelIterator> IndexedParallelIterator for MaxLen<I> {
    fn drive<C: Consumer<I::Item>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn len(&self) -> usize {
        self.base.len()
    }

    fn with_producer<CB: ProducerCallback<I::Item>>(self, callback: CB) -> CB::Output {
        self.base.with_producer(Callback { callback, min: 1, max: self.max })
    }
}

struct Callback<CB> {
    callback: CB,
    min: usize,
    max: usize,
}

impl<T, CB: ProducerCallback<T>> ProducerCallback<T> for Callback<CB> {
    type Output = CB::Output;

    fn callback<P: Producer<Item = T>>(self, base: P) -> CB::Output {
        let (min, max) = (self.min.max(base.min_len()), self.max.min(base.max_len()));
        self.callback.callback(Bounded { base, min, max })
    }
}

/// A producer with bounds of its own.
struct Bounded<P> {
    base: P,
    min: usize,
    max: usize,
}

impl<P: Producer> Producer for Bounded<P> {
    type Item = P::Item;
    type IntoIter = P::IntoIter;
    const COSTLY_START: bool = P::COSTLY_START;

    fn into_iter(self) -> P::IntoIter {
        self.base.into_iter()
    }

    fn min_len(&self) -> usize {
        self.min
    }

    fn max_len(&self) -> usize {
        self.max
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let (left, right) = self.base.split_at(index);
        (Bounded { base: left, ..self }, Bounded { base: right, ..self })
    }

    fn fold_with<F: Folder<P::Item>>(self, folder: F) -> F {
        self.base.fold_with(folder)
    }
}
