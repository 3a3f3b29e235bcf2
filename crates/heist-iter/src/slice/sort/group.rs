//! Grouping by buckets, before the standard library sorts each of them.
//!
//! A quicksort looks at every element as often as the slice is halved. That is cheap for a number, which comes into the
//! cache with its neighbours; but a string is fetched from wherever its bytes are, and a large element is moved as a
//! whole. Here an element is looked at once, while all it is compared with is in the cache, and moved once or twice. The
//! buckets are small enough for the cache, so that the rest of the sort is cheap.

use super::sample;
use super::splitters::{BUCKETS_MAX, Splitters};
use crate::pool;
use std::array;
use std::cmp::Ordering;
use std::mem::{self, MaybeUninit};
use std::ptr;

/// The least lengths for which buckets are worth their trouble: what is shorter is in the cache before long anyway.
const LEN_MIN: usize = 1 << 14;
const LEN_MIN_IN_PLACE: usize = 1 << 18;

/// Elements that [`group`] moves at a time, so that it need not note the buckets of all.
const BLOCK: usize = 1 << 15;

/// Neighbours that [`is_shuffled`] compares.
const PAIRS: usize = 256;

/// Whether [`sort_with_buffer`] is faster than one sort for `len` elements of this type in no order at all.
pub(super) fn pays_with_buffer<T>(len: usize) -> bool {
    (size_of::<T>() > 2 * size_of::<usize>() || mem::needs_drop::<T>()) && len >= LEN_MIN
}

/// Whether [`sort_in_place`] is faster than one sort for `len` elements of this type. Those that own something are
/// usually compared through a pointer.
pub(super) fn pays_in_place<T>(len: usize) -> bool {
    mem::needs_drop::<T>() && len >= LEN_MIN_IN_PLACE
}

/// Whether neither ascending nor descending runs seem to make up `v`, which buckets would tear apart.
pub(super) fn is_shuffled<T, F>(v: &[T], cmp: &F) -> bool
where
    F: Fn(&T, &T) -> Ordering,
{
    if v.len() <= PAIRS {
        return false;
    }
    let mut places = [0; PAIRS];
    sample::draw(&mut places, v.len() - 1);
    let descents = places.iter().filter(|&&place| cmp(&v[place + 1], &v[place]).is_lt()).count();
    (PAIRS / 8..=PAIRS - PAIRS / 8).contains(&descents)
}

/// The lengths of the buckets, in order.
type Lengths = [usize; BUCKETS_MAX];

/// Groups `v` by buckets, whose elements keep their order, and has each of them sorted. The buffer is as long as `v`.
pub(super) fn sort_with_buffer<T, F, S>(v: &mut [T], buffer: &mut [MaybeUninit<T>], cmp: &F, sort: &S)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering,
    S: Fn(&mut [T]) + Sync,
{
    let lengths = group(v, buffer, cmp);
    sort_buckets(v, &lengths, sort);
}

/// Groups `v` by buckets, in place but for a byte for each element, and has each of them sorted.
pub(super) fn sort_in_place<T, F, S>(v: &mut [T], cmp: &F, sort: &S)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering,
    S: Fn(&mut [T]) + Sync,
{
    let lengths = group_in_place(v, cmp);
    sort_buckets(v, &lengths, sort);
}

/// Sorts the buckets one by one; threads may take some of them.
fn sort_buckets<T, S>(v: &mut [T], lengths: &[usize], sort: &S)
where
    T: Send,
    S: Fn(&mut [T]) + Sync,
{
    match lengths {
        [] => {}
        [_] => sort(v),
        _ => {
            let (left, right) = lengths.split_at(lengths.len() / 2);
            let (v_left, v_right) = v.split_at_mut(left.iter().sum());
            pool::join(|_| sort_buckets(v_left, left, sort), |_| sort_buckets(v_right, right, sort));
        }
    }
}

/// If a comparison panics, `v` is as it was.
fn group<T, F>(v: &mut [T], buffer: &mut [MaybeUninit<T>], cmp: &F) -> Lengths
where
    F: Fn(&T, &T) -> Ordering,
{
    assert_eq!(v.len(), buffer.len());
    let splitters = Splitters::choose(v, cmp);
    let mut ids = vec![0; BLOCK.min(v.len())];
    let mut blocks: Vec<Lengths> = Vec::with_capacity(v.len().div_ceil(BLOCK));
    let mut copies: Vec<(usize, usize)> = Vec::with_capacity(splitters.places.len());
    let mut places = splitters.places.iter().copied().peekable();
    for ((at, from), to) in (0..).step_by(BLOCK).zip(v.chunks(BLOCK)).zip(buffer.chunks_mut(BLOCK)) {
        let ids = &mut ids[..from.len()];
        let lengths = splitters.classify(from, ids, cmp);
        let mut next = starts(&lengths);
        blocks.push(lengths);
        for (i, (x, &id)) in from.iter().zip(&*ids).enumerate() {
            let place = &mut next[usize::from(id)];
            // SAFETY: one element is read and written, and `v` and the buffer do not overlap.
            unsafe { ptr::copy_nonoverlapping(x, to[*place].as_mut_ptr(), 1) };
            if places.next_if_eq(&(at + i)).is_some() {
                copies.push((at + i, at + *place));
            }
            *place += 1;
        }
    }
    // Splitters have been compared since they were copied, and may have changed by that.
    for (from, to) in copies {
        // SAFETY: as above.
        unsafe { ptr::copy_nonoverlapping(&v[from], buffer[to].as_mut_ptr(), 1) };
    }
    bring_back(v, buffer, &blocks)
}

/// Puts together what belongs to the same bucket, in `v`. The buffer holds all elements of `v`, and each block of it is
/// grouped.
fn bring_back<T>(v: &mut [T], buffer: &[MaybeUninit<T>], blocks: &[Lengths]) -> Lengths {
    let mut from: Vec<usize> = (0..blocks.len()).map(|block| block * BLOCK).collect();
    let mut rest = v;
    // No comparison, and so no unwinding, until all elements are in `v` again.
    array::from_fn(|bucket| {
        let mut total = 0;
        for (lengths, from) in blocks.iter().zip(&mut from) {
            let len = lengths[bucket];
            let (to, others) = mem::take(&mut rest).split_at_mut(len);
            let piece = &buffer[*from..*from + len];
            // SAFETY: both are `len` elements long, and `v` and the buffer do not overlap.
            unsafe { ptr::copy_nonoverlapping(piece.as_ptr().cast(), to.as_mut_ptr(), len) };
            rest = others;
            *from += len;
            total += len;
        }
        total
    })
}

/// If a comparison panics, `v` is as it was.
fn group_in_place<T, F>(v: &mut [T], cmp: &F) -> Lengths
where
    F: Fn(&T, &T) -> Ordering,
{
    let mut ids = vec![0; v.len()];
    let lengths = Splitters::choose(v, cmp).classify(v, &mut ids, cmp);
    let mut next = starts(&lengths);
    let mut end = 0;
    for bucket in 0..BUCKETS_MAX {
        end += lengths[bucket];
        // Whatever is in the way changes places with the next one of the bucket that it belongs to.
        while next[bucket] < end {
            let here = next[bucket];
            let id = usize::from(ids[here]);
            let there = next[id];
            v.swap(here, there);
            ids.swap(here, there);
            next[id] += 1;
        }
    }
    lengths
}

fn starts(lengths: &Lengths) -> Lengths {
    let mut end = 0;
    lengths.map(|len| {
        end += len;
        end - len
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::panic::{self, AssertUnwindSafe};

    /// An element that owns something, and is replaced by every comparison: a stale copy would be freed twice.
    struct Restless {
        key: u32,
        id: usize,
        compared: Cell<Box<u64>>,
    }

    fn elements(keys: &[u32]) -> Vec<Restless> {
        let new = |(id, &key)| Restless { key, id, compared: Cell::new(Box::new(0)) };
        keys.iter().enumerate().map(new).collect()
    }

    /// Compares keys, and panics after `before` comparisons.
    fn compare(a: &Restless, b: &Restless, compared: &Cell<u64>, before: u64) -> Ordering {
        if compared.get() >= before {
            panic::resume_unwind(Box::new("planned"));
        }
        compared.set(compared.get() + 1);
        for x in [a, b] {
            let count = x.compared.replace(Box::new(0));
            x.compared.set(Box::new(*count + 1));
        }
        a.key.cmp(&b.key)
    }

    /// Lengths around a block's, and the least for which splitters are chosen.
    const LENGTHS: [usize; 7] = [16, 17, 1000, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 5];

    fn key_sets(len: usize) -> Vec<Vec<u32>> {
        let seed = len as u64;
        eprintln!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        [u32::MAX, 300, 5, 1].map(|below| (0..len).map(|_| random.u32(..below)).collect()).into()
    }

    type Group = fn(&mut [Restless], &dyn Fn(&Restless, &Restless) -> Ordering) -> Lengths;

    fn with_buffer(v: &mut [Restless], cmp: &dyn Fn(&Restless, &Restless) -> Ordering) -> Lengths {
        let mut buffer = Vec::with_capacity(v.len());
        let len = v.len();
        group(v, &mut buffer.spare_capacity_mut()[..len], &cmp)
    }

    fn in_place(v: &mut [Restless], cmp: &dyn Fn(&Restless, &Restless) -> Ordering) -> Lengths {
        group_in_place(v, &cmp)
    }

    #[test]
    fn buckets_follow_each_other_and_keep_what_comparisons_changed() {
        for len in LENGTHS {
            for keys in key_sets(len) {
                for (group, keeps_order) in [(with_buffer as Group, true), (in_place, false)] {
                    let mut v = elements(&keys);
                    let compared = Cell::new(0);
                    let lengths = group(&mut v, &|a, b| compare(a, b, &compared, u64::MAX));
                    let mut rest = &v[..];
                    let mut least = 0;
                    for length in lengths {
                        let (bucket, others) = rest.split_at(length);
                        rest = others;
                        assert!(bucket.iter().all(|x| x.key >= least), "{len}");
                        least = bucket.iter().map(|x| x.key).max().unwrap_or(least);
                        assert!(!keeps_order || bucket.is_sorted_by_key(|x| x.id), "{len}");
                    }
                    assert!(rest.is_empty());
                    let remembered: u64 = v.into_iter().map(|x| *x.compared.into_inner()).sum();
                    assert_eq!(remembered, 2 * compared.get(), "{len}");
                }
            }
        }
    }

    #[test]
    fn a_panic_at_any_comparison_leaves_everything_where_it_was() {
        for len in [1000, BLOCK + 1000] {
            for keys in key_sets(len) {
                for group in [with_buffer as Group, in_place] {
                    let all = Cell::new(0);
                    group(&mut elements(&keys), &|a, b| compare(a, b, &all, u64::MAX));
                    let points = 24;
                    for before in (0..points).map(|i| (all.get() - 1) * i / (points - 1)) {
                        let mut v = elements(&keys);
                        let compared = Cell::new(0);
                        let result = panic::catch_unwind(AssertUnwindSafe(|| {
                            group(&mut v, &|a, b| compare(a, b, &compared, before));
                        }));
                        assert!(result.is_err());
                        assert!(v.iter().map(|x| x.id).eq(0..len), "{len}, after {before} comparisons");
                    }
                }
            }
        }
    }

    #[test]
    fn an_order_that_contradicts_itself_loses_nothing() {
        for len in LENGTHS {
            for group in [with_buffer as Group, in_place] {
                let mut v = elements(&vec![0; len]);
                let mut random = fastrand::Rng::with_seed(len as u64);
                let answers = Cell::new(random.u64(..));
                let lengths = group(&mut v, &|_, _| {
                    answers.set(answers.get().wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1));
                    if answers.get() >> 63 == 0 { Ordering::Less } else { Ordering::Greater }
                });
                assert_eq!(lengths.iter().sum::<usize>(), len);
                let mut ids: Vec<usize> = v.iter().map(|x| x.id).collect();
                ids.sort_unstable();
                assert!(ids.into_iter().eq(0..len), "{len}");
            }
        }
    }

    #[test]
    fn runs_are_not_shuffled_and_random_elements_are() {
        let len = 100_000;
        let mut random = fastrand::Rng::with_seed(5);
        assert!(is_shuffled(&(0..len).map(|_| random.u32(..)).collect::<Vec<_>>(), &u32::cmp));
        assert!(!is_shuffled(&(0..len).map(|i| i % 1000).collect::<Vec<_>>(), &u32::cmp));
        assert!(!is_shuffled(&(0..len).rev().map(|i| i % 1000).collect::<Vec<_>>(), &u32::cmp));
        assert!(!is_shuffled(&[3, 2, 1], &u32::cmp));
    }
}
