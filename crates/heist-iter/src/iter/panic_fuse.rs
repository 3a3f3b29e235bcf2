//! `panic_fuse`.

use super::plumbing::{Consumer, Folder, Producer, ProducerCallback, UnindexedConsumer};
use super::{IndexedParallelIterator, ParallelIterator};
use heist_sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// What [`panic_fuse`](ParallelIterator::panic_fuse) returns.
///
/// ```
/// # use heist::prelude::*;
/// assert_eq!((0..10).into_par_iter().panic_fuse().sum::<i32>(), 45);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct PanicFuse<I> {
    base: I,
}

impl<I> PanicFuse<I> {
    pub(super) fn new(base: I) -> Self {
        PanicFuse { base }
    }
}

impl<I: ParallelIterator> ParallelIterator for PanicFuse<I> {
    type Item = I::Item;
    const IS_COUNTED: bool = I::IS_COUNTED;
    const IS_UNCOUNTED: bool = I::IS_UNCOUNTED;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        let blown = AtomicBool::new(false);
        self.base.drive_unindexed(Fused { base: consumer, fuse: Fuse(&blown) })
    }

    fn opt_len(&self) -> Option<usize> {
        self.base.opt_len()
    }
}

impl<I: IndexedParallelIterator> IndexedParallelIterator for PanicFuse<I> {
    fn drive<C: Consumer<I::Item>>(self, consumer: C) -> C::Result {
        let blown = AtomicBool::new(false);
        self.base.drive(Fused { base: consumer, fuse: Fuse(&blown) })
    }

    fn len(&self) -> usize {
        self.base.len()
    }

    fn with_producer<CB: ProducerCallback<I::Item>>(self, callback: CB) -> CB::Output {
        struct Callback<'a, CB> {
            callback: CB,
            blown: &'a AtomicBool,
        }

        impl<T, CB: ProducerCallback<T>> ProducerCallback<T> for Callback<'_, CB> {
            type Output = CB::Output;

            fn callback<P: Producer<Item = T>>(self, base: P) -> CB::Output {
                self.callback.callback(Fused { base, fuse: Fuse(self.blown) })
            }
        }

        let blown = AtomicBool::new(false);
        self.base.with_producer(Callback { callback, blown: &blown })
    }
}

/// Blows when it is dropped by a panic.
struct Fuse<'a>(&'a AtomicBool);

impl Fuse<'_> {
    #[inline]
    fn is_blown(&self) -> bool {
        // ORDERING: Relaxed, here and below: a flag that publishes nothing. Whoever sees it late does work in vain.
        self.0.load(Ordering::Relaxed)
    }
}

impl Clone for Fuse<'_> {
    fn clone(&self) -> Self {
        Fuse(self.0)
    }
}

impl Drop for Fuse<'_> {
    #[inline]
    fn drop(&mut self) {
        if thread::panicking() {
            // ORDERING: Relaxed: see `is_blown`.
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// A consumer, folder, producer or iterator with a fuse.
struct Fused<'a, B> {
    base: B,
    fuse: Fuse<'a>,
}

impl<'a, T, C: Consumer<T>> Consumer<T> for Fused<'a, C> {
    type Folder = Fused<'a, C::Folder>;
    type Reducer = C::Reducer;
    type Result = C::Result;

    fn split_at(self, index: usize) -> (Self, Self, C::Reducer) {
        let (left, right, reducer) = self.base.split_at(index);
        (Fused { base: left, fuse: self.fuse.clone() }, Fused { base: right, fuse: self.fuse }, reducer)
    }

    fn into_folder(self) -> Self::Folder {
        Fused { base: self.base.into_folder(), fuse: self.fuse }
    }

    fn full(&self) -> bool {
        self.fuse.is_blown() || self.base.full()
    }
}

impl<T, C: UnindexedConsumer<T>> UnindexedConsumer<T> for Fused<'_, C> {
    const ANYWHERE: bool = C::ANYWHERE;

    fn split_off_left(&self) -> Self {
        Fused { base: self.base.split_off_left(), fuse: self.fuse.clone() }
    }

    fn to_reducer(&self) -> C::Reducer {
        self.base.to_reducer()
    }
}

impl<T, F: Folder<T>> Folder<T> for Fused<'_, F> {
    type Result = F::Result;

    #[inline]
    fn consume(self, item: T) -> Self {
        let Fused { base, fuse } = self;
        Fused { base: base.consume(item), fuse }
    }

    #[inline]
    fn consume_iter<I: IntoIterator<Item = T>>(self, iter: I) -> Self {
        let Fused { base, fuse } = self;
        let base = base.consume_iter(iter.into_iter().take_while(|_| !fuse.is_blown()));
        Fused { base, fuse }
    }

    fn complete(self) -> F::Result {
        self.base.complete()
    }

    #[inline]
    fn full(&self) -> bool {
        self.fuse.is_blown() || self.base.full()
    }
}

impl<'a, P: Producer> Producer for Fused<'a, P> {
    type Item = P::Item;
    type IntoIter = FusedIter<'a, P::IntoIter>;
    const COSTLY_START: bool = P::COSTLY_START;

    fn into_iter(self) -> Self::IntoIter {
        FusedIter { base: self.base.into_iter(), fuse: self.fuse }
    }

    fn min_len(&self) -> usize {
        self.base.min_len()
    }

    fn max_len(&self) -> usize {
        self.base.max_len()
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let (left, right) = self.base.split_at(index);
        (Fused { base: left, fuse: self.fuse.clone() }, Fused { base: right, fuse: self.fuse })
    }

    fn fold_with<F: Folder<P::Item>>(self, folder: F) -> F {
        self.base.fold_with(Fused { base: folder, fuse: self.fuse }).base
    }
}

/// Ends early when the fuse is blown: nobody will look at the result.
struct FusedIter<'a, I> {
    base: I,
    fuse: Fuse<'a>,
}

impl<I: Iterator> Iterator for FusedIter<'_, I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        if self.fuse.is_blown() { None } else { self.base.next() }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.base.size_hint()
    }
}

impl<I: DoubleEndedIterator> DoubleEndedIterator for FusedIter<'_, I> {
    fn next_back(&mut self) -> Option<I::Item> {
        if self.fuse.is_blown() { None } else { self.base.next_back() }
    }
}

impl<I: ExactSizeIterator> ExactSizeIterator for FusedIter<'_, I> {}
