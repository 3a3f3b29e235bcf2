//! Slices that are in order before the sort has begun.

use crate::pool;
use std::cmp::Ordering;

/// How many elements are looked at before other threads are asked to help: nearly every slice that is not in order
/// betrays itself within the first few.
const PROBE: usize = 1 << 10;

/// Elements per piece of a parallel look or reversal: a few microseconds of work, and more than a page of memory.
const GRAIN: usize = 1 << 14;

/// Puts `v` in order if it is one ascending run, or one descending run; says whether it was.
///
/// A run may be turned around only if it has no two equal elements, for the sake of stability, unless `TIES` says that
/// the order of equals does not matter.
pub(super) fn settle<T, F, const TIES: bool>(v: &mut [T], cmp: &F) -> bool
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    let descends = |a: &T, b: &T| match cmp(b, a) {
        Ordering::Less => true,
        Ordering::Equal => TIES,
        Ordering::Greater => false,
    };
    let ascends = |a: &T, b: &T| cmp(b, a) != Ordering::Less;
    match v {
        [a, b, ..] if !ascends(a, b) => {
            let descending = holds(v, &descends);
            if descending {
                reverse(v);
            }
            descending
        }
        _ => holds(v, &ascends),
    }
}

/// Whether `fits` holds for every two neighbours.
fn holds<T, P>(v: &mut [T], fits: &P) -> bool
where
    T: Send,
    P: Fn(&T, &T) -> bool + Sync,
{
    let probe = v.len().min(PROBE);
    v[..probe].is_sorted_by(fits) && holds_everywhere(&mut v[probe.saturating_sub(1)..], fits)
}

fn holds_everywhere<T, P>(v: &mut [T], fits: &P) -> bool
where
    T: Send,
    P: Fn(&T, &T) -> bool + Sync,
{
    if v.len() <= GRAIN {
        return v.is_sorted_by(fits);
    }
    let mid = v.len() / 2;
    let (left, right) = v.split_at_mut(mid);
    let (in_left, in_right) = pool::join(|_| holds_everywhere(left, fits), |_| holds_everywhere(right, fits));
    // The pair across the middle is compared last, when no other thread can be looking at either of its elements.
    in_left && in_right && fits(&v[mid - 1], &v[mid])
}

/// Turns the slice around.
fn reverse<T: Send>(v: &mut [T]) {
    let mid = v.len() / 2;
    let (left, rest) = v.split_at_mut(mid);
    let skip = rest.len() - mid;
    exchange_mirrored(left, &mut rest[skip..]);
}

/// Swaps the first of `left` with the last of `right`, and so on; both have the same length.
fn exchange_mirrored<T: Send>(left: &mut [T], right: &mut [T]) {
    if left.len() <= GRAIN {
        for (a, b) in left.iter_mut().zip(right.iter_mut().rev()) {
            std::mem::swap(a, b);
        }
        return;
    }
    let half = left.len() / 2;
    let (outer_left, inner_left) = left.split_at_mut(half);
    let (inner_right, outer_right) = right.split_at_mut(inner_left.len());
    pool::join(
        |_| exchange_mirrored(outer_left, outer_right),
        |_| exchange_mirrored(inner_left, inner_right),
    );
}
