//! `Option` as an iterator of at most one item, and collecting options.
//!
//! ```
//! use heist::prelude::*;
//!
//! let all: Option<Vec<u32>> = ["1", "2"].par_iter().map(|s| s.parse().ok()).collect();
//! assert_eq!(all, Some(vec![1, 2]));
//! ```

use crate::iter::plumbing::{Consumer, Folder, Producer, ProducerCallback, UnindexedConsumer};
use crate::iter::{FromParallelIterator, IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use heist_sync::atomic::{AtomicBool, Ordering};

/// The item of an option, if there is one.
///
/// ```
/// # use heist::prelude::*;
/// assert_eq!(Some(3).into_par_iter().chain(None).sum::<i32>(), 3);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct IntoIter<T> {
    item: Option<T>,
}

impl<T: Send> IntoParallelIterator for Option<T> {
    type Item = T;
    type Iter = IntoIter<T>;

    fn into_par_iter(self) -> IntoIter<T> {
        IntoIter { item: self }
    }
}

impl<T: Send> ParallelIterator for IntoIter<T> {
    type Item = T;
    const IS_COUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<T>>(self, consumer: C) -> C::Result {
        self.drive(consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.len())
    }
}

impl<T: Send> IndexedParallelIterator for IntoIter<T> {
    fn drive<C: Consumer<T>>(self, consumer: C) -> C::Result {
        let folder = consumer.into_folder();
        match self.item {
            Some(item) if !folder.full() => folder.consume(item).complete(),
            unwanted => {
                drop(unwanted);
                folder.complete()
            }
        }
    }

    fn len(&self) -> usize {
        usize::from(self.item.is_some())
    }

    fn with_producer<CB: ProducerCallback<T>>(self, callback: CB) -> CB::Output {
        callback.callback(OptionProducer(self.item))
    }
}

struct OptionProducer<T>(Option<T>);

impl<T: Send> Producer for OptionProducer<T> {
    type Item = T;
    type IntoIter = std::option::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        debug_assert!(index <= usize::from(self.0.is_some()));
        if index == 0 { (OptionProducer(None), self) } else { (self, OptionProducer(None)) }
    }
}

/// The item of an option by shared reference, if there is one.
///
/// ```
/// # use heist::prelude::*;
/// assert_eq!(Some(3).par_iter().copied().sum::<i32>(), 3);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug)]
pub struct Iter<'a, T> {
    inner: IntoIter<&'a T>,
}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Iter { inner: self.inner.clone() }
    }
}

impl<'a, T: Sync> IntoParallelIterator for &'a Option<T> {
    type Item = &'a T;
    type Iter = Iter<'a, T>;

    fn into_par_iter(self) -> Iter<'a, T> {
        Iter { inner: self.as_ref().into_par_iter() }
    }
}

iterate_indexed_inner! {
    impl['a, T: Sync] Iter<'a, T>;
    type Item = &'a T;
}

/// The item of an option by exclusive reference, if there is one.
///
/// ```
/// # use heist::prelude::*;
/// let mut option = Some(3);
/// option.par_iter_mut().for_each(|n| *n += 1);
/// assert_eq!(option, Some(4));
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug)]
pub struct IterMut<'a, T> {
    inner: IntoIter<&'a mut T>,
}

impl<'a, T: Send> IntoParallelIterator for &'a mut Option<T> {
    type Item = &'a mut T;
    type Iter = IterMut<'a, T>;

    fn into_par_iter(self) -> IterMut<'a, T> {
        IterMut { inner: self.as_mut().into_par_iter() }
    }
}

iterate_indexed_inner! {
    impl['a, T: Send] IterMut<'a, T>;
    type Item = &'a mut T;
}

/// Collects what is in the `Some` items; `None` if one of them is `None`, and then the others stop early.
///
/// ```
/// # use heist::prelude::*;
/// let all: Option<Vec<i32>> = vec![Some(1), None].into_par_iter().collect();
/// assert_eq!(all, None);
/// ```
impl<C, T> FromParallelIterator<Option<T>> for Option<C>
where
    C: FromParallelIterator<T>,
    T: Send,
{
    fn from_par_iter<I: IntoParallelIterator<Item = Option<T>>>(par_iter: I) -> Self {
        let has_none = AtomicBool::new(false);
        let collection = par_iter
            .into_par_iter()
            .inspect(|item| {
                if item.is_none() {
                    // ORDERING: Relaxed: read below after the loop has ended, which orders it.
                    has_none.store(true, Ordering::Relaxed);
                }
            })
            .while_some()
            .collect();
        (!has_none.into_inner()).then_some(collection)
    }
}
