//! `once`.

use super::plumbing::{Consumer, ProducerCallback, UnindexedConsumer};
use super::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

/// An iterator with one item.
///
/// ```
/// # use heist::prelude::*;
/// use heist::iter::once;
/// let v: Vec<_> = (0..2).into_par_iter().chain(once(9)).collect();
/// assert_eq!(v, [0, 1, 9]);
/// ```
pub fn once<T: Send>(item: T) -> Once<T> {
    Once { item }
}

/// What [`once`] returns.
///
/// ```
/// # use heist::prelude::*;
/// assert_eq!(heist::iter::once(7).len(), 1);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct Once<T> {
    item: T,
}

impl<T: Send> ParallelIterator for Once<T> {
    type Item = T;
    const IS_COUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<T>>(self, consumer: C) -> C::Result {
        self.drive(consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(1)
    }
}

impl<T: Send> IndexedParallelIterator for Once<T> {
    fn drive<C: Consumer<T>>(self, consumer: C) -> C::Result {
        Some(self.item).into_par_iter().drive(consumer)
    }

    fn len(&self) -> usize {
        1
    }

    fn with_producer<CB: ProducerCallback<T>>(self, callback: CB) -> CB::Output {
        Some(self.item).into_par_iter().with_producer(callback)
    }
}
