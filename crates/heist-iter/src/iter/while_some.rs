//! `while_some`.

use super::ParallelIterator;
use super::plumbing::{Folder, UnindexedConsumer};
use super::stage::{Stage, Through};
use heist_sync::atomic::{AtomicBool, Ordering};

/// What [`while_some`](ParallelIterator::while_some) returns.
///
/// ```
/// # use heist::prelude::*;
/// let digits: Vec<u32> = ["1", "2"].par_iter().map(|s| s.parse().ok()).while_some().collect();
/// assert_eq!(digits, [1, 2]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct WhileSome<I> {
    base: I,
}

impl<I> WhileSome<I> {
    pub(super) fn new(base: I) -> Self {
        WhileSome { base }
    }
}

/// Whether a `None` has been seen.
#[derive(Clone, Copy)]
struct Ended<'a>(&'a AtomicBool);

impl<T> Stage<Option<T>> for Ended<'_> {
    type Out = T;

    #[inline]
    fn feed<F: Folder<T>>(self, folder: F, item: Option<T>) -> F {
        match item {
            Some(item) => folder.consume(item),
            None => {
                // ORDERING: Relaxed: a flag that publishes nothing. Whoever sees it late does some work in vain.
                self.0.store(true, Ordering::Relaxed);
                folder
            }
        }
    }

    #[inline]
    fn is_full(self) -> bool {
        // ORDERING: Relaxed: see `feed`.
        self.0.load(Ordering::Relaxed)
    }
}

impl<I, T> ParallelIterator for WhileSome<I>
where
    I: ParallelIterator<Item = Option<T>>,
    T: Send,
{
    type Item = T;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<T>>(self, consumer: C) -> C::Result {
        let ended = AtomicBool::new(false);
        self.base.drive_unindexed(Through::new(consumer, Ended(&ended)))
    }
}
