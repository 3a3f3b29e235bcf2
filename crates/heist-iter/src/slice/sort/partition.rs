//! Partitioning in place by several threads.

use crate::pool;
use std::ptr;

/// Elements up to this size are moved whether or not they need to be, since that is cheaper than a mispredicted
/// branch.
const CHEAP_TO_MOVE: usize = 96;

/// Elements that one thread swaps on its own.
const GRAIN: usize = 1 << 15;

/// Brings the elements for which `goes_left(element, pivot)` holds to the front and returns how many they are.
///
/// `v` is divided among as many threads as there are `pivots`, and each compares with a pivot of its own, because a
/// pivot may not be compared by two threads at once. Where the pivots differ, so does the outcome for the elements
/// between the least and the greatest of them.
pub(super) fn partition<T, P>(v: &mut [T], pivots: &mut [T], goes_left: &P) -> usize
where
    T: Send,
    P: Fn(&T, &T) -> bool + Sync,
{
    if let [pivot] = pivots {
        return partition_alone(v, pivot, goes_left);
    }
    let half = pivots.len() / 2;
    let mid = v.len() / pivots.len() * half;
    let (left_pivots, right_pivots) = pivots.split_at_mut(half);
    let (left, right) = v.split_at_mut(mid);
    let (l, r) = pool::join(
        |_| partition(left, left_pivots, goes_left),
        |_| partition(right, right_pivots, goes_left),
    );
    // [< l][>= mid - l][< r][>= ..]: the middle two change places as far as they reach.
    let out_of_place = r.min(mid - l);
    exchange(&mut left[l..l + out_of_place], &mut right[r - out_of_place..r]);
    l + r
}

/// Swaps two slices of the same length, element by element.
fn exchange<T: Send>(a: &mut [T], b: &mut [T]) {
    if a.len() <= GRAIN {
        a.swap_with_slice(b);
        return;
    }
    let half = a.len() / 2;
    let (a1, a2) = a.split_at_mut(half);
    let (b1, b2) = b.split_at_mut(half);
    pool::join(|_| exchange(a1, b1), |_| exchange(a2, b2));
}

fn partition_alone<T, P>(v: &mut [T], pivot: &T, goes_left: &P) -> usize
where
    P: Fn(&T, &T) -> bool,
{
    if size_of::<T>() <= CHEAP_TO_MOVE {
        partition_branchless(v, pivot, goes_left)
    } else {
        partition_by_need(v, pivot, goes_left)
    }
}

/// Every element is swapped with the first that goes right, and only the count depends on the comparison.
fn partition_branchless<T, P>(v: &mut [T], pivot: &T, goes_left: &P) -> usize
where
    P: Fn(&T, &T) -> bool,
{
    let len = v.len();
    let base = v.as_mut_ptr();
    let mut left = 0;
    for i in 0..len {
        // SAFETY: `left <= i < len`, since `left` grows by at most one for each `i` that has passed.
        let (first_right, here) = unsafe { (base.add(left), base.add(i)) };
        // SAFETY: `here` is an element of `v`, which is borrowed for as long as this function runs.
        let goes = goes_left(unsafe { &*here }, pivot);
        // SAFETY: both point to elements of `v` (perhaps the same one, which `ptr::swap` allows).
        unsafe { ptr::swap(first_right, here) };
        left += usize::from(goes);
    }
    left
}

/// Looks from both ends for two elements out of place, and swaps those only.
fn partition_by_need<T, P>(v: &mut [T], pivot: &T, goes_left: &P) -> usize
where
    P: Fn(&T, &T) -> bool,
{
    let (mut left, mut right) = (0, v.len());
    loop {
        while left < right && goes_left(&v[left], pivot) {
            left += 1;
        }
        while left < right && !goes_left(&v[right - 1], pivot) {
            right -= 1;
        }
        // Beyond each other only if the same element went one way first and then the other.
        if left >= right {
            return left;
        }
        v.swap(left, right - 1);
        left += 1;
        right -= 1;
    }
}
