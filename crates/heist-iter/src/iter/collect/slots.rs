//! Collecting into reserved space: every part writes its items where they belong.

use crate::iter::plumbing::{Consumer, Folder, Reducer, UnindexedConsumer};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;

/// Reserved space for a known number of items.
pub(super) struct Slots<'c, T> {
    start: *mut T,
    len: usize,
    marker: PhantomData<&'c mut [MaybeUninit<T>]>,
}

// SAFETY: it is an exclusive borrow of space for `T`s; sending it sends the right to put `T`s there.
unsafe impl<T: Send> Send for Slots<'_, T> {}

impl<'c, T> Slots<'c, T> {
    pub(super) fn new(space: &'c mut [MaybeUninit<T>]) -> Self {
        Slots { start: space.as_mut_ptr().cast(), len: space.len(), marker: PhantomData }
    }

    fn halves(self, index: usize) -> (Self, Self) {
        assert!(index <= self.len, "cannot cut {} slots at {index}", self.len);
        // SAFETY: `index` is within the borrowed space, or at its end.
        let middle = unsafe { self.start.add(index) };
        (Slots { len: index, ..self }, Slots { start: middle, len: self.len - index, ..self })
    }
}

impl<'c, T: Send> Consumer<T> for Slots<'c, T> {
    type Folder = Filled<'c, T>;
    type Reducer = Adjoin;
    type Result = Filled<'c, T>;

    fn split_at(self, index: usize) -> (Self, Self, Adjoin) {
        let (left, right) = self.halves(index);
        (left, right, Adjoin)
    }

    fn into_folder(self) -> Filled<'c, T> {
        Filled { slots: self, filled: 0 }
    }

    fn full(&self) -> bool {
        false
    }

    const CUTS_BEGUN: bool = true;

    fn cut_begun(folder: Filled<'c, T>, index: usize) -> (Filled<'c, T>, Self, Adjoin) {
        let (filled, slots) = folder.into_parts();
        let (near, far) = slots.halves(filled + index);
        (Filled { slots: near, filled }, far, Adjoin)
    }
}

/// Only for iterators that know their length: their sources divide by index even when they are driven unindexed.
impl<T: Send> UnindexedConsumer<T> for Slots<'_, T> {
    fn split_off_left(&self) -> Self {
        panic!("an iterator whose opt_len is Some must divide its consumer by index");
    }

    fn to_reducer(&self) -> Adjoin {
        Adjoin
    }
}

/// Slots of which the first `filled` have items. Owns these items.
#[must_use = "drops its items"]
pub(super) struct Filled<'c, T> {
    slots: Slots<'c, T>,
    filled: usize,
}

impl<'c, T> Filled<'c, T> {
    /// Gives up the items, as [`release`](Self::release) does, and the space.
    fn into_parts(self) -> (usize, Slots<'c, T>) {
        let slots = Slots { ..self.slots };
        (self.release(), slots)
    }

    /// How many items there are.
    pub(super) fn len(&self) -> usize {
        self.filled
    }

    #[inline]
    fn push(&mut self, item: T) {
        assert!(self.filled < self.slots.len, "too many values pushed to consumer");
        // SAFETY: within the borrowed space, by the assertion.
        let slot = unsafe { self.slots.start.add(self.filled) };
        // SAFETY: the slot is ours and has no item yet.
        unsafe { slot.write(item) };
        self.filled += 1;
    }

    /// Puts up to `count` items, for which there is room.
    #[inline]
    fn fill(&mut self, iter: impl Iterator<Item = T>, count: usize) {
        assert!(count <= self.slots.len - self.filled);
        let space = ptr::slice_from_raw_parts_mut(self.slots.start.wrapping_add(self.filled).cast(), count);
        // SAFETY: these slots are within the borrowed space, by the assertion, and ours alone.
        let space: &mut [MaybeUninit<T>] = unsafe { &mut *space };
        let filled = &mut self.filled;
        iter.zip(space).for_each(|(item, slot)| {
            slot.write(item);
            // Counted one by one, because the next item may panic.
            *filled += 1;
        });
    }

    /// Leaves the items to whoever owns the space.
    pub(super) fn release(self) -> usize {
        let filled = self.filled;
        std::mem::forget(self);
        filled
    }
}

impl<T> Drop for Filled<'_, T> {
    fn drop(&mut self) {
        let items = ptr::slice_from_raw_parts_mut(self.slots.start, self.filled);
        // SAFETY: the first `filled` slots have been written and belong to `self` alone.
        unsafe { items.drop_in_place() };
    }
}

impl<'c, T: Send> Folder<T> for Filled<'c, T> {
    type Result = Self;

    #[inline]
    fn consume(mut self, item: T) -> Self {
        self.push(item);
        self
    }

    #[inline]
    fn consume_iter<I: IntoIterator<Item = T>>(mut self, iter: I) -> Self {
        let iter = iter.into_iter();
        let room = self.slots.len - self.filled;
        match iter.size_hint() {
            // Without a test for room at every item the compiler can vectorise.
            (least, Some(most)) if least == most && most <= room => self.fill(iter, most),
            _ => iter.for_each(|item| self.push(item)),
        }
        self
    }

    fn complete(self) -> Self {
        self
    }

    #[inline]
    fn full(&self) -> bool {
        false
    }
}

/// Makes one run of two, if there is no gap between them.
pub(super) struct Adjoin;

impl<'c, T> Reducer<Filled<'c, T>> for Adjoin {
    fn reduce(self, mut left: Filled<'c, T>, right: Filled<'c, T>) -> Filled<'c, T> {
        // A gap means that the loop has ended early. The items behind it are dropped, and so cannot be taken for those
        // that are missing.
        if left.filled == left.slots.len
            && ptr::eq(left.slots.start.wrapping_add(left.filled), right.slots.start)
        {
            left.slots.len += right.slots.len;
            left.filled += right.release();
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn fill<'c>(slots: Slots<'c, Arc<()>>, item: &Arc<()>, count: usize) -> Filled<'c, Arc<()>> {
        slots.into_folder().consume_iter(std::iter::repeat_n(item.clone(), count)).complete()
    }

    #[test]
    fn neighbours_become_one_run() {
        let item = Arc::new(());
        let mut space: Vec<Arc<()>> = Vec::with_capacity(4);
        let (left, right, reducer) = Slots::new(space.spare_capacity_mut()).split_at(1);
        let run = reducer.reduce(fill(left, &item, 1), fill(right, &item, 3));
        assert_eq!((run.len(), Arc::strong_count(&item)), (4, 5));
        drop(run);
        assert_eq!(Arc::strong_count(&item), 1);
    }

    #[test]
    fn what_comes_after_a_gap_is_dropped() {
        let item = Arc::new(());
        let mut space: Vec<Arc<()>> = Vec::with_capacity(4);
        let (left, right, reducer) = Slots::new(space.spare_capacity_mut()).split_at(2);
        let run = reducer.reduce(fill(left, &item, 1), fill(right, &item, 2));
        assert_eq!((run.len(), Arc::strong_count(&item)), (1, 2));
    }

    #[test]
    #[should_panic(expected = "too many values pushed to consumer")]
    fn one_item_too_many_panics() {
        let mut space: Vec<Arc<()>> = Vec::with_capacity(1);
        let (left, _right, _) = Slots::new(&mut space.spare_capacity_mut()[..1]).split_at(1);
        drop(fill(left, &Arc::new(()), 2));
    }

    #[test]
    fn items_without_size_are_counted() {
        let mut space = [MaybeUninit::<()>::uninit(); 5];
        let (left, right, reducer) = Slots::new(&mut space).split_at(2);
        let left = left.into_folder().consume(()).consume(());
        let right = right.into_folder().consume(()).consume(()).consume(());
        assert_eq!(reducer.reduce(left, right).release(), 5);
    }
}
