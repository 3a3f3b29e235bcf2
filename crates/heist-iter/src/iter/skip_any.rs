//! `skip_any`.

use super::ParallelIterator;
use super::plumbing::{Folder, UnindexedConsumer};
use super::stage::{Stage, Through};
use super::tickets::{self, Tickets};
use heist_sync::atomic::AtomicUsize;

/// What [`skip_any`](ParallelIterator::skip_any) returns.
///
/// ```
/// # use heist::prelude::*;
/// assert_eq!((0..100).into_par_iter().skip_any(5).count(), 95);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct SkipAny<I> {
    base: I,
    count: usize,
}

impl<I> SkipAny<I> {
    pub(super) fn new(base: I, count: usize) -> Self {
        SkipAny { base, count }
    }
}

#[derive(Clone, Copy)]
struct Refuse<'a>(Tickets<'a>);

impl<T> Stage<T> for Refuse<'_> {
    type Out = T;

    #[inline]
    fn feed<F: Folder<T>>(self, folder: F, item: T) -> F {
        if self.0.take_one() {
            drop(item);
            folder
        } else {
            folder.consume(item)
        }
    }
}

impl<I: ParallelIterator> ParallelIterator for SkipAny<I> {
    type Item = I::Item;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        let left = AtomicUsize::new(self.count);
        self.base.drive_unindexed(Through::new(consumer, Refuse(tickets::new(&left))))
    }
}
