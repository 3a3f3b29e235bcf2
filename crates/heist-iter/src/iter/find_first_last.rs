//! `find_first` and `find_last`.
//!
//! To know whether a find makes a part of the loop pointless, parts must be comparable. Each one gets an interval of
//! `usize`: the whole loop all of it, the parts of a division most of it and the rest. The best find so far is a bound in the same
//! scale. After enough divisions the parts of one are no longer distinct; then such parts only stop less early.

use super::ParallelIterator;
use super::find::search;
use super::plumbing::{Consumer, Folder, Reducer, UnindexedConsumer};
use super::reduce_with::first_of;
use heist_sync::atomic::{AtomicUsize, Ordering};
use std::cell::Cell;

pub(super) fn find_first<I, P>(par_iter: I, predicate: P) -> Option<I::Item>
where
    I: ParallelIterator,
    P: Fn(&I::Item) -> bool + Sync,
{
    let best = AtomicUsize::new(usize::MAX);
    par_iter.drive_unindexed(Find::whole(Side::First, &predicate, &best))
}

pub(super) fn find_last<I, P>(par_iter: I, predicate: P) -> Option<I::Item>
where
    I: ParallelIterator,
    P: Fn(&I::Item) -> bool + Sync,
{
    let best = AtomicUsize::new(0);
    par_iter.drive_unindexed(Find::whole(Side::Last, &predicate, &best))
}

#[derive(Debug, Clone, Copy)]
enum Side {
    First,
    Last,
}

/// The side of a part where nothing more is wanted once something is found on the other keeps this share of its range.
const SHARE: usize = 16;

/// The search in the part of the loop between `lower` and `upper`.
struct Find<'p, P> {
    side: Side,
    predicate: &'p P,
    /// The outer bound of the part with the best find so far.
    best: &'p AtomicUsize,
    lower: Cell<usize>,
    upper: usize,
}

impl<'p, P> Find<'p, P> {
    fn whole(side: Side, predicate: &'p P, best: &'p AtomicUsize) -> Self {
        Find { side, predicate, best, lower: Cell::new(0), upper: usize::MAX }
    }

    /// Whether a find elsewhere beats whatever could be found here.
    #[inline]
    fn is_beaten(&self) -> bool {
        // ORDERING: Relaxed, here and in `report`: only the bound itself matters, the item travels with the result.
        let best = self.best.load(Ordering::Relaxed);
        match self.side {
            Side::First => best < self.lower.get(),
            Side::Last => best > self.upper,
        }
    }

    /// Tells the others that something was found here.
    fn report(&self) {
        match self.side {
            Side::First => self.best.fetch_min(self.lower.get(), Ordering::Relaxed),
            Side::Last => self.best.fetch_max(self.upper, Ordering::Relaxed),
        };
    }

    /// Cuts off what comes first. The side that is wanted keeps most of the range: the way to it has many cuts, one for each item of a flattened
    /// loop among them. On the other side the range is used up sooner, and only what is found there stops less early.
    fn cut(&self) -> Self {
        let (lower, upper) = (self.lower.get(), self.upper);
        let part = (upper - lower) / SHARE;
        let middle = match self.side {
            Side::First => upper - part,
            Side::Last => lower + part,
        };
        self.lower.set(middle);
        Find { lower: Cell::new(lower), upper: middle, ..*self }
    }
}

impl<'p, T, P> Consumer<T> for Find<'p, P>
where
    T: Send,
    P: Fn(&T) -> bool + Sync,
{
    type Folder = FindFolder<'p, T, P>;
    type Reducer = SideReducer;
    type Result = Option<T>;

    fn split_at(self, _index: usize) -> (Self, Self, SideReducer) {
        let reducer = SideReducer(self.side);
        (self.cut(), self, reducer)
    }

    fn into_folder(self) -> Self::Folder {
        FindFolder { find: self, item: None }
    }

    fn full(&self) -> bool {
        self.is_beaten()
    }
}

impl<T, P> UnindexedConsumer<T> for Find<'_, P>
where
    T: Send,
    P: Fn(&T) -> bool + Sync,
{
    const ANYWHERE: bool = true;

    fn split_off_left(&self) -> Self {
        self.cut()
    }

    fn to_reducer(&self) -> SideReducer {
        SideReducer(self.side)
    }
}

struct FindFolder<'p, T, P> {
    find: Find<'p, P>,
    item: Option<T>,
}

impl<T, P> Folder<T> for FindFolder<'_, T, P>
where
    P: Fn(&T) -> bool,
{
    type Result = Option<T>;

    #[inline]
    fn consume(mut self, item: T) -> Self {
        let is_wanted = match self.find.side {
            Side::First => self.item.is_none(),
            Side::Last => true,
        };
        if is_wanted && (self.find.predicate)(&item) {
            if self.item.is_none() {
                self.find.report();
            }
            self.item = Some(item);
        } else {
            drop(item);
        }
        self
    }

    #[inline]
    fn consume_iter<I: IntoIterator<Item = T>>(mut self, iter: I) -> Self {
        match self.find.side {
            Side::First if self.item.is_none() => {
                self.item = search(iter.into_iter(), self.find.predicate, || self.find.is_beaten());
                if self.item.is_some() {
                    self.find.report();
                }
            }
            Side::First => {}
            Side::Last => {
                for item in iter {
                    self = self.consume(item);
                    if self.full() {
                        break;
                    }
                }
            }
        }
        self
    }

    fn complete(self) -> Option<T> {
        self.item
    }

    #[inline]
    fn full(&self) -> bool {
        let is_done = match self.find.side {
            Side::First => self.item.is_some(),
            Side::Last => false,
        };
        is_done || self.find.is_beaten()
    }
}

struct SideReducer(Side);

impl<T> Reducer<Option<T>> for SideReducer {
    fn reduce(self, left: Option<T>, right: Option<T>) -> Option<T> {
        let (better, other) = match self.0 {
            Side::First => (left, right),
            Side::Last => (right, left),
        };
        if better.is_some() { first_of(better, other) } else { other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each cut takes the part on the wanted side; the one that is left behind can still be told from it.
    #[test]
    fn the_way_to_the_wanted_side_may_have_hundreds_of_cuts() {
        let is_wanted = |_: &u8| true;
        let best = AtomicUsize::new(usize::MAX);
        let mut first = Find::whole(Side::First, &is_wanted, &best);
        let best = AtomicUsize::new(0);
        let last = Find::whole(Side::Last, &is_wanted, &best);
        for cuts in 0..300 {
            let far = first;
            first = far.cut();
            assert!(far.lower.get() > first.lower.get(), "{cuts}");
            let near = last.cut();
            assert!(near.upper < last.upper, "{cuts}");
        }
        // What is found there beats everything that was cut off.
        let near = last.cut();
        last.report();
        assert!(near.is_beaten() && !last.is_beaten());
    }
}
