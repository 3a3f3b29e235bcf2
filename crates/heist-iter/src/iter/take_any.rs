//! `take_any`.

use super::ParallelIterator;
use super::plumbing::{Folder, UnindexedConsumer};
use super::stage::{Stage, Through};
use super::tickets::{self, Tickets};
use heist_sync::atomic::AtomicUsize;

/// What [`take_any`](ParallelIterator::take_any) returns.
///
/// ```
/// # use heist::prelude::*;
/// assert_eq!((0..100).into_par_iter().take_any(5).count(), 5);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct TakeAny<I> {
    base: I,
    count: usize,
}

impl<I> TakeAny<I> {
    pub(super) fn new(base: I, count: usize) -> Self {
        TakeAny { base, count }
    }
}

#[derive(Clone, Copy)]
struct Admit<'a>(Tickets<'a>);

impl<T> Stage<T> for Admit<'_> {
    type Out = T;

    #[inline]
    fn feed<F: Folder<T>>(self, folder: F, item: T) -> F {
        if self.0.take_one() {
            folder.consume(item)
        } else {
            drop(item);
            folder
        }
    }

    #[inline]
    fn is_full(self) -> bool {
        self.0.is_empty()
    }
}

impl<I: ParallelIterator> ParallelIterator for TakeAny<I> {
    type Item = I::Item;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        let left = AtomicUsize::new(self.count);
        self.base.drive_unindexed(Through::new(consumer, Admit(tickets::new(&left))))
    }
}
