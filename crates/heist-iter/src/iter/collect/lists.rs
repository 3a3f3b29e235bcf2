//! Collecting an unknown number of items: every stretch makes a collection of its own, and these are linked. Most loops have only one.

use crate::iter::plumbing::{Consumer, Folder, Reducer, UnindexedConsumer};
use std::collections::LinkedList;
use std::marker::PhantomData;

/// A collection.
pub(in crate::iter) trait Part: Send {
    fn empty() -> Self;
    fn is_empty(&self) -> bool;
}

/// A collection that a stretch fills.
pub(in crate::iter) trait Bin<T>: Part {
    fn put(&mut self, item: T);
    fn put_all(&mut self, items: impl Iterator<Item = T>);
}

impl<T: Send> Part for Vec<T> {
    fn empty() -> Self {
        Vec::new()
    }

    fn is_empty(&self) -> bool {
        Vec::is_empty(self)
    }
}

impl<T: Send> Bin<T> for Vec<T> {
    #[inline]
    fn put(&mut self, item: T) {
        let len = self.len();
        if len == self.capacity() {
            *self = grown(std::mem::take(self));
        }
        debug_assert!(len < self.capacity());
        // SAFETY: there is room for one more, if need be just made.
        unsafe { self.as_mut_ptr().add(len).write(item) };
        // SAFETY: the item behind the old end has just been written.
        unsafe { self.set_len(len + 1) };
    }

    #[inline]
    fn put_all(&mut self, items: impl Iterator<Item = T>) {
        self.extend(items);
    }
}

/// Makes room for more. By value, so that a loop that puts one item after the other keeps the vector in registers: `push` would give away its
/// address.
#[cold]
#[inline(never)]
fn grown<T>(mut vec: Vec<T>) -> Vec<T> {
    vec.reserve(1);
    vec
}

impl Part for String {
    fn empty() -> Self {
        String::new()
    }

    fn is_empty(&self) -> bool {
        String::is_empty(self)
    }
}

impl Bin<char> for String {
    #[inline]
    fn put(&mut self, item: char) {
        self.push(item);
    }

    #[inline]
    fn put_all(&mut self, items: impl Iterator<Item = char>) {
        self.extend(items);
    }
}

/// What the stretches have filled, in order. The first one needs no place in the list, and is empty only if all are.
pub(in crate::iter) struct Parts<B> {
    pub(super) first: B,
    pub(super) others: LinkedList<B>,
}

impl<B: Part> Parts<B> {
    /// All that are not empty.
    pub(in crate::iter) fn into_list(self) -> LinkedList<B> {
        let mut list = self.others;
        if !self.first.is_empty() {
            list.push_front(self.first);
        }
        list
    }
}

/// The consumer into a list of bins.
pub(in crate::iter) struct Bins<B>(PhantomData<fn() -> B>);

impl<B> Bins<B> {
    pub(in crate::iter) fn new() -> Self {
        Bins(PhantomData)
    }
}

impl<T, B: Bin<T>> Consumer<T> for Bins<B> {
    type Folder = BinFolder<B>;
    type Reducer = Append;
    type Result = Parts<B>;

    fn split_at(self, _index: usize) -> (Self, Self, Append) {
        (Bins::new(), self, Append)
    }

    fn into_folder(self) -> BinFolder<B> {
        BinFolder(B::empty())
    }

    fn full(&self) -> bool {
        false
    }
}

impl<T, B: Bin<T>> UnindexedConsumer<T> for Bins<B> {
    const ANYWHERE: bool = true;

    fn split_off_left(&self) -> Self {
        Bins::new()
    }

    fn to_reducer(&self) -> Append {
        Append
    }
}

pub(in crate::iter) struct BinFolder<B>(B);

impl<T, B: Bin<T>> Folder<T> for BinFolder<B> {
    type Result = Parts<B>;

    #[inline]
    fn consume(mut self, item: T) -> Self {
        self.0.put(item);
        self
    }

    #[inline]
    fn consume_iter<I: IntoIterator<Item = T>>(mut self, iter: I) -> Self {
        self.0.put_all(iter.into_iter());
        self
    }

    fn complete(self) -> Parts<B> {
        Parts { first: self.0, others: LinkedList::new() }
    }

    #[inline]
    fn full(&self) -> bool {
        false
    }
}

/// Links two lists in constant time.
pub(in crate::iter) struct Append;

impl<B: Part> Reducer<Parts<B>> for Append {
    fn reduce(self, mut left: Parts<B>, mut right: Parts<B>) -> Parts<B> {
        if left.first.is_empty() {
            return right;
        }
        if !right.first.is_empty() {
            left.others.push_back(right.first);
            left.others.append(&mut right.others);
        }
        left
    }
}

impl<T> Reducer<LinkedList<T>> for Append {
    fn reduce(self, mut left: LinkedList<T>, mut right: LinkedList<T>) -> LinkedList<T> {
        left.append(&mut right);
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn parts_stay_in_order_and_empty_ones_are_left_out() {
        let part = |items: &[u8]| Parts { first: items.to_vec(), others: LinkedList::new() };
        let cases: [&[&[u8]]; 5] =
            [&[&[]], &[&[], &[1]], &[&[1], &[], &[2, 3]], &[&[], &[], &[]], &[&[1], &[2], &[3], &[]]];
        for parts in cases {
            let expected: Vec<&[u8]> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
            let left = parts.iter().map(|items| part(items)).reduce(|a, b| Append.reduce(a, b)).unwrap();
            assert!(left.into_list().iter().eq(&expected));
            let right = parts.iter().rev().map(|items| part(items)).reduce(|b, a| Append.reduce(a, b));
            assert!(right.unwrap().into_list().iter().eq(&expected));
        }
    }

    #[test]
    fn a_bin_grows_and_owns_what_it_got() {
        let item = Arc::new(());
        let mut bin = Vec::empty();
        for n in 0..1_000 {
            bin.put((n, item.clone()));
        }
        assert!(bin.iter().map(|(n, _)| *n).eq(0..1_000));
        assert_eq!(Arc::strong_count(&item), 1_001);
        drop(bin);
        assert_eq!(Arc::strong_count(&item), 1);
        let mut without_size = Vec::empty();
        without_size.put(());
        assert_eq!(without_size, [()]);
    }
}
