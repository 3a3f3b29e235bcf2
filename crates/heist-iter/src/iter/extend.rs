//! `par_extend` of the standard collections.
//!
//! Items are produced in parallel, and put into the collection by one thread. Only vectors are written by all.

use super::collect::lists::{Append, Bins};
use super::collect::{append, collect_vecs};
use super::plumbing::{Consumer, Folder, UnindexedConsumer};
use super::{Either, IntoParallelIterator, ParallelExtend, ParallelIterator};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, Hash};

/// Hands all items to `put`, vector by vector, after telling `reserve` what `size` adds up to.
fn pour<C, I, T>(
    collection: &mut C,
    par_iter: I,
    size: impl Fn(&T) -> usize,
    reserve: impl FnOnce(&mut C, usize),
    put: impl Fn(&mut C, Vec<T>),
) where
    I: IntoParallelIterator<Item = T>,
    T: Send,
{
    match collect_vecs(par_iter) {
        Either::Left(vec) => {
            reserve(collection, vec.iter().map(size).sum());
            put(collection, vec);
        }
        Either::Right(list) => {
            reserve(collection, list.iter().flatten().map(size).sum());
            for vec in list {
                put(collection, vec);
            }
        }
    }
}

/// `ParallelExtend` by `Extend`, for items by value and by reference.
macro_rules! extend {
    ($collection:ty, $owned:ty, $borrowed:ty, [$($params:tt)*] [$($bounds:tt)*] [$($copy_bounds:tt)*], $reserve:expr) => {
        impl<$($params)*> ParallelExtend<$owned> for $collection
        where
            $($bounds)*
        {
            fn par_extend<I: IntoParallelIterator<Item = $owned>>(&mut self, par_iter: I) {
                pour(self, par_iter, |_| 1, $reserve, |to, vec| to.extend(vec));
            }
        }

        impl<'a, $($params)*> ParallelExtend<$borrowed> for $collection
        where
            $($copy_bounds)*
        {
            fn par_extend<I: IntoParallelIterator<Item = $borrowed>>(&mut self, par_iter: I) {
                pour(self, par_iter, |_| 1, $reserve, |to, vec| to.extend(vec));
            }
        }
    };
}

extend!(BinaryHeap<T>, T, &'a T, [T] [T: Ord + Send] [T: 'a + Copy + Ord + Send + Sync], BinaryHeap::reserve);
extend!(BTreeSet<T>, T, &'a T, [T] [T: Ord + Send] [T: 'a + Copy + Ord + Send + Sync], |_, _| ());
extend!(VecDeque<T>, T, &'a T, [T] [T: Send] [T: 'a + Copy + Send + Sync], VecDeque::reserve);
extend!(
    BTreeMap<K, V>, (K, V), (&'a K, &'a V),
    [K, V] [K: Ord + Send, V: Send] [K: 'a + Copy + Ord + Send + Sync, V: 'a + Copy + Send + Sync], |_, _| ()
);
extend!(
    HashSet<T, S>, T, &'a T, [T, S] [T: Eq + Hash + Send, S: BuildHasher + Send]
    [T: 'a + Copy + Eq + Hash + Send + Sync, S: BuildHasher + Send], HashSet::reserve
);
extend!(
    HashMap<K, V, S>, (K, V), (&'a K, &'a V), [K, V, S] [K: Eq + Hash + Send, V: Send, S: BuildHasher + Send]
    [K: 'a + Copy + Eq + Hash + Send + Sync, V: 'a + Copy + Send + Sync, S: BuildHasher + Send], HashMap::reserve
);

/// Items of known number are written in place by all workers; others are collected in parts, which are then moved.
impl<T: Send> ParallelExtend<T> for Vec<T> {
    fn par_extend<I: IntoParallelIterator<Item = T>>(&mut self, par_iter: I) {
        append(self, par_iter);
    }
}

impl<'a, T: 'a + Copy + Send + Sync> ParallelExtend<&'a T> for Vec<T> {
    fn par_extend<I: IntoParallelIterator<Item = &'a T>>(&mut self, par_iter: I) {
        append(self, par_iter.into_par_iter().copied());
    }
}

/// Every stretch makes its own nodes.
impl<T: Send> ParallelExtend<T> for LinkedList<T> {
    fn par_extend<I: IntoParallelIterator<Item = T>>(&mut self, par_iter: I) {
        self.append(&mut par_iter.into_par_iter().drive_unindexed(Nodes));
    }
}

impl<'a, T: 'a + Copy + Send + Sync> ParallelExtend<&'a T> for LinkedList<T> {
    fn par_extend<I: IntoParallelIterator<Item = &'a T>>(&mut self, par_iter: I) {
        self.par_extend(par_iter.into_par_iter().copied());
    }
}

/// The consumer into a linked list.
pub(super) struct Nodes;

impl<T: Send> Consumer<T> for Nodes {
    type Folder = NodesFolder<T>;
    type Reducer = Append;
    type Result = LinkedList<T>;

    fn split_at(self, _index: usize) -> (Self, Self, Append) {
        (Nodes, Nodes, Append)
    }

    fn into_folder(self) -> NodesFolder<T> {
        NodesFolder(LinkedList::new())
    }

    fn full(&self) -> bool {
        false
    }
}

impl<T: Send> UnindexedConsumer<T> for Nodes {
    const ANYWHERE: bool = true;

    fn split_off_left(&self) -> Self {
        Nodes
    }

    fn to_reducer(&self) -> Append {
        Append
    }
}

pub(super) struct NodesFolder<T>(LinkedList<T>);

impl<T> Folder<T> for NodesFolder<T> {
    type Result = LinkedList<T>;

    fn consume(mut self, item: T) -> Self {
        self.0.push_back(item);
        self
    }

    fn complete(self) -> LinkedList<T> {
        self.0
    }

    fn full(&self) -> bool {
        false
    }
}

/// Every stretch encodes its own characters.
impl ParallelExtend<char> for String {
    fn par_extend<I: IntoParallelIterator<Item = char>>(&mut self, par_iter: I) {
        let parts = par_iter.into_par_iter().drive_unindexed(Bins::<String>::new()).into_list();
        self.reserve(parts.iter().map(String::len).sum());
        self.extend(parts);
    }
}

impl<'a> ParallelExtend<&'a char> for String {
    fn par_extend<I: IntoParallelIterator<Item = &'a char>>(&mut self, par_iter: I) {
        self.par_extend(par_iter.into_par_iter().copied());
    }
}

macro_rules! extend_text {
    ($text:ty: $($item:ty),*) => {
        $(
            #[allow(clippy::extra_unused_lifetimes, reason = "some items borrow")]
            impl<'a> ParallelExtend<$item> for $text {
                fn par_extend<I: IntoParallelIterator<Item = $item>>(&mut self, par_iter: I) {
                    pour(self, par_iter, |item| item.len(), <$text>::reserve, |to, vec| to.extend(vec));
                }
            }
        )*
    };
}

extend_text!(String: &'a str, String, Box<str>, Cow<'a, str>);
extend_text!(OsString: &'a OsStr, OsString, Cow<'a, OsStr>);

/// Runs the loop for what it does.
impl ParallelExtend<()> for () {
    fn par_extend<I: IntoParallelIterator<Item = ()>>(&mut self, par_iter: I) {
        par_iter.into_par_iter().for_each(|()| ());
    }
}
