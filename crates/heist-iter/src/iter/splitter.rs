//! `split`.

use super::ParallelIterator;
use super::plumbing::{Folder, UnindexedConsumer, UnindexedProducer, bridge_unindexed};

/// An iterator over parts of `data`, cut by `splitter` as often as there are workers for the parts.
///
/// The items are the parts that are not cut any further; `splitter` returns `None` for what is too small to be cut.
///
/// ```
/// # use heist::prelude::*;
/// use heist::iter::split;
/// let halve = |r: std::ops::Range<u64>| {
///     if r.end - r.start < 10 { return (r, None) }
///     let middle = r.start + (r.end - r.start) / 2;
///     (r.start..middle, Some(middle..r.end))
/// };
/// let sum: u64 = split(0..100, halve).map(|part| part.sum::<u64>()).sum();
/// assert_eq!(sum, 4950);
/// ```
pub fn split<D, S>(data: D, splitter: S) -> Split<D, S>
where
    D: Send,
    S: Fn(D) -> (D, Option<D>) + Sync,
{
    Split { data, splitter }
}

/// What [`split`] returns.
///
/// ```
/// # use heist::prelude::*;
/// let whole: Vec<_> = heist::iter::split("data", |data| (data, None)).collect();
/// assert_eq!(whole, ["data"]);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Clone)]
pub struct Split<D, S> {
    data: D,
    splitter: S,
}

impl<D: std::fmt::Debug, S> std::fmt::Debug for Split<D, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Split").field("data", &self.data).finish_non_exhaustive()
    }
}

impl<D, S> ParallelIterator for Split<D, S>
where
    D: Send,
    S: Fn(D) -> (D, Option<D>) + Sync + Send,
{
    type Item = D;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<D>>(self, consumer: C) -> C::Result {
        bridge_unindexed(SplitProducer { data: self.data, splitter: &self.splitter }, consumer)
    }
}

struct SplitProducer<'s, D, S> {
    data: D,
    splitter: &'s S,
}

impl<D, S> UnindexedProducer for SplitProducer<'_, D, S>
where
    D: Send,
    S: Fn(D) -> (D, Option<D>) + Sync,
{
    type Item = D;

    fn split(self) -> (Self, Option<Self>) {
        let splitter = self.splitter;
        let (left, right) = splitter(self.data);
        (SplitProducer { data: left, splitter }, right.map(|data| SplitProducer { data, splitter }))
    }

    fn fold_with<F: Folder<D>>(self, folder: F) -> F {
        folder.consume(self.data)
    }
}
