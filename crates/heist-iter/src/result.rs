//! `Result` as an iterator of at most one item, and collecting results.
//!
//! ```
//! use heist::prelude::*;
//!
//! let all: Result<Vec<u32>, std::num::ParseIntError> = ["1", "2"].par_iter().map(|s| s.parse()).collect();
//! assert_eq!(all, Ok(vec![1, 2]));
//! ```

use crate::iter::plumbing::{Consumer, ProducerCallback, UnindexedConsumer};
use crate::iter::{FromParallelIterator, IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use crate::option;
use heist_sync::{Mutex, lock};

/// The `Ok` value of a result, if it is one.
///
/// ```
/// # use heist::prelude::*;
/// assert_eq!(Ok::<i32, ()>(3).into_par_iter().sum::<i32>(), 3);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct IntoIter<T> {
    inner: option::IntoIter<T>,
}

impl<T: Send, E> IntoParallelIterator for Result<T, E> {
    type Item = T;
    type Iter = IntoIter<T>;

    fn into_par_iter(self) -> IntoIter<T> {
        IntoIter { inner: self.ok().into_par_iter() }
    }
}

iterate_indexed_inner! {
    impl[T: Send] IntoIter<T>;
    type Item = T;
}

/// The item of a result by shared reference, if there is one.
///
/// ```
/// # use heist::prelude::*;
/// assert_eq!(Ok::<i32, ()>(3).par_iter().copied().sum::<i32>(), 3);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug)]
pub struct Iter<'a, T> {
    inner: option::IntoIter<&'a T>,
}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Iter { inner: self.inner.clone() }
    }
}

impl<'a, T: Sync, E> IntoParallelIterator for &'a Result<T, E> {
    type Item = &'a T;
    type Iter = Iter<'a, T>;

    fn into_par_iter(self) -> Iter<'a, T> {
        Iter { inner: self.as_ref().ok().into_par_iter() }
    }
}

iterate_indexed_inner! {
    impl['a, T: Sync] Iter<'a, T>;
    type Item = &'a T;
}

/// The item of a result by exclusive reference, if there is one.
///
/// ```
/// # use heist::prelude::*;
/// let mut result = Ok::<i32, ()>(3);
/// result.par_iter_mut().for_each(|n| *n += 1);
/// assert_eq!(result, Ok(4));
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug)]
pub struct IterMut<'a, T> {
    inner: option::IntoIter<&'a mut T>,
}

impl<'a, T: Send, E> IntoParallelIterator for &'a mut Result<T, E> {
    type Item = &'a mut T;
    type Iter = IterMut<'a, T>;

    fn into_par_iter(self) -> IterMut<'a, T> {
        IterMut { inner: self.as_mut().ok().into_par_iter() }
    }
}

iterate_indexed_inner! {
    impl['a, T: Send] IterMut<'a, T>;
    type Item = &'a mut T;
}

/// Collects what is in the `Ok` items; one of the errors if there are any, and then the others stop early.
///
/// ```
/// # use heist::prelude::*;
/// let all: Result<Vec<i32>, &str> = vec![Ok(1), Err("no")].into_par_iter().collect();
/// assert_eq!(all, Err("no"));
/// ```
impl<C, T, E> FromParallelIterator<Result<T, E>> for Result<C, E>
where
    C: FromParallelIterator<T>,
    T: Send,
    E: Send,
{
    fn from_par_iter<I: IntoParallelIterator<Item = Result<T, E>>>(par_iter: I) -> Self {
        let first_error = Mutex::new(None);
        let keep_error = |item: Result<T, E>| match item {
            Ok(item) => Some(item),
            Err(error) => {
                lock(&first_error).get_or_insert(error);
                None
            }
        };
        let collection = par_iter.into_par_iter().map(keep_error).while_some().collect();
        let first_error = lock(&first_error).take();
        match first_error {
            None => Ok(collection),
            Some(error) => {
                drop(collection);
                Err(error)
            }
        }
    }
}
