//! The stable sort: equal chunks by the standard library, then merges.

use super::{group, leaf, merge, run, worth};
use crate::pool;
use std::cmp::Ordering;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;

/// The shortest chunk, if there are more than the fewest possible.
const CHUNK_MIN: usize = 1 << 11;

/// Chunks for each thread. A level of merging costs about what a level of the standard library's sort does, so that
/// there may be enough of them to keep threads of unequal luck busy.
const CHUNKS_PER_THREAD: usize = 32;

/// What one thread merges without offering a part of it, as a share of a thread's whole.
const MERGES_PER_THREAD: usize = 8;

/// Sorts `v`; equal elements keep their order.
pub(crate) fn stable<T, F>(v: &mut [T], cmp: &F)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    let threads = pool::workers();
    let len = v.len();
    if threads == 1 || size_of::<T>() == 0 || !worth::is_worth_sharing(v, cmp) {
        return leaf::sort_stable(v, cmp);
    }
    if run::settle::<T, F, false>(v, cmp) {
        return;
    }
    let mut buffer = Vec::new();
    let cuts = if group::pays_with_buffer::<T>(len / threads) && group::is_shuffled(v, cmp) {
        buffer.reserve_exact(len);
        let cuts = Cuts { len, chunks: threads.next_power_of_two() };
        group_chunks(v, &mut buffer.spare_capacity_mut()[..len], cuts, 0..cuts.chunks, cmp);
        cuts
    } else {
        let cuts = Cuts::new(len, threads);
        sort_chunks(v, cuts, 0..cuts.chunks, cmp);
        // The buffer is made after the chunks are sorted, so that it does not add to those of the standard library.
        buffer.reserve_exact(len);
        cuts
    };
    let grain = (len / (threads * MERGES_PER_THREAD)).max(CHUNK_MIN);
    let mut arrays = Arrays::new(v, &mut buffer.spare_capacity_mut()[..len]);
    let mut width = 1;
    while width < cuts.chunks {
        let (from, to) = arrays.sides();
        if !pairs_in_order(from, cuts, width, cmp) {
            merge_pairs(from, to, Pairs { cuts, width, grain, cmp }, 0..cuts.chunks);
            // SAFETY: merging has filled the other array with all the elements.
            unsafe { arrays.switch() };
        }
        width *= 2;
    }
    arrays.come_home(grain);
}

/// Where the chunks of a slice begin.
#[derive(Clone, Copy)]
struct Cuts {
    len: usize,
    chunks: usize,
}

impl Cuts {
    fn new(len: usize, threads: usize) -> Self {
        // A power of four makes the number of levels even, so that the last one ends in the slice itself.
        let mut chunks = 4;
        while chunks < CHUNKS_PER_THREAD * threads && len / (chunks * 4) >= CHUNK_MIN {
            chunks *= 4;
        }
        Cuts { len, chunks }
    }

    fn at(self, chunk: usize) -> usize {
        let (each, longer) = (self.len / self.chunks, self.len % self.chunks);
        each * chunk + longer.min(chunk)
    }

    fn between(self, from: usize, to: usize) -> usize {
        self.at(to) - self.at(from)
    }
}

fn sort_chunks<T, F>(v: &mut [T], cuts: Cuts, which: Range<usize>, cmp: &F)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    if which.len() == 1 {
        return leaf::sort_stable(v, cmp);
    }
    let mid = which.start + which.len() / 2;
    let (left, right) = v.split_at_mut(cuts.between(which.start, mid));
    pool::join(
        |_| sort_chunks(left, cuts, which.start..mid, cmp),
        |_| sort_chunks(right, cuts, mid..which.end, cmp),
    );
}

/// Like [`sort_chunks`], with buckets.
fn group_chunks<T, F>(v: &mut [T], buffer: &mut [MaybeUninit<T>], cuts: Cuts, which: Range<usize>, cmp: &F)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    if which.len() == 1 {
        return group::sort_with_buffer(v, buffer, cmp, &|bucket: &mut [T]| leaf::sort_stable(bucket, cmp));
    }
    let mid = which.start + which.len() / 2;
    let at = cuts.between(which.start, mid);
    let (left, right) = v.split_at_mut(at);
    let (buffer_left, buffer_right) = buffer.split_at_mut(at);
    pool::join(
        |_| group_chunks(left, buffer_left, cuts, which.start..mid, cmp),
        |_| group_chunks(right, buffer_right, cuts, mid..which.end, cmp),
    );
}

/// Whether the runs of `width` chunks need not be merged pair by pair, because they are already.
fn pairs_in_order<T, F>(v: &[T], cuts: Cuts, width: usize, cmp: &F) -> bool
where
    F: Fn(&T, &T) -> Ordering,
{
    let seams = (width..cuts.chunks).step_by(2 * width).map(|chunk| cuts.at(chunk));
    seams.into_iter().all(|seam| cmp(&v[seam], &v[seam - 1]).is_ge())
}

/// What a level of merging is about.
struct Pairs<'a, F> {
    cuts: Cuts,
    /// The chunks in each run.
    width: usize,
    grain: usize,
    cmp: &'a F,
}

impl<F> Clone for Pairs<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Pairs<'_, F> {}

/// Merges the runs of some chunks pair by pair.
fn merge_pairs<T, F>(from: &mut [T], to: &mut [MaybeUninit<T>], pairs: Pairs<'_, F>, which: Range<usize>)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    let mid = which.start + which.len() / 2;
    let at = pairs.cuts.between(which.start, mid);
    let (from1, from2) = from.split_at_mut(at);
    if which.len() == 2 * pairs.width {
        return merge::merge(from1, from2, to, pairs.grain, pairs.cmp);
    }
    let (to1, to2) = to.split_at_mut(at);
    pool::join(
        |_| merge_pairs(from1, to1, pairs, which.start..mid),
        |_| merge_pairs(from2, to2, pairs, mid..which.end),
    );
}

/// The slice and the buffer between which the elements go back and forth, a level at a time.
///
/// INVARIANT: the elements are in one of the two, all of them, each initialised. Bytes in the other one are copies at
/// best, and never used as elements.
struct Arrays<'a, T> {
    slice: &'a mut [MaybeUninit<T>],
    buffer: &'a mut [MaybeUninit<T>],
    /// Whether the elements are in the buffer.
    away: bool,
}

impl<'a, T> Arrays<'a, T> {
    fn new(slice: &'a mut [T], buffer: &'a mut [MaybeUninit<T>]) -> Self {
        assert_eq!(slice.len(), buffer.len());
        let slice = ptr::from_mut::<[T]>(slice) as *mut [MaybeUninit<T>];
        // SAFETY: `MaybeUninit<T>` has the layout of `T`, and the elements are back when `Arrays` is dropped.
        Arrays { slice: unsafe { &mut *slice }, buffer, away: false }
    }

    /// The array with the elements, and the other one.
    fn sides(&mut self) -> (&mut [T], &mut [MaybeUninit<T>]) {
        let (from, to) = if self.away {
            (&mut *self.buffer, &mut *self.slice)
        } else {
            (&mut *self.slice, &mut *self.buffer)
        };
        // SAFETY: see the invariant.
        (unsafe { &mut *(ptr::from_mut::<[MaybeUninit<T>]>(from) as *mut [T]) }, to)
    }

    /// From now on the elements are those in the other array.
    ///
    /// # Safety
    ///
    /// The other array holds all of them.
    unsafe fn switch(&mut self) {
        self.away = !self.away;
    }

    /// Brings the elements back to the slice.
    fn come_home(mut self, grain: usize)
    where
        T: Send,
    {
        if self.away {
            let (from, to) = self.sides();
            merge::copy(from, to, grain);
            self.away = false;
        }
    }
}

impl<T> Drop for Arrays<'_, T> {
    /// Brings the elements back when a comparison unwinds. A level only reads the array that holds them, so they are
    /// all there; and `pool::join` neither returns nor unwinds before both its halves have ended.
    fn drop(&mut self) {
        if self.away {
            self.slice.swap_with_slice(self.buffer);
        }
    }
}
