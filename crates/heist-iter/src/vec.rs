//! Parallel iterators for vectors: [`IntoIter`] by value, [`Drain`] for a range of one.
//!
//! By reference a vector is iterated as the [slice](mod@crate::slice) that it is.

use crate::iter::plumbing::{Consumer, Producer, ProducerCallback, UnindexedConsumer, bridge, bridge_lazily};
use crate::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelDrainRange, ParallelIterator};
use crate::slice;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ops::{Range, RangeBounds};
use std::{mem, ptr};

impl<'data, T: Sync + 'data> IntoParallelIterator for &'data Vec<T> {
    type Item = &'data T;
    type Iter = slice::Iter<'data, T>;

    fn into_par_iter(self) -> Self::Iter {
        self.as_slice().into_par_iter()
    }
}

impl<'data, T: Send + 'data> IntoParallelIterator for &'data mut Vec<T> {
    type Item = &'data mut T;
    type Iter = slice::IterMut<'data, T>;

    fn into_par_iter(self) -> Self::Iter {
        self.as_mut_slice().into_par_iter()
    }
}

impl<T: Send> IntoParallelIterator for Vec<T> {
    type Item = T;
    type Iter = IntoIter<T>;

    fn into_par_iter(self) -> Self::Iter {
        IntoIter { vec: self }
    }
}

impl<T: Send> IntoParallelIterator for Box<[T]> {
    type Item = T;
    type Iter = IntoIter<T>;

    fn into_par_iter(self) -> Self::Iter {
        self.into_vec().into_par_iter()
    }
}

/// Yields the elements of a vector or a boxed slice by value.
///
/// ```
/// use heist::prelude::*;
///
/// let loot: Vec<String> = vec!["ruby".into(), "opal".into()];
/// let labels: Vec<String> = loot.into_par_iter().map(|gem| gem + "!").collect();
/// assert_eq!(labels, ["ruby!", "opal!"]);
/// ```
#[derive(Debug, Clone)]
pub struct IntoIter<T> {
    vec: Vec<T>,
}

impl<T: Send> ParallelIterator for IntoIter<T> {
    type Item = T;
    const IS_COUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<T>>(self, consumer: C) -> C::Result {
        bridge_lazily(self, consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.len())
    }
}

impl<T: Send> IndexedParallelIterator for IntoIter<T> {
    fn len(&self) -> usize {
        self.vec.len()
    }

    fn drive<C: Consumer<T>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn with_producer<CB: ProducerCallback<T>>(mut self, callback: CB) -> CB::Output {
        // The allocation is freed by `self`, which is empty by then.
        self.vec.par_drain(..).with_producer(callback)
    }
}

impl<'data, T: Send> ParallelDrainRange<usize> for &'data mut Vec<T> {
    type Iter = Drain<'data, T>;
    type Item = T;

    fn par_drain<R: RangeBounds<usize>>(self, range: R) -> Self::Iter {
        let len = self.len();
        let range = slice::resolve_range(range, len);
        // SAFETY: the first `range.start <= len` elements are initialised. The others are out of the vector's reach, and
        // in the care of the `Drain`, from here on; if that is leaked, so are they.
        unsafe { self.set_len(range.start) };
        Drain { tail: range.end..len, range, vec: self }
    }
}

/// Moves a range of elements out of a vector, and closes the gap when it is dropped.
///
/// ```
/// use heist::prelude::*;
///
/// let mut queue = vec![1, 2, 3, 4, 5];
/// let taken: i32 = queue.par_drain(1..4).sum();
/// assert_eq!((taken, queue), (9, vec![1, 5]));
/// ```
#[derive(Debug)]
pub struct Drain<'data, T: Send> {
    /// Holds the elements before the range; those after its length are ours.
    vec: &'data mut Vec<T>,
    /// Elements to be yielded; empty once a producer has them.
    range: Range<usize>,
    /// Elements to be moved up behind the first ones.
    tail: Range<usize>,
}

impl<T: Send> ParallelIterator for Drain<'_, T> {
    type Item = T;
    const IS_COUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<T>>(self, consumer: C) -> C::Result {
        bridge_lazily(self, consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.len())
    }
}

impl<T: Send> IndexedParallelIterator for Drain<'_, T> {
    fn len(&self) -> usize {
        self.range.len()
    }

    fn drive<C: Consumer<T>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn with_producer<CB: ProducerCallback<T>>(mut self, callback: CB) -> CB::Output {
        let items: *mut [T] = self.take_items();
        // SAFETY: `take_items` hands out elements that are initialised and that nobody else will use or drop. The
        // producer cannot outlive the borrow: `callback` does not know its lifetime, and `self` holds the vector until
        // it has returned.
        callback.callback(unsafe { OwningProducer::new(items) })
    }
}

impl<T: Send> Drain<'_, T> {
    /// The elements of the range, which belong to the caller from now on.
    fn take_items(&mut self) -> *mut [T] {
        let range = mem::replace(&mut self.range, 0..0);
        // SAFETY: the range lies within the allocation.
        let start = unsafe { self.vec.as_mut_ptr().add(range.start) };
        ptr::slice_from_raw_parts_mut(start, range.len())
    }
}

impl<T: Send> Drop for Drain<'_, T> {
    fn drop(&mut self) {
        /// Closes the gap even if an element panics when it is dropped.
        struct CloseGap<'a, T> {
            vec: &'a mut Vec<T>,
            tail: Range<usize>,
        }
        impl<T> Drop for CloseGap<'_, T> {
            fn drop(&mut self) {
                let len = self.vec.len();
                let base = self.vec.as_mut_ptr();
                // SAFETY: the tail is initialised, lies within the allocation and behind `len`, and nothing that is
                // still needed lies between.
                unsafe { ptr::copy(base.add(self.tail.start), base.add(len), self.tail.len()) };
                // SAFETY: as many elements as the tail has were just moved behind the first `len`.
                unsafe { self.vec.set_len(len + self.tail.len()) };
            }
        }

        let items = self.take_items();
        let _close = CloseGap { vec: self.vec, tail: self.tail.clone() };
        // SAFETY: if no producer took them, the elements are still there; if one did, this is an empty slice.
        unsafe { ptr::drop_in_place(items) };
    }
}

/// Produces elements by value out of memory that belongs to somebody else; drops what is not consumed.
#[derive(Debug)]
pub(crate) struct OwningProducer<'data, T> {
    items: *mut [T],
    memory: PhantomData<&'data mut [T]>,
}

// SAFETY: it owns its elements and has exclusive use of their memory, as `&mut [T]` has.
unsafe impl<T: Send> Send for OwningProducer<'_, T> {}

impl<T> OwningProducer<'_, T> {
    /// # Safety
    ///
    /// The elements are initialised, and nobody else uses or drops them any more. Their memory stays for `'data`.
    pub(crate) unsafe fn new(items: *mut [T]) -> Self {
        OwningProducer { items, memory: PhantomData }
    }
}

impl<'data, T: Send + 'data> Producer for OwningProducer<'data, T> {
    type Item = T;
    type IntoIter = OwningIter<'data, T>;

    fn into_iter(self) -> Self::IntoIter {
        let OwningProducer { items, .. } = *mem::ManuallyDrop::new(self);
        // SAFETY: the producer has exclusive use of initialised elements for `'data`, and passes it on: it is not
        // dropped itself.
        let items = unsafe { &mut *items };
        OwningIter { items: items.iter_mut() }
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let OwningProducer { items, .. } = *mem::ManuallyDrop::new(self);
        let len = items.len();
        assert!(index <= len, "cut at {index} of {len}");
        let start = items.cast::<T>();
        let left = ptr::slice_from_raw_parts_mut(start, index);
        // SAFETY: `index` is within the slice or at its end.
        let right = ptr::slice_from_raw_parts_mut(unsafe { start.add(index) }, len - index);
        // SAFETY: each half gets its elements from a producer that is not dropped.
        unsafe { (OwningProducer::new(left), OwningProducer::new(right)) }
    }
}

impl<T> Drop for OwningProducer<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the elements are initialised and ours.
        unsafe { ptr::drop_in_place(self.items) };
    }
}

/// Moves elements out of a slice one by one; drops the rest.
#[derive(Debug)]
pub(crate) struct OwningIter<'data, T> {
    /// INVARIANT: what is left here has not been moved out, and is ours to drop.
    items: std::slice::IterMut<'data, T>,
}

impl<T> Iterator for OwningIter<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        // SAFETY: the element has just left `items`, so nobody will read it again.
        self.items.next().map(|item| unsafe { ptr::read(item) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }

    fn count(self) -> usize {
        self.items.len()
    }
}

impl<T> DoubleEndedIterator for OwningIter<'_, T> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        // SAFETY: as in `next`.
        self.items.next_back().map(|item| unsafe { ptr::read(item) })
    }
}

impl<T> ExactSizeIterator for OwningIter<'_, T> {}

impl<T> FusedIterator for OwningIter<'_, T> {}

impl<T> Drop for OwningIter<'_, T> {
    fn drop(&mut self) {
        let rest: *mut [T] = mem::take(&mut self.items).into_slice();
        // SAFETY: see the invariant of `items`.
        unsafe { ptr::drop_in_place(rest) };
    }
}
