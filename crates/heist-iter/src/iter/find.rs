//! `find_any`.

use super::ParallelIterator;
use super::plumbing::{Consumer, Folder, Reducer, UnindexedConsumer};
use super::reduce_with::first_of;
use heist_sync::atomic::{AtomicBool, Ordering};

pub(super) fn find_any<I, P>(par_iter: I, predicate: P) -> Option<I::Item>
where
    I: ParallelIterator,
    P: Fn(&I::Item) -> bool + Sync,
{
    let found = AtomicBool::new(false);
    par_iter.drive_unindexed(Find { predicate: &predicate, found: &found })
}

struct Find<'p, P> {
    predicate: &'p P,
    found: &'p AtomicBool,
}

impl<P> Clone for Find<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Find<'_, P> {}

impl<P> Find<'_, P> {
    #[inline]
    fn is_over(&self) -> bool {
        // ORDERING: Relaxed: a flag that publishes nothing; the item travels with the part's result.
        self.found.load(Ordering::Relaxed)
    }
}

impl<'p, T, P> Consumer<T> for Find<'p, P>
where
    T: Send,
    P: Fn(&T) -> bool + Sync,
{
    type Folder = FindFolder<'p, T, P>;
    type Reducer = EitherReducer;
    type Result = Option<T>;

    fn split_at(self, _index: usize) -> (Self, Self, EitherReducer) {
        (self, self, EitherReducer)
    }

    fn into_folder(self) -> Self::Folder {
        FindFolder { find: self, item: None }
    }

    fn full(&self) -> bool {
        self.is_over()
    }
}

impl<T, P> UnindexedConsumer<T> for Find<'_, P>
where
    T: Send,
    P: Fn(&T) -> bool + Sync,
{
    const ANYWHERE: bool = true;

    fn split_off_left(&self) -> Self {
        *self
    }

    fn to_reducer(&self) -> EitherReducer {
        EitherReducer
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
        if (self.find.predicate)(&item) {
            // ORDERING: Relaxed: see `is_over`.
            self.find.found.store(true, Ordering::Relaxed);
            self.item = Some(item);
        } else {
            drop(item);
        }
        self
    }

    #[inline]
    fn consume_iter<I: IntoIterator<Item = T>>(self, iter: I) -> Self {
        match search(iter.into_iter(), self.find.predicate, || self.find.is_over()) {
            Some(item) => {
                // ORDERING: Relaxed: see `is_over`.
                self.find.found.store(true, Ordering::Relaxed);
                FindFolder { item: Some(item), ..self }
            }
            None => self,
        }
    }

    fn complete(self) -> Option<T> {
        self.item
    }

    #[inline]
    fn full(&self) -> bool {
        self.find.is_over()
    }
}

/// The first item of `iter` that `predicate` says yes to, unless the search `is_over` before, because of what was found elsewhere.
///
/// Asks that after every few items if more are sure to come, else after each: to ask takes longer than to look at a light item.
#[inline]
pub(super) fn search<T>(
    mut iter: impl Iterator<Item = T>,
    predicate: impl Fn(&T) -> bool,
    is_over: impl Fn() -> bool,
) -> Option<T> {
    const FEW: usize = 8;
    while iter.size_hint().0 >= FEW {
        for _ in 0..FEW {
            let item = iter.next()?;
            if predicate(&item) {
                return Some(item);
            }
        }
        if is_over() {
            return None;
        }
    }
    for item in iter {
        if predicate(&item) {
            return Some(item);
        }
        if is_over() {
            break;
        }
    }
    None
}

struct EitherReducer;

impl<T> Reducer<Option<T>> for EitherReducer {
    fn reduce(self, left: Option<T>, right: Option<T>) -> Option<T> {
        if left.is_some() { first_of(left, right) } else { right }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn the_first_that_is_wanted_is_found_wherever_it_is() {
        for wanted in 0..20 {
            assert_eq!(search(0..20, |n| *n >= wanted, || false), Some(wanted));
            // Nothing is known about how many items a filter lets through.
            assert_eq!(search((0..20).filter(|_| true), |n| *n >= wanted, || false), Some(wanted));
        }
        assert_eq!(search(0..20, |_| false, || false), None);
    }

    #[test]
    fn a_search_that_is_over_ends_after_a_few_items() {
        let looked_at = |iter: &mut dyn Iterator<Item = u32>| {
            let count = Cell::new(0);
            let found = search(iter, |_| count.replace(count.get() + 1) > 1_000, || true);
            assert_eq!(found, None);
            count.get()
        };
        assert!(looked_at(&mut (0..1_000)) <= 8, "items that are sure to come");
        assert_eq!(looked_at(&mut (0..1_000).filter(|_| true)), 1, "items that may take long to come");
        assert_eq!(looked_at(&mut (0..3)), 1, "a few long items");
    }
}
