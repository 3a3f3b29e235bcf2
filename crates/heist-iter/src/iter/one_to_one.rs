//! What adaptors share that make one item of each.

use super::IndexedParallelIterator;
use super::plumbing::{Folder, Producer, ProducerCallback};
use super::stage::Stage;

/// Makes one item of each. A copyable view, usually a reference to the user's closure.
pub(super) trait Each<T>: Copy + Send {
    /// What it makes.
    type Out;

    /// Makes it.
    fn each(self, item: T) -> Self::Out;
}

/// An [`Each`] on the consumer's side.
#[derive(Debug, Clone, Copy)]
pub(super) struct OneToOne<E>(pub(super) E);

impl<T, E: Each<T>> Stage<T> for OneToOne<E> {
    type Out = E::Out;

    #[inline]
    fn feed<F: Folder<E::Out>>(self, folder: F, item: T) -> F {
        folder.consume(self.0.each(item))
    }

    #[inline]
    fn feed_iter<F: Folder<E::Out>, I: Iterator<Item = T>>(self, folder: F, iter: I) -> F {
        folder.consume_iter(iter.map(move |item| self.0.each(item)))
    }
}

/// Lends the producer of `base` with `each` applied to its items.
pub(super) fn with_producer<I, E, CB>(base: I, each: E, callback: CB) -> CB::Output
where
    I: IndexedParallelIterator,
    E: Each<I::Item>,
    CB: ProducerCallback<E::Out>,
{
    struct Callback<CB, E> {
        callback: CB,
        each: E,
    }

    impl<T, CB, E> ProducerCallback<T> for Callback<CB, E>
    where
        E: Each<T>,
        CB: ProducerCallback<E::Out>,
    {
        type Output = CB::Output;

        fn callback<P: Producer<Item = T>>(self, producer: P) -> CB::Output {
            self.callback.callback(EachProducer { base: producer, each: self.each })
        }
    }

    base.with_producer(Callback { callback, each })
}

struct EachProducer<P, E> {
    base: P,
    each: E,
}

impl<P, E> Producer for EachProducer<P, E>
where
    P: Producer,
    E: Each<P::Item>,
{
    type Item = E::Out;
    type IntoIter = EachIter<P::IntoIter, E>;
    const COSTLY_START: bool = P::COSTLY_START;

    fn into_iter(self) -> Self::IntoIter {
        EachIter { base: self.base.into_iter(), each: self.each }
    }

    fn min_len(&self) -> usize {
        self.base.min_len()
    }

    fn max_len(&self) -> usize {
        self.base.max_len()
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let (left, right) = self.base.split_at(index);
        (EachProducer { base: left, each: self.each }, EachProducer { base: right, each: self.each })
    }

    fn fold_with<F: Folder<E::Out>>(self, folder: F) -> F {
        self.base.fold_with(EachFolder { base: folder, each: self.each }).base
    }
}

/// The sequential counterpart.
struct EachIter<I, E> {
    base: I,
    each: E,
}

impl<I: Iterator, E: Each<I::Item>> Iterator for EachIter<I, E> {
    type Item = E::Out;

    #[inline]
    fn next(&mut self) -> Option<E::Out> {
        self.base.next().map(|item| self.each.each(item))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.base.size_hint()
    }

    #[inline]
    fn fold<A, G: FnMut(A, E::Out) -> A>(self, init: A, mut fold: G) -> A {
        let each = self.each;
        self.base.fold(init, move |acc, item| fold(acc, each.each(item)))
    }
}

impl<I: DoubleEndedIterator, E: Each<I::Item>> DoubleEndedIterator for EachIter<I, E> {
    #[inline]
    fn next_back(&mut self) -> Option<E::Out> {
        self.base.next_back().map(|item| self.each.each(item))
    }

    #[inline]
    fn rfold<A, G: FnMut(A, E::Out) -> A>(self, init: A, mut fold: G) -> A {
        let each = self.each;
        self.base.rfold(init, move |acc, item| fold(acc, each.each(item)))
    }
}

impl<I: ExactSizeIterator, E: Each<I::Item>> ExactSizeIterator for EachIter<I, E> {}

/// A folder behind an [`Each`]; unlike [`Through`](super::stage::Through) it gives the folder back.
struct EachFolder<F, E> {
    base: F,
    each: E,
}

impl<T, F, E> Folder<T> for EachFolder<F, E>
where
    E: Each<T>,
    F: Folder<E::Out>,
{
    type Result = F::Result;

    #[inline]
    fn consume(self, item: T) -> Self {
        EachFolder { base: self.base.consume(self.each.each(item)), each: self.each }
    }

    #[inline]
    fn consume_iter<I: IntoIterator<Item = T>>(self, iter: I) -> Self {
        let each = self.each;
        EachFolder { base: self.base.consume_iter(iter.into_iter().map(move |item| each.each(item))), each }
    }

    fn complete(self) -> F::Result {
        self.base.complete()
    }

    #[inline]
    fn full(&self) -> bool {
        self.base.full()
    }
}
