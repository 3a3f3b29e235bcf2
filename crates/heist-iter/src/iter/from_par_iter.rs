//! `collect` into the standard collections.

use super::{FromParallelIterator, IntoParallelIterator, ParallelExtend, ParallelIterator};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, Hash};
use std::rc::Rc;
use std::sync::Arc;

/// Collects by extending what is empty.
macro_rules! from_extend {
    ($collection:ty, $item:ty, [$($params:tt)*] [$($bounds:tt)*]) => {
        impl<$($params)*> FromParallelIterator<$item> for $collection
        where
            $($bounds)*
        {
            fn from_par_iter<I: IntoParallelIterator<Item = $item>>(par_iter: I) -> Self {
                let mut collection = Self::default();
                collection.par_extend(par_iter);
                collection
            }
        }
    };
}

/// Collects by way of another collection.
macro_rules! from_other {
    ($collection:ty, $other:ty, $item:ty, [$($params:tt)*] [$($bounds:tt)*]) => {
        impl<$($params)*> FromParallelIterator<$item> for $collection
        where
            $($bounds)*
        {
            fn from_par_iter<I: IntoParallelIterator<Item = $item>>(par_iter: I) -> Self {
                <$other>::from_par_iter(par_iter).into()
            }
        }
    };
}

from_extend!(Vec<T>, T, [T] [T: Send]);
from_other!(Box<[T]>, Vec<T>, T, [T] [T: Send]);
from_other!(Rc<[T]>, Vec<T>, T, [T] [T: Send]);
from_other!(Arc<[T]>, Vec<T>, T, [T] [T: Send]);
from_other!(VecDeque<T>, Vec<T>, T, [T] [T: Send]);
from_other!(BinaryHeap<T>, Vec<T>, T, [T] [T: Ord + Send]);
from_extend!(LinkedList<T>, T, [T] [T: Send]);
from_extend!(HashMap<K, V, S>, (K, V), [K, V, S] [K: Eq + Hash + Send, V: Send, S: BuildHasher + Default + Send]);
from_extend!(BTreeMap<K, V>, (K, V), [K, V] [K: Ord + Send, V: Send]);
from_extend!(HashSet<T, S>, T, [T, S] [T: Eq + Hash + Send, S: BuildHasher + Default + Send]);
from_extend!(BTreeSet<T>, T, [T] [T: Send + Ord]);

macro_rules! from_text {
    ($($item:ty),*) => {
        $(
            from_extend!(String, $item, ['a] []);
            from_other!(Box<str>, String, $item, ['a] []);
        )*
    };
}

from_text!(char, &'a char, &'a str, Cow<'a, str>, Box<str>, String);
from_extend!(OsString, &'a OsStr, ['a] []);
from_extend!(OsString, OsString, [] []);
from_extend!(OsString, Cow<'a, OsStr>, ['a] []);

/// Always owned.
impl<C, T> FromParallelIterator<T> for Cow<'_, C>
where
    C: ToOwned<Owned: FromParallelIterator<T>> + ?Sized,
    T: Send,
{
    fn from_par_iter<I: IntoParallelIterator<Item = T>>(par_iter: I) -> Self {
        Cow::Owned(C::Owned::from_par_iter(par_iter))
    }
}

/// Runs the loop for what it does.
///
/// ```
/// # use heist::prelude::*;
/// let done: Result<(), String> = ["1", "2"]
///     .par_iter()
///     .map(|s| s.parse::<u8>().map(|_| ()).map_err(|error| error.to_string()))
///     .collect();
/// assert_eq!(done, Ok(()));
/// ```
impl FromParallelIterator<()> for () {
    fn from_par_iter<I: IntoParallelIterator<Item = ()>>(par_iter: I) -> Self {
        par_iter.into_par_iter().for_each(|()| ());
    }
}
