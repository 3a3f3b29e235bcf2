//! `take_any_while`.

use super::ParallelIterator;
use super::plumbing::{Folder, UnindexedConsumer};
use super::stage::{Stage, Through};
use heist_sync::atomic::{AtomicBool, Ordering};

/// What [`take_any_while`](ParallelIterator::take_any_while) returns.
///
/// ```
/// # use heist::prelude::*;
/// assert!((0..100).into_par_iter().take_any_while(|n| *n < 50).all(|n| n < 50));
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Clone)]
pub struct TakeAnyWhile<I, P> {
    base: I,
    predicate: P,
}

impl_debug!(TakeAnyWhile<I, P>);

impl<I, P> TakeAnyWhile<I, P> {
    pub(super) fn new(base: I, predicate: P) -> Self {
        TakeAnyWhile { base, predicate }
    }
}

/// The predicate, and whether it has said no.
struct Until<'a, P> {
    predicate: &'a P,
    ended: &'a AtomicBool,
}

impl<P> Clone for Until<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Until<'_, P> {}

impl<T, P: Fn(&T) -> bool + Sync> Stage<T> for Until<'_, P> {
    type Out = T;

    #[inline]
    fn feed<F: Folder<T>>(self, folder: F, item: T) -> F {
        // ORDERING: Relaxed, here and below: a flag that publishes nothing. Whoever sees it late takes an item that was
        // there before the flag, as far as anybody can tell.
        if self.ended.load(Ordering::Relaxed) {
            drop(item);
            return folder;
        }
        if (self.predicate)(&item) {
            folder.consume(item)
        } else {
            drop(item);
            self.ended.store(true, Ordering::Relaxed);
            folder
        }
    }

    #[inline]
    fn is_full(self) -> bool {
        // ORDERING: Relaxed: see `feed`.
        self.ended.load(Ordering::Relaxed)
    }
}

impl<I, P> ParallelIterator for TakeAnyWhile<I, P>
where
    I: ParallelIterator,
    P: Fn(&I::Item) -> bool + Sync + Send,
{
    type Item = I::Item;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        let ended = AtomicBool::new(false);
        self.base.drive_unindexed(Through::new(consumer, Until { predicate: &self.predicate, ended: &ended }))
    }
}
