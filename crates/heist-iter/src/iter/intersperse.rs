//! `intersperse`.
//!
//! Every item but the first is preceded by a separator. If the number of items is known, each part knows whether it is
//! the first. If not, a part cannot know whether those before it are empty; then separators between parts are left out,
//! and put in when the results are merged.

use super::plumbing::{Consumer, Folder, Producer, ProducerCallback, Reducer, UnindexedConsumer, bridge};
use super::{IndexedParallelIterator, ParallelIterator};
use std::cell::Cell;

/// What [`intersperse`](ParallelIterator::intersperse) returns.
///
/// ```
/// # use heist::prelude::*;
/// let text: String = ["a", "b", "c"].into_par_iter().intersperse(", ").collect();
/// assert_eq!(text, "a, b, c");
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct Intersperse<I: ParallelIterator<Item: Clone>> {
    base: I,
    separator: I::Item,
}

impl<I: ParallelIterator<Item: Clone>> Intersperse<I> {
    pub(super) fn new(base: I, separator: I::Item) -> Self {
        Intersperse { base, separator }
    }
}

/// `items` and the separators between them.
fn interspersed_len(items: usize) -> Option<usize> {
    items.checked_add(items.saturating_sub(1))
}

impl<I: ParallelIterator<Item: Clone>> ParallelIterator for Intersperse<I> {
    type Item = I::Item;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        let Intersperse { base, separator } = self;
        match base.opt_len().and_then(interspersed_len) {
            Some(_) => base.drive_unindexed(Known { base: consumer, separator, is_first: Cell::new(true) }),
            None => base.drive_unindexed(Unknown { base: consumer, separator }).result,
        }
    }

    fn opt_len(&self) -> Option<usize> {
        self.base.opt_len().and_then(interspersed_len)
    }
}

impl<I: IndexedParallelIterator<Item: Clone>> IndexedParallelIterator for Intersperse<I> {
    fn drive<C: Consumer<I::Item>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn len(&self) -> usize {
        interspersed_len(self.base.len()).expect("overflow")
    }

    fn with_producer<CB: ProducerCallback<I::Item>>(self, callback: CB) -> CB::Output {
        struct Callback<CB, T> {
            callback: CB,
            len: usize,
            separator: T,
        }

        impl<T: Clone + Send, CB: ProducerCallback<T>> ProducerCallback<T> for Callback<CB, T> {
            type Output = CB::Output;

            fn callback<P: Producer<Item = T>>(self, base: P) -> CB::Output {
                let Callback { callback, len, separator } = self;
                callback.callback(IntersperseProducer { base, len, separator, is_separator_next: false })
            }
        }

        let len = self.len();
        self.base.with_producer(Callback { callback, len, separator: self.separator })
    }
}

struct IntersperseProducer<P: Producer> {
    base: P,
    /// With separators.
    len: usize,
    separator: P::Item,
    is_separator_next: bool,
}

impl<P: Producer<Item: Clone + Send>> Producer for IntersperseProducer<P> {
    type Item = P::Item;
    type IntoIter = IntersperseIter<P::IntoIter>;
    const COSTLY_START: bool = P::COSTLY_START;

    fn into_iter(self) -> Self::IntoIter {
        IntersperseIter {
            base: self.base.into_iter(),
            len: self.len,
            separator: self.separator,
            is_separator_next: self.is_separator_next,
        }
    }

    fn min_len(&self) -> usize {
        self.base.min_len()
    }

    fn max_len(&self) -> usize {
        self.base.max_len()
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let items = if self.is_separator_next { index / 2 } else { index.div_ceil(2) };
        let (left, right) = self.base.split_at(items);
        let separator = self.separator.clone();
        let is_separator_next = self.is_separator_next != (index % 2 == 1);
        (
            IntersperseProducer {
                base: left,
                len: index,
                separator,
                is_separator_next: self.is_separator_next,
            },
            IntersperseProducer {
                base: right,
                len: self.len - index,
                separator: self.separator,
                is_separator_next,
            },
        )
    }
}

struct IntersperseIter<I: Iterator> {
    base: I,
    len: usize,
    separator: I::Item,
    is_separator_next: bool,
}

impl<I: Iterator<Item: Clone>> Iterator for IntersperseIter<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.len = self.len.checked_sub(1)?;
        self.is_separator_next = !self.is_separator_next;
        if self.is_separator_next { self.base.next() } else { Some(self.separator.clone()) }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len, Some(self.len))
    }
}

impl<I: DoubleEndedIterator<Item: Clone>> DoubleEndedIterator for IntersperseIter<I> {
    fn next_back(&mut self) -> Option<I::Item> {
        self.len = self.len.checked_sub(1)?;
        // Now `len` is the index of the last one.
        let is_separator = self.is_separator_next == self.len.is_multiple_of(2);
        if is_separator { Some(self.separator.clone()) } else { self.base.next_back() }
    }
}

impl<I: Iterator<Item: Clone>> ExactSizeIterator for IntersperseIter<I> {}

/// The consumer if the number of items is known: then no part is empty, unless it was cut at index 0.
struct Known<C, T> {
    base: C,
    separator: T,
    is_first: Cell<bool>,
}

impl<C, T> Consumer<T> for Known<C, T>
where
    C: Consumer<T>,
    T: Clone + Send,
{
    type Folder = KnownFolder<C::Folder, T>;
    type Reducer = C::Reducer;
    type Result = C::Result;

    fn split_at(self, index: usize) -> (Self, Self, C::Reducer) {
        let is_first = self.is_first.get();
        let (left, right, reducer) =
            self.base.split_at(if is_first { index + index.saturating_sub(1) } else { 2 * index });
        let separator = self.separator.clone();
        (
            Known { base: left, separator, is_first: Cell::new(is_first) },
            Known { base: right, separator: self.separator, is_first: Cell::new(is_first && index == 0) },
            reducer,
        )
    }

    fn into_folder(self) -> Self::Folder {
        KnownFolder {
            base: self.base.into_folder(),
            separator: self.separator,
            is_first: self.is_first.get(),
        }
    }

    fn full(&self) -> bool {
        self.base.full()
    }
}

impl<C, T> UnindexedConsumer<T> for Known<C, T>
where
    C: UnindexedConsumer<T>,
    T: Clone + Send,
{
    const ANYWHERE: bool = C::ANYWHERE;

    fn split_off_left(&self) -> Self {
        Known {
            base: self.base.split_off_left(),
            separator: self.separator.clone(),
            is_first: Cell::new(self.is_first.replace(false)),
        }
    }

    fn to_reducer(&self) -> C::Reducer {
        self.base.to_reducer()
    }
}

struct KnownFolder<B, T> {
    base: B,
    separator: T,
    is_first: bool,
}

impl<B, T> Folder<T> for KnownFolder<B, T>
where
    B: Folder<T>,
    T: Clone,
{
    type Result = B::Result;

    fn consume(mut self, item: T) -> Self {
        if self.is_first {
            self.is_first = false;
        } else {
            self.base = self.base.consume(self.separator.clone());
            if self.base.full() {
                drop(item);
                return self;
            }
        }
        self.base = self.base.consume(item);
        self
    }

    fn complete(self) -> B::Result {
        drop(self.separator);
        self.base.complete()
    }

    fn full(&self) -> bool {
        self.base.full()
    }
}

/// The consumer if the number of items is unknown.
struct Unknown<C, T> {
    base: C,
    separator: T,
}

/// What a part comes to, and whether it had any items.
struct Part<R> {
    result: R,
    is_empty: bool,
}

impl<C, T> Consumer<T> for Unknown<C, T>
where
    C: UnindexedConsumer<T>,
    T: Clone + Send,
{
    type Folder = UnknownFolder<C::Folder, T>;
    type Reducer = Between<C, T>;
    type Result = Part<C::Result>;

    fn split_at(self, _index: usize) -> (Self, Self, Self::Reducer) {
        // Where the parts' results end up cannot be told by the index, because separators are not counted yet.
        let left = self.split_off_left();
        let reducer = self.to_reducer();
        (left, self, reducer)
    }

    fn into_folder(self) -> Self::Folder {
        UnknownFolder(KnownFolder {
            base: self.base.into_folder(),
            separator: self.separator,
            is_first: true,
        })
    }

    fn full(&self) -> bool {
        self.base.full()
    }
}

impl<C, T> UnindexedConsumer<T> for Unknown<C, T>
where
    C: UnindexedConsumer<T>,
    T: Clone + Send,
{
    const ANYWHERE: bool = C::ANYWHERE;

    fn split_off_left(&self) -> Self {
        Unknown { base: self.base.split_off_left(), separator: self.separator.clone() }
    }

    fn to_reducer(&self) -> Self::Reducer {
        Between { base: self.base.split_off_left(), separator: self.separator.clone() }
    }
}

struct UnknownFolder<B, T>(KnownFolder<B, T>);

impl<B, T> Folder<T> for UnknownFolder<B, T>
where
    B: Folder<T>,
    T: Clone,
{
    type Result = Part<B::Result>;

    fn consume(self, item: T) -> Self {
        UnknownFolder(self.0.consume(item))
    }

    fn complete(self) -> Self::Result {
        Part { is_empty: self.0.is_first, result: self.0.complete() }
    }

    fn full(&self) -> bool {
        self.0.full()
    }
}

/// Merges two parts, with a separator between them if both have items; `base` is for that one.
struct Between<C, T> {
    base: C,
    separator: T,
}

impl<C, T> Reducer<Part<C::Result>> for Between<C, T>
where
    C: UnindexedConsumer<T>,
    T: Clone,
{
    fn reduce(self, left: Part<C::Result>, right: Part<C::Result>) -> Part<C::Result> {
        let Between { base, separator } = self;
        let is_empty = left.is_empty && right.is_empty;
        let reducer = base.to_reducer();
        let right = if left.is_empty || right.is_empty || base.full() {
            // Before there is a result, which a panic on the way out would forget.
            drop((base, separator));
            right.result
        } else {
            let inner = base.to_reducer();
            let between = base.into_folder().consume(separator).complete();
            inner.reduce(between, right.result)
        };
        Part { result: reducer.reduce(left.result, right), is_empty }
    }
}

#[cfg(test)]
mod tests {
    use super::super::extend::Nodes;
    use super::*;
    use std::collections::LinkedList;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    /// An item that can be counted, or one that panics when it is dropped.
    #[derive(Clone)]
    struct Item(Option<Arc<()>>);

    impl Drop for Item {
        fn drop(&mut self) {
            assert!(self.0.is_some(), "on purpose");
        }
    }

    #[test]
    fn a_separator_that_panics_when_dropped_takes_no_items_along() {
        for (has_left, has_right) in [(false, false), (true, false), (false, true)] {
            let count = Arc::new(());
            let part = |has_items: bool| {
                let items = has_items.then(|| Item(Some(Arc::clone(&count))));
                Part { result: LinkedList::from_iter(items), is_empty: !has_items }
            };
            let (left, right) = (part(has_left), part(has_right));
            let between = Between { base: Nodes, separator: Item(None) };
            let merge = || drop(between.reduce(left, right));
            assert!(catch_unwind(AssertUnwindSafe(merge)).is_err());
            assert_eq!(Arc::strong_count(&count), 1, "left: {has_left}, right: {has_right}");
        }
    }
}
