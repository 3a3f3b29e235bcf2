//! Parallel iterators and sorts for slices.
//!
//! [`ParallelSlice`] adds the iterators that read, [`ParallelSliceMut`] those that write, and the sorts.

#[macro_use]
mod source;

mod chunk_by;
mod chunks;
mod chunks_exact;
mod iter;
pub(crate) mod pieces;
mod range;
mod rchunks;
mod rchunks_exact;
mod sort;
mod split;
mod split_inclusive;
mod windows;

pub use chunk_by::{ChunkBy, ChunkByMut};
pub use chunks::{Chunks, ChunksMut};
pub use chunks_exact::{ChunksExact, ChunksExactMut};
pub use iter::{Iter, IterMut};
pub(crate) use range::resolve_range;
pub use rchunks::{RChunks, RChunksMut};
pub use rchunks_exact::{RChunksExact, RChunksExactMut};
pub use split::{Split, SplitMut};
pub use split_inclusive::{SplitInclusive, SplitInclusiveMut};
pub use windows::{ArrayWindows, Windows};

use std::cmp::Ordering;

/// Parallel iterators that read a slice.
///
/// Implemented by `[T]`, and so at hand for everything that can be borrowed as one.
///
/// ```
/// use heist::prelude::*;
///
/// let rising = [1, 2, 2, 5].par_windows(2).all(|pair| pair[0] <= pair[1]);
/// assert!(rising);
/// ```
pub trait ParallelSlice<T: Sync> {
    /// The slice itself. The other methods are provided, and use this one.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!(vec![1, 2].as_parallel_slice(), [1, 2]);
    /// ```
    fn as_parallel_slice(&self) -> &[T];

    /// Iterates over the pieces between elements for which `separator` holds, as [`slice::split`] does.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let longest = [7, 0, 7, 7, 0].par_split(|&n| n == 0).map(|run| run.len()).max();
    /// assert_eq!(longest, Some(2));
    /// ```
    fn par_split<P>(&self, separator: P) -> Split<'_, T, P>
    where
        P: Fn(&T) -> bool + Sync + Send,
    {
        Split::new(self.as_parallel_slice(), separator)
    }

    /// Iterates over pieces that end with an element for which `separator` holds, as [`slice::split_inclusive`] does.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let lengths: Vec<usize> = b"ab\nc\n".par_split_inclusive(|&b| b == b'\n').map(|line| line.len()).collect();
    /// assert_eq!(lengths, [3, 2]);
    /// ```
    fn par_split_inclusive<P>(&self, separator: P) -> SplitInclusive<'_, T, P>
    where
        P: Fn(&T) -> bool + Sync + Send,
    {
        SplitInclusive::new(self.as_parallel_slice(), separator)
    }

    /// Iterates over every stretch of `window_size` neighbours, as [`slice::windows`] does.
    ///
    /// # Panics
    ///
    /// If `window_size` is zero.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let most = [2, 9, 4, 1].par_windows(2).map(|pair| pair[0] + pair[1]).max();
    /// assert_eq!(most, Some(13));
    /// ```
    fn par_windows(&self, window_size: usize) -> Windows<'_, T> {
        assert_ne!(window_size, 0, "window_size must not be zero");
        Windows::new(window_size, self.as_parallel_slice())
    }

    /// Iterates over every stretch of `N` neighbours, as arrays.
    ///
    /// # Panics
    ///
    /// If `N` is zero.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let sums: Vec<i32> = [1, 2, 3].par_array_windows().map(|&[a, b]| a + b).collect();
    /// assert_eq!(sums, [3, 5]);
    /// ```
    fn par_array_windows<const N: usize>(&self) -> ArrayWindows<'_, T, N> {
        assert_ne!(N, 0, "the length of the windows must not be zero");
        ArrayWindows::new(self.as_parallel_slice())
    }

    /// Iterates over chunks of `chunk_size` elements, the last of which may be short, as [`slice::chunks`] does.
    ///
    /// # Panics
    ///
    /// If `chunk_size` is zero.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!([1, 2, 3].par_chunks(2).collect::<Vec<_>>(), [&[1, 2][..], &[3]]);
    /// ```
    #[track_caller]
    fn par_chunks(&self, chunk_size: usize) -> Chunks<'_, T> {
        check_chunk_size(chunk_size);
        Chunks::new(chunk_size, self.as_parallel_slice())
    }

    /// Iterates over chunks of exactly `chunk_size` elements, as [`slice::chunks_exact`] does. What is left over is the
    /// iterator's [`remainder`](ChunksExact::remainder).
    ///
    /// # Panics
    ///
    /// If `chunk_size` is zero.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!([1, 2, 3].par_chunks_exact(2).collect::<Vec<_>>(), [&[1, 2]]);
    /// ```
    #[track_caller]
    fn par_chunks_exact(&self, chunk_size: usize) -> ChunksExact<'_, T> {
        check_chunk_size(chunk_size);
        ChunksExact::new(chunk_size, self.as_parallel_slice())
    }

    /// Iterates over chunks of `chunk_size` elements from the back, the last of which may be short, as
    /// [`slice::rchunks`] does.
    ///
    /// # Panics
    ///
    /// If `chunk_size` is zero.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!([1, 2, 3].par_rchunks(2).collect::<Vec<_>>(), [&[2, 3][..], &[1]]);
    /// ```
    #[track_caller]
    fn par_rchunks(&self, chunk_size: usize) -> RChunks<'_, T> {
        check_chunk_size(chunk_size);
        RChunks::new(chunk_size, self.as_parallel_slice())
    }

    /// Iterates over chunks of exactly `chunk_size` elements from the back, as [`slice::rchunks_exact`] does. What is
    /// left over is the iterator's [`remainder`](RChunksExact::remainder).
    ///
    /// # Panics
    ///
    /// If `chunk_size` is zero.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!([1, 2, 3].par_rchunks_exact(2).collect::<Vec<_>>(), [&[2, 3]]);
    /// ```
    #[track_caller]
    fn par_rchunks_exact(&self, chunk_size: usize) -> RChunksExact<'_, T> {
        check_chunk_size(chunk_size);
        RChunksExact::new(chunk_size, self.as_parallel_slice())
    }

    /// Iterates over the longest stretches in which `pred` holds for every two neighbours, as [`slice::chunk_by`] does.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!([1, 1, 2, 1].par_chunk_by(|a, b| a == b).count(), 3);
    /// ```
    fn par_chunk_by<F>(&self, pred: F) -> ChunkBy<'_, T, F>
    where
        F: Fn(&T, &T) -> bool + Send + Sync,
    {
        ChunkBy::new(self.as_parallel_slice(), pred)
    }
}

impl<T: Sync> ParallelSlice<T> for [T] {
    #[inline]
    fn as_parallel_slice(&self) -> &[T] {
        self
    }
}

/// Parallel iterators that change a slice, and parallel sorts.
///
/// Implemented by `[T]`, and so at hand for everything that can be borrowed as one.
///
/// # Sorts
///
/// The names without `unstable` keep equal elements in their order and use a buffer as long as the slice; the others
/// sort in place. All are as fast on one thread as the sorts of the standard library, which do most of the work, and
/// take the same short way where the slice is sorted already, or in reverse, or has few different elements.
///
/// If a comparison panics, or contradicts another one, the order afterwards is unspecified, but the slice still holds
/// exactly the elements that it held before. A contradiction alone does not make the sort panic, though the panic hook
/// may be told of one; where panics abort the program, it may do that, as the sorts of the standard library may.
///
/// ```
/// use heist::prelude::*;
///
/// let mut words = ["pear", "fig", "banana"];
/// words.par_sort_by_key(|word| word.len());
/// assert_eq!(words, ["fig", "pear", "banana"]);
/// ```
pub trait ParallelSliceMut<T: Send> {
    /// The slice itself. The other methods are provided, and use this one.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// vec![1, 2].as_parallel_slice_mut().reverse();
    /// ```
    fn as_parallel_slice_mut(&mut self) -> &mut [T];

    /// Iterates over the pieces between elements for which `separator` holds, as [`slice::split_mut`] does.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut text = *b"one two";
    /// text.par_split_mut(|&b| b == b' ').for_each(|word| word[0].make_ascii_uppercase());
    /// assert_eq!(&text, b"One Two");
    /// ```
    fn par_split_mut<P>(&mut self, separator: P) -> SplitMut<'_, T, P>
    where
        P: Fn(&T) -> bool + Sync + Send,
    {
        SplitMut::new(self.as_parallel_slice_mut(), separator)
    }

    /// Iterates over pieces that end with an element for which `separator` holds, as [`slice::split_inclusive_mut`]
    /// does.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut v = [1, 2, 0, 3];
    /// v.par_split_inclusive_mut(|&n| n == 0).for_each(|run| run[0] = 9);
    /// assert_eq!(v, [9, 2, 0, 9]);
    /// ```
    fn par_split_inclusive_mut<P>(&mut self, separator: P) -> SplitInclusiveMut<'_, T, P>
    where
        P: Fn(&T) -> bool + Sync + Send,
    {
        SplitInclusiveMut::new(self.as_parallel_slice_mut(), separator)
    }

    /// Iterates over chunks of `chunk_size` elements, the last of which may be short, as [`slice::chunks_mut`] does.
    ///
    /// # Panics
    ///
    /// If `chunk_size` is zero.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut v = [0; 5];
    /// v.par_chunks_mut(2).enumerate().for_each(|(i, chunk)| chunk.fill(i));
    /// assert_eq!(v, [0, 0, 1, 1, 2]);
    /// ```
    #[track_caller]
    fn par_chunks_mut(&mut self, chunk_size: usize) -> ChunksMut<'_, T> {
        check_chunk_size(chunk_size);
        ChunksMut::new(chunk_size, self.as_parallel_slice_mut())
    }

    /// Iterates over chunks of exactly `chunk_size` elements, as [`slice::chunks_exact_mut`] does. What is left over is
    /// the iterator's [`remainder`](ChunksExactMut::remainder).
    ///
    /// # Panics
    ///
    /// If `chunk_size` is zero.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut v = [1, 2, 3, 4, 5];
    /// v.par_chunks_exact_mut(2).for_each(|pair| pair[1] += pair[0]);
    /// assert_eq!(v, [1, 3, 3, 7, 5]);
    /// ```
    #[track_caller]
    fn par_chunks_exact_mut(&mut self, chunk_size: usize) -> ChunksExactMut<'_, T> {
        check_chunk_size(chunk_size);
        ChunksExactMut::new(chunk_size, self.as_parallel_slice_mut())
    }

    /// Iterates over chunks of `chunk_size` elements from the back, the last of which may be short, as
    /// [`slice::rchunks_mut`] does.
    ///
    /// # Panics
    ///
    /// If `chunk_size` is zero.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut v = [1, 2, 3];
    /// v.par_rchunks_mut(2).for_each(|chunk| chunk[0] = 0);
    /// assert_eq!(v, [0, 0, 3]);
    /// ```
    #[track_caller]
    fn par_rchunks_mut(&mut self, chunk_size: usize) -> RChunksMut<'_, T> {
        check_chunk_size(chunk_size);
        RChunksMut::new(chunk_size, self.as_parallel_slice_mut())
    }

    /// Iterates over chunks of exactly `chunk_size` elements from the back, as [`slice::rchunks_exact_mut`] does. What
    /// is left over is the iterator's [`remainder`](RChunksExactMut::remainder).
    ///
    /// # Panics
    ///
    /// If `chunk_size` is zero.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut v = [1, 2, 3];
    /// v.par_rchunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
    /// assert_eq!(v, [1, 3, 2]);
    /// ```
    #[track_caller]
    fn par_rchunks_exact_mut(&mut self, chunk_size: usize) -> RChunksExactMut<'_, T> {
        check_chunk_size(chunk_size);
        RChunksExactMut::new(chunk_size, self.as_parallel_slice_mut())
    }

    /// Sorts; equal elements keep their order.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut v = [3, -5, 1];
    /// v.par_sort();
    /// assert_eq!(v, [-5, 1, 3]);
    /// ```
    fn par_sort(&mut self)
    where
        T: Ord,
    {
        sort::stable(self.as_parallel_slice_mut(), &T::cmp);
    }

    /// Sorts by a comparison; equal elements keep their order.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut v = [0.5, f64::INFINITY, -1.0];
    /// v.par_sort_by(|a, b| b.total_cmp(a));
    /// assert_eq!(v, [f64::INFINITY, 0.5, -1.0]);
    /// ```
    fn par_sort_by<F>(&mut self, compare: F)
    where
        F: Fn(&T, &T) -> Ordering + Sync,
    {
        sort::stable(self.as_parallel_slice_mut(), &compare);
    }

    /// Sorts by a key; elements with equal keys keep their order. The key is made anew for every comparison.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut v = [-3, 2, -1];
    /// v.par_sort_by_key(|n: &i32| n.abs());
    /// assert_eq!(v, [-1, 2, -3]);
    /// ```
    fn par_sort_by_key<K, F>(&mut self, f: F)
    where
        K: Ord,
        F: Fn(&T) -> K + Sync,
    {
        sort::stable(self.as_parallel_slice_mut(), &|a: &T, b: &T| f(a).cmp(&f(b)));
    }

    /// Sorts by a key that is made once for each element, in parallel, and kept until the end; elements with equal keys
    /// keep their order.
    ///
    /// For keys that are costly to make. Uses a buffer of keys and positions as long as the slice.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut v = ["10", "9", "100"];
    /// v.par_sort_by_cached_key(|s| s.parse::<u32>().unwrap());
    /// assert_eq!(v, ["9", "10", "100"]);
    /// ```
    fn par_sort_by_cached_key<K, F>(&mut self, f: F)
    where
        F: Fn(&T) -> K + Sync,
        K: Ord + Send,
    {
        sort::by_cached_key(self.as_parallel_slice_mut(), &f);
    }

    /// Sorts in place; equal elements may change places.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut v = [3, -5, 1];
    /// v.par_sort_unstable();
    /// assert_eq!(v, [-5, 1, 3]);
    /// ```
    fn par_sort_unstable(&mut self)
    where
        T: Ord,
    {
        sort::unstable(self.as_parallel_slice_mut(), &T::cmp);
    }

    /// Sorts in place by a comparison; equal elements may change places.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut v = [4, 1, 3];
    /// v.par_sort_unstable_by(|a, b| b.cmp(a));
    /// assert_eq!(v, [4, 3, 1]);
    /// ```
    fn par_sort_unstable_by<F>(&mut self, compare: F)
    where
        F: Fn(&T, &T) -> Ordering + Sync,
    {
        sort::unstable(self.as_parallel_slice_mut(), &compare);
    }

    /// Sorts in place by a key; elements with equal keys may change places. The key is made anew for every comparison.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut v = [-3, 2, -1];
    /// v.par_sort_unstable_by_key(|n: &i32| n.abs());
    /// assert_eq!(v, [-1, 2, -3]);
    /// ```
    fn par_sort_unstable_by_key<K, F>(&mut self, f: F)
    where
        K: Ord,
        F: Fn(&T) -> K + Sync,
    {
        sort::unstable(self.as_parallel_slice_mut(), &|a: &T, b: &T| f(a).cmp(&f(b)));
    }

    /// Iterates over the longest stretches in which `pred` holds for every two neighbours, as [`slice::chunk_by_mut`]
    /// does.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut v = [1, 1, 2, 1];
    /// v.par_chunk_by_mut(|a, b| a == b).for_each(|equal| equal.fill(equal.len()));
    /// assert_eq!(v, [2, 2, 1, 1]);
    /// ```
    fn par_chunk_by_mut<F>(&mut self, pred: F) -> ChunkByMut<'_, T, F>
    where
        F: Fn(&T, &T) -> bool + Send + Sync,
    {
        ChunkByMut::new(self.as_parallel_slice_mut(), pred)
    }
}

impl<T: Send> ParallelSliceMut<T> for [T] {
    #[inline]
    fn as_parallel_slice_mut(&mut self) -> &mut [T] {
        self
    }
}

#[track_caller]
fn check_chunk_size(chunk_size: usize) {
    assert_ne!(chunk_size, 0, "chunk_size must not be zero");
}
