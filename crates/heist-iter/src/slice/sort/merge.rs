//! Merging two runs into a third place, by several threads.

use crate::pool;
use std::cmp::Ordering;
use std::mem::MaybeUninit;
use std::{array, mem, ptr};

/// Merges the runs `a` and `b` into `out`, equal elements of `a` first, in pieces of about `grain` elements that
/// threads may take.
///
/// Afterwards `out` is initialised, and holds the elements of `a` and `b` bit by bit: the caller must treat one of the
/// two copies as moved out. Once an element has been copied it is not compared any more, so that the copy is the
/// element even if comparing changes it.
pub(super) fn merge<T, F>(a: &mut [T], b: &mut [T], out: &mut [MaybeUninit<T>], grain: usize, cmp: &F)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    debug_assert_eq!(a.len() + b.len(), out.len());
    if in_order(a, b, cmp) {
        let (out_a, out_b) = out.split_at_mut(a.len());
        pool::join(|_| copy(a, out_a, grain), |_| copy(b, out_b, grain));
        return;
    }
    if out.len() <= grain {
        return merge_alone(a, b, out, cmp);
    }
    let (a_mid, b_mid) = split(a, b, out.len() / 2, cmp);
    let (a1, a2) = a.split_at_mut(a_mid);
    let (b1, b2) = b.split_at_mut(b_mid);
    let (out1, out2) = out.split_at_mut(a_mid + b_mid);
    pool::join(|_| merge(a1, b1, out1, grain, cmp), |_| merge(a2, b2, out2, grain, cmp));
}

fn in_order<T, F: Fn(&T, &T) -> Ordering>(a: &[T], b: &[T], cmp: &F) -> bool {
    match (a.last(), b.first()) {
        (Some(last), Some(first)) => cmp(first, last).is_ge(),
        _ => true,
    }
}

/// Copies bit by bit, in pieces of about `grain` elements that threads may take.
pub(super) fn copy<T: Send>(from: &mut [T], to: &mut [MaybeUninit<T>], grain: usize) {
    assert_eq!(from.len(), to.len());
    if from.len() <= grain {
        // SAFETY: both are `from.len()` elements long, and two `&mut` cannot overlap.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), to.as_mut_ptr().cast(), from.len()) };
        return;
    }
    let half = from.len() / 2;
    let (from1, from2) = from.split_at_mut(half);
    let (to1, to2) = to.split_at_mut(half);
    pool::join(|_| copy(from1, to1, grain), |_| copy(from2, to2, grain));
}

/// Where to cut `a` and `b` so that their fronts are the first `count` elements of the merged run.
fn split<T, F: Fn(&T, &T) -> Ordering>(a: &[T], b: &[T], count: usize, cmp: &F) -> (usize, usize) {
    // The least cut of `a` for which everything in the front of `b` precedes everything in the back of `a`.
    let (mut low, mut high) = (count.saturating_sub(b.len()), count.min(a.len()));
    while low < high {
        let cut = low + (high - low) / 2;
        if cmp(&b[count - cut - 1], &a[cut]).is_lt() {
            high = cut;
        } else {
            low = cut + 1;
        }
    }
    (low, count - low)
}

/// Merges that one thread does in turn, an element each: a merge is a chain of loads that wait for one another, and
/// several independent chains take hardly longer than one.
const LANES: usize = 4;

fn merge_alone<T, F>(mut a: &[T], mut b: &[T], mut out: &mut [MaybeUninit<T>], cmp: &F)
where
    F: Fn(&T, &T) -> Ordering,
{
    let mut lanes: [Lane<T>; LANES] = array::from_fn(|lane| {
        let count = out.len() / (LANES - lane);
        let (a_front, b_front) = split(a, b, count, cmp);
        let (a_lane, b_lane, out_lane);
        (a_lane, a) = a.split_at(a_front);
        (b_lane, b) = b.split_at(b_front);
        (out_lane, out) = mem::take(&mut out).split_at_mut(count);
        Lane::new(a_lane, b_lane, out_lane)
    });
    while let steps @ 1.. = lanes.iter().map(Lane::sure_steps).min().unwrap_or(0) {
        for _ in 0..steps {
            for lane in &mut lanes {
                // SAFETY: every lane is sure of `steps` steps.
                unsafe { lane.step(cmp) };
            }
        }
    }
    for lane in lanes {
        lane.finish(cmp);
    }
}

/// A merge under way: what is left of the runs, and where the next element goes.
struct Lane<T> {
    a: *const T,
    a_end: *const T,
    b: *const T,
    b_end: *const T,
    out: *mut T,
}

impl<T> Lane<T> {
    /// The pointers live no longer than the slices because a lane is used by [`merge_alone`] only.
    fn new(a: &[T], b: &[T], out: &mut [MaybeUninit<T>]) -> Self {
        assert_eq!(a.len() + b.len(), out.len());
        let (a, b) = (a.as_ptr_range(), b.as_ptr_range());
        Lane { a: a.start, a_end: a.end, b: b.start, b_end: b.end, out: out.as_mut_ptr().cast() }
    }

    fn remaining(&self) -> (usize, usize) {
        // SAFETY: both pointers are in one slice, the end not before the start; no zero-sized types come here.
        let a = unsafe { self.a_end.offset_from(self.a) };
        // SAFETY: as above.
        let b = unsafe { self.b_end.offset_from(self.b) };
        (a as usize, b as usize)
    }

    /// Steps that cannot exhaust either run, whatever the comparisons say.
    fn sure_steps(&self) -> usize {
        let (a, b) = self.remaining();
        a.min(b)
    }

    /// Moves one element.
    ///
    /// # Safety
    ///
    /// Neither run is exhausted.
    #[inline(always)]
    unsafe fn step<F: Fn(&T, &T) -> Ordering>(&mut self, cmp: &F) {
        // SAFETY: neither run is exhausted, so both point to an element.
        let (a, b) = unsafe { (&*self.a, &*self.b) };
        let take_b = cmp(b, a).is_lt();
        let from = if take_b { self.b } else { self.a };
        // SAFETY: `out` has room for all that is left in both runs, which is at least this one.
        unsafe { ptr::copy_nonoverlapping(from, self.out, 1) };
        // SAFETY: as above, the next place is within or one past the end.
        self.out = unsafe { self.out.add(1) };
        // SAFETY: `b` moves by one at most, and is not at its end.
        self.b = unsafe { self.b.add(usize::from(take_b)) };
        // SAFETY: `a` moves by one at most, and is not at its end.
        self.a = unsafe { self.a.add(usize::from(!take_b)) };
    }

    fn finish<F: Fn(&T, &T) -> Ordering>(mut self, cmp: &F) {
        loop {
            let steps = self.sure_steps();
            if steps == 0 {
                break;
            }
            for _ in 0..steps {
                // SAFETY: `steps` steps are sure.
                unsafe { self.step(cmp) };
            }
        }
        let (a, b) = self.remaining();
        // SAFETY: `out` has room for all that is left.
        unsafe { ptr::copy_nonoverlapping(self.a, self.out, a) };
        // SAFETY: as above; one of the two runs is empty, so the order of the two copies does not matter.
        unsafe { ptr::copy_nonoverlapping(self.b, self.out.add(a), b) };
    }
}
