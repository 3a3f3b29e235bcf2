//! `skip_any_while`.

use super::ParallelIterator;
use super::plumbing::{Folder, UnindexedConsumer};
use super::stage::{Stage, Through};
use heist_sync::atomic::{AtomicBool, Ordering};

/// What [`skip_any_while`](ParallelIterator::skip_any_while) returns.
///
/// ```
/// # use heist::prelude::*;
/// assert!((0..100).into_par_iter().skip_any_while(|n| *n < 50).count() >= 50);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Clone)]
pub struct SkipAnyWhile<I, P> {
    base: I,
    predicate: P,
}

impl_debug!(SkipAnyWhile<I, P>);

impl<I, P> SkipAnyWhile<I, P> {
    pub(super) fn new(base: I, predicate: P) -> Self {
        SkipAnyWhile { base, predicate }
    }
}

/// The predicate, and whether it has said no.
struct After<'a, P> {
    predicate: &'a P,
    ended: &'a AtomicBool,
}

impl<P> Clone for After<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for After<'_, P> {}

impl<T, P: Fn(&T) -> bool + Sync> Stage<T> for After<'_, P> {
    type Out = T;

    #[inline]
    fn feed<F: Folder<T>>(self, folder: F, item: T) -> F {
        // ORDERING: Relaxed, here and below: a flag that publishes nothing. Whoever sees it late asks the predicate once
        // more, as if its item had come before.
        if !self.ended.load(Ordering::Relaxed) {
            if (self.predicate)(&item) {
                drop(item);
                return folder;
            }
            self.ended.store(true, Ordering::Relaxed);
        }
        folder.consume(item)
    }
}

impl<I, P> ParallelIterator for SkipAnyWhile<I, P>
where
    I: ParallelIterator,
    P: Fn(&I::Item) -> bool + Sync + Send,
{
    type Item = I::Item;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        let ended = AtomicBool::new(false);
        self.base.drive_unindexed(Through::new(consumer, After { predicate: &self.predicate, ended: &ended }))
    }
}
