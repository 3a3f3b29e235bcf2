//! Windows: every stretch of so many neighbours.

use crate::iter::plumbing::{Consumer, Producer, ProducerCallback, UnindexedConsumer, bridge, bridge_lazily};
use crate::iter::{IndexedParallelIterator, ParallelIterator};

/// Yields every stretch of so many neighbouring elements; they overlap.
///
/// ```
/// use heist::prelude::*;
///
/// let steps: Vec<i32> = [1, 4, 9, 16].par_windows(2).map(|pair| pair[1] - pair[0]).collect();
/// assert_eq!(steps, [3, 5, 7]);
/// ```
#[derive(Debug)]
pub struct Windows<'data, T> {
    size: usize,
    slice: &'data [T],
}

impl<'data, T> Windows<'data, T> {
    pub(super) fn new(size: usize, slice: &'data [T]) -> Self {
        Windows { size, slice }
    }
}

impl<T> Clone for Windows<'_, T> {
    fn clone(&self) -> Self {
        Windows { ..*self }
    }
}

indexed_source! {
    impl['data, T: Sync] Windows<'data, T>;
    type Item = &'data [T];
    fn len(&this) -> usize { this.slice.len().saturating_sub(this.size - 1) }
    fn producer(this) { WindowsProducer { size: this.size, slice: this.slice } }
}

struct WindowsProducer<'data, T> {
    size: usize,
    slice: &'data [T],
}

impl<'data, T: Sync> Producer for WindowsProducer<'data, T> {
    type Item = &'data [T];
    type IntoIter = std::slice::Windows<'data, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.slice.windows(self.size)
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        // The last window of the left part reaches into the right one.
        let left_end = self.slice.len().min(index + (self.size - 1));
        let (left, right) = (&self.slice[..left_end], &self.slice[index..]);
        (WindowsProducer { slice: left, ..self }, WindowsProducer { slice: right, ..self })
    }
}

/// Yields every stretch of `N` neighbouring elements as an array; they overlap.
///
/// ```
/// use heist::prelude::*;
///
/// let peaks = [1, 3, 2, 5, 4].par_array_windows().filter(|&&[a, b, c]| a < b && b > c);
/// assert_eq!(peaks.count(), 2);
/// ```
#[derive(Debug)]
pub struct ArrayWindows<'data, T: Sync, const N: usize> {
    slice: &'data [T],
}

impl<'data, T: Sync, const N: usize> ArrayWindows<'data, T, N> {
    pub(super) fn new(slice: &'data [T]) -> Self {
        ArrayWindows { slice }
    }

    fn windows(&self) -> Windows<'data, T> {
        Windows::new(N, self.slice)
    }
}

impl<T: Sync, const N: usize> Clone for ArrayWindows<'_, T, N> {
    fn clone(&self) -> Self {
        ArrayWindows { ..*self }
    }
}

/// A window is `N` long, so the check goes away when this is inlined.
fn as_array<T, const N: usize>(window: &[T]) -> &[T; N] {
    window.try_into().expect("a window has the length that was asked for")
}

impl<'data, T: Sync, const N: usize> ParallelIterator for ArrayWindows<'data, T, N> {
    type Item = &'data [T; N];

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        self.windows().map(as_array).drive_unindexed(consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.len())
    }
}

impl<T: Sync, const N: usize> IndexedParallelIterator for ArrayWindows<'_, T, N> {
    fn len(&self) -> usize {
        self.windows().len()
    }

    fn drive<C: Consumer<Self::Item>>(self, consumer: C) -> C::Result {
        self.windows().map(as_array).drive(consumer)
    }

    fn with_producer<CB: ProducerCallback<Self::Item>>(self, callback: CB) -> CB::Output {
        self.windows().map(as_array).with_producer(callback)
    }
}
