//! `cloned`.

use super::one_to_one::{self, Each, OneToOne};
use super::plumbing::{Consumer, ProducerCallback, UnindexedConsumer};
use super::stage::Through;
use super::{IndexedParallelIterator, ParallelIterator};

/// What [`cloned`](ParallelIterator::cloned) returns.
///
/// ```
/// # use heist::prelude::*;
/// let v: Vec<String> = [String::from("jade")].par_iter().cloned().collect();
/// assert_eq!(v, ["jade"]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct Cloned<I> {
    base: I,
}

impl<I> Cloned<I> {
    pub(super) fn new(base: I) -> Self {
        Cloned { base }
    }
}

#[derive(Clone, Copy)]
struct CloneIt;

impl<'a, T: Clone> Each<&'a T> for CloneIt {
    type Out = T;

    #[inline]
    fn each(self, item: &'a T) -> T {
        item.clone()
    }
}

impl<'a, T, I> ParallelIterator for Cloned<I>
where
    I: ParallelIterator<Item = &'a T>,
    T: 'a + Clone + Send + Sync,
{
    type Item = T;
    const IS_COUNTED: bool = I::IS_COUNTED;
    const IS_UNCOUNTED: bool = I::IS_UNCOUNTED;

    fn drive_unindexed<C: UnindexedConsumer<T>>(self, consumer: C) -> C::Result {
        self.base.drive_unindexed(Through::new(consumer, OneToOne(CloneIt)))
    }

    fn opt_len(&self) -> Option<usize> {
        self.base.opt_len()
    }
}

impl<'a, T, I> IndexedParallelIterator for Cloned<I>
where
    I: IndexedParallelIterator<Item = &'a T>,
    T: 'a + Clone + Send + Sync,
{
    fn drive<C: Consumer<T>>(self, consumer: C) -> C::Result {
        self.base.drive(Through::new(consumer, OneToOne(CloneIt)))
    }

    fn len(&self) -> usize {
        self.base.len()
    }

    fn with_producer<CB: ProducerCallback<T>>(self, callback: CB) -> CB::Output {
        one_to_one::with_producer(self.base, CloneIt, callback)
    }
}
