//! `copied`.

use super::one_to_one::{self, Each, OneToOne};
use super::plumbing::{Consumer, ProducerCallback, UnindexedConsumer};
use super::stage::Through;
use super::{IndexedParallelIterator, ParallelIterator};

/// What [`copied`](ParallelIterator::copied) returns.
///
/// ```
/// # use heist::prelude::*;
/// let v: Vec<u8> = [1, 2].par_iter().copied().collect();
/// assert_eq!(v, [1, 2]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct Copied<I> {
    base: I,
}

impl<I> Copied<I> {
    pub(super) fn new(base: I) -> Self {
        Copied { base }
    }
}

#[derive(Clone, Copy)]
struct CopyIt;

impl<'a, T: Copy> Each<&'a T> for CopyIt {
    type Out = T;

    #[inline]
    fn each(self, item: &'a T) -> T {
        *item
    }
}

impl<'a, T, I> ParallelIterator for Copied<I>
where
    I: ParallelIterator<Item = &'a T>,
    T: 'a + Copy + Send + Sync,
{
    type Item = T;
    const IS_COUNTED: bool = I::IS_COUNTED;
    const IS_UNCOUNTED: bool = I::IS_UNCOUNTED;

    fn drive_unindexed<C: UnindexedConsumer<T>>(self, consumer: C) -> C::Result {
        self.base.drive_unindexed(Through::new(consumer, OneToOne(CopyIt)))
    }

    fn opt_len(&self) -> Option<usize> {
        self.base.opt_len()
    }
}

impl<'a, T, I> IndexedParallelIterator for Copied<I>
where
    I: IndexedParallelIterator<Item = &'a T>,
    T: 'a + Copy + Send + Sync,
{
    fn drive<C: Consumer<T>>(self, consumer: C) -> C::Result {
        self.base.drive(Through::new(consumer, OneToOne(CopyIt)))
    }

    fn len(&self) -> usize {
        self.base.len()
    }

    fn with_producer<CB: ProducerCallback<T>>(self, callback: CB) -> CB::Output {
        one_to_one::with_producer(self.base, CopyIt, callback)
    }
}
