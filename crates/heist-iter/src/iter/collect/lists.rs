//! Collecting an unknown number of items: every stretch makes a collection of its own, and these are linked.

use crate::iter::plumbing::{Consumer, Folder, Reducer, UnindexedConsumer};
use std::collections::LinkedList;
use std::marker::PhantomData;

/// A collection that a stretch fills.
pub(in crate::iter) trait Bin<T>: Send {
    fn empty() -> Self;
    fn is_empty(&self) -> bool;
    fn put(&mut self, item: T);
    fn put_all(&mut self, items: impl Iterator<Item = T>);
}

impl<T: Send> Bin<T> for Vec<T> {
    fn empty() -> Self {
        Vec::new()
    }

    fn is_empty(&self) -> bool {
        Vec::is_empty(self)
    }

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

impl Bin<char> for String {
    fn empty() -> Self {
        String::new()
    }

    fn is_empty(&self) -> bool {
        String::is_empty(self)
    }

    #[inline]
    fn put(&mut self, item: char) {
        self.push(item);
    }

    #[inline]
    fn put_all(&mut self, items: impl Iterator<Item = char>) {
        self.extend(items);
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
    type Result = LinkedList<B>;

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
    type Result = LinkedList<B>;

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

    fn complete(self) -> LinkedList<B> {
        if self.0.is_empty() { LinkedList::new() } else { LinkedList::from([self.0]) }
    }

    #[inline]
    fn full(&self) -> bool {
        false
    }
}

/// Links two lists in constant time.
pub(in crate::iter) struct Append;

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
