//! `zip_eq`.

use super::plumbing::{Consumer, ProducerCallback, UnindexedConsumer};
use super::{IndexedParallelIterator, ParallelIterator, Zip};

/// What [`zip_eq`](IndexedParallelIterator::zip_eq) returns.
///
/// ```
/// # use heist::prelude::*;
/// let v: Vec<_> = (1..3).into_par_iter().zip_eq(["a", "b"]).collect();
/// assert_eq!(v, [(1, "a"), (2, "b")]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct ZipEq<A, B> {
    zip: Zip<A, B>,
}

impl<A, B> ZipEq<A, B> {
    /// Both must have the same length.
    pub(super) fn new(a: A, b: B) -> Self {
        ZipEq { zip: Zip::new(a, b) }
    }
}

impl<A, B> ParallelIterator for ZipEq<A, B>
where
    A: IndexedParallelIterator,
    B: IndexedParallelIterator,
{
    type Item = (A::Item, B::Item);
    const IS_COUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        self.zip.drive_unindexed(consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        self.zip.opt_len()
    }
}

impl<A, B> IndexedParallelIterator for ZipEq<A, B>
where
    A: IndexedParallelIterator,
    B: IndexedParallelIterator,
{
    fn drive<C: Consumer<Self::Item>>(self, consumer: C) -> C::Result {
        self.zip.drive(consumer)
    }

    fn len(&self) -> usize {
        self.zip.len()
    }

    fn with_producer<CB: ProducerCallback<Self::Item>>(self, callback: CB) -> CB::Output {
        self.zip.with_producer(callback)
    }
}
