//! The unstable sort: in place, by partitioning.

use super::partition::partition;
use super::{group, leaf, run, sample, worth};
use crate::pool;
use std::cmp::Ordering;

/// Parts that one thread sorts alone, per thread of the pool: enough to even out threads of unequal luck. Our partition
/// costs what the standard library's does, so that it does not matter much who makes the next cut.
const PARTS_PER_THREAD: usize = 32;

/// The same for parts that are grouped by buckets, which threads may take. More of them would bring back the passes that
/// buckets spare, fewer would need more memory for the buckets' numbers.
const GROUPED_PARTS_PER_THREAD: usize = 2;

/// The length from which on a part is not worth cutting.
const PART_MIN: usize = 1 << 9;

/// Elements per thread that make a partition worth sharing.
const PIECE_MIN: usize = 1 << 14;

/// Most threads that share one partition.
const PIECES_MAX: usize = 64;

/// Sampled elements per pivot, at least. Elements between two pivots are sorted twice, and there are as many of these as
/// there are pivots among the samples.
const SAMPLES_PER_PIECE: usize = 16;

const SAMPLES_MAX: usize = PIECES_MAX * SAMPLES_PER_PIECE;

/// A pivot whose equals are at least one in so many samples gets a part of its own, which is then sorted.
const COMMON: usize = 8;

/// Sorts `v`; equal elements may change places.
pub(crate) fn unstable<T, F>(v: &mut [T], cmp: &F)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    let threads = pool::workers();
    if threads == 1 || size_of::<T>() == 0 || !worth::is_worth_sharing(v, cmp) {
        return leaf::sort_unstable(v, cmp);
    }
    if run::settle::<T, F, true>(v, cmp) {
        return;
    }
    let share = v.len() / threads;
    let grouped = group::pays_in_place::<T>(share / GROUPED_PARTS_PER_THREAD);
    let parts = if grouped { GROUPED_PARTS_PER_THREAD } else { PARTS_PER_THREAD };
    // Half as much again, for halves are never even, and should not be cut once more for that.
    let part = (share / parts * 3 / 2).max(PART_MIN);
    let levels = (v.len() / part).max(1).ilog2() + 1;
    // Twice the cuts that even halves would need: beyond that the order or the input is hostile.
    Quick { cmp, part, grouped }.sort(v, threads, 2 * levels);
}

struct Quick<'a, F> {
    cmp: &'a F,
    /// Parts up to this length are cut no more.
    part: usize,
    /// Whether parts are grouped by buckets before the standard library gets them.
    grouped: bool,
}

impl<F> Quick<'_, F> {
    /// Sorts `v`, whose share of the pool is `threads`, with at most `cuts` cuts one within another.
    fn sort<T>(&self, v: &mut [T], threads: usize, cuts: u32)
    where
        T: Send,
        F: Fn(&T, &T) -> Ordering + Sync,
    {
        if v.len() <= self.part || cuts == 0 {
            return self.sort_part(v);
        }
        let len = v.len();
        let pieces = threads.min(len / PIECE_MIN).clamp(1, PIECES_MAX);
        let common = self.choose_pivots(v, pieces);
        let (left_end, right_start) = self.divide(v, pieces, common);

        let (rest, right) = v.split_at_mut(right_start);
        let left = &mut rest[..left_end];
        let share = |part: &[T]| (threads * part.len() / len).max(1);
        let (left_share, right_share) = (share(left), share(right));
        pool::join(|_| self.sort(left, left_share, cuts - 1), |_| self.sort(right, right_share, cuts - 1));
        if pieces > 1 && !common {
            self.mend_seam(v, left_end, threads, cuts - 1);
        }
    }

    fn sort_part<T>(&self, v: &mut [T])
    where
        T: Send,
        F: Fn(&T, &T) -> Ordering + Sync,
    {
        let sort = |v: &mut [T]| leaf::sort_unstable(v, self.cmp);
        if self.grouped && group::pays_in_place::<T>(v.len()) {
            group::sort_in_place(v, self.cmp, &sort);
        } else {
            sort(v);
        }
    }

    /// Partitions `v` around the pivots, which are its first elements. Returns where the left part ends and where the
    /// right one starts: what lies between is equal to the pivots, and there only if they are `common`.
    fn divide<T>(&self, v: &mut [T], pieces: usize, common: bool) -> (usize, usize)
    where
        T: Send,
        F: Fn(&T, &T) -> Ordering + Sync,
    {
        let (pivots, rest) = v.split_at_mut(pieces);
        let less = partition(rest, pivots, &|x, pivot| (self.cmp)(x, pivot).is_lt());
        let right_start = if common {
            let not_less = &mut rest[less..];
            less + pieces + partition(not_less, pivots, &|x, pivot| (self.cmp)(pivot, x).is_ge())
        } else {
            less
        };
        // [pivots][less][the others]: the pivots change places with the last of the less.
        let moved = pieces.min(less);
        let (front, back) = v[..pieces + less].split_at_mut(pieces + less - moved);
        front[..moved].swap_with_slice(back);
        (less, right_start)
    }

    /// Brings a sample's median, or several elements around it, to the front of `v`. Says whether they are common, and
    /// then equal to each other.
    ///
    /// Not inlined, so that the sample does not stay on the stack while the parts are sorted.
    #[inline(never)]
    fn choose_pivots<T>(&self, v: &mut [T], pieces: usize) -> bool
    where
        F: Fn(&T, &T) -> Ordering,
    {
        let mut samples = [0; SAMPLES_MAX];
        let count = (v.len().isqrt() / 2).clamp(pieces * SAMPLES_PER_PIECE, SAMPLES_MAX);
        let sample = &mut samples[..count];
        sample::draw(sample, v.len());
        leaf::sort_unstable(sample, &|&a: &usize, &b: &usize| (self.cmp)(&v[a], &v[b]));

        // The median is not compared with itself: a comparison that borrows both sides exclusively would not survive.
        let middle = count / 2;
        let median = &v[sample[middle]];
        let before = sample[..middle].partition_point(|&i| (self.cmp)(&v[i], median).is_lt());
        let after = sample[middle + 1..].partition_point(|&i| (self.cmp)(&v[i], median).is_le());
        let equal = (middle - before) + 1 + after;
        let common = equal >= count / COMMON;
        let first = if common { before } else { middle - pieces / 2 };
        bring_to_front(v, &mut sample[first..first + pieces]);
        common
    }

    /// Sorts what two sorted neighbours, `v[..seam]` and `v[seam..]`, have in common.
    ///
    /// Pieces that were partitioned around different pivots leave elements between these pivots on both sides. They
    /// are few, and they are the last on the left and the first on the right.
    fn mend_seam<T>(&self, v: &mut [T], seam: usize, threads: usize, cuts: u32)
    where
        T: Send,
        F: Fn(&T, &T) -> Ordering + Sync,
    {
        let (left, right) = v.split_at(seam);
        let (Some(greatest), Some(least)) = (left.last(), right.first()) else { return };
        if (self.cmp)(least, greatest).is_ge() {
            return;
        }
        let start = left.partition_point(|x| (self.cmp)(x, least).is_le());
        let end = seam + right.partition_point(|x| (self.cmp)(x, greatest).is_lt());
        self.sort(&mut v[start..end], threads, cuts);
    }
}

/// Swaps the elements at the `chosen` indices, which differ, with the first ones.
fn bring_to_front<T>(v: &mut [T], chosen: &mut [usize]) {
    for to in 0..chosen.len() {
        let from = chosen[to];
        v.swap(to, from);
        // What lay at `to` may have been chosen as well; it lies at `from` now.
        for later in &mut chosen[to + 1..] {
            if *later == to {
                *later = from;
            }
        }
    }
}
