//! Which of many buckets an element belongs to.

use super::{leaf, sample};
use std::cmp::Ordering;
use std::ptr;

/// At most so many comparisons bring an element to its bucket: a bucket's number is a byte.
const DEPTH_MAX: u32 = 8;

pub(super) const BUCKETS_MAX: usize = 1 << DEPTH_MAX;

/// About how long a bucket is to become.
const BUCKET: usize = 1 << 11;

/// Sampled elements for each splitter. Buckets are of unequal length if there are few.
const SAMPLES_PER_SPLITTER: usize = 8;

/// Elements that are on their way down the tree together: each step waits for the one before it, but not for those of
/// other elements.
const LANES: usize = 4;

/// Elements of a slice that divide it: a binary search tree, whose root is at 1 and the children of `i` at `2 * i` and
/// `2 * i + 1`.
///
/// A splitter is not compared with itself: it may be a cell that a comparison borrows twice.
pub(super) struct Splitters<'a, T> {
    tree: [&'a T; BUCKETS_MAX],
    depth: u32,
    /// Where the splitters are in the slice, in order.
    pub(super) places: Vec<usize>,
}

impl<'a, T> Splitters<'a, T> {
    /// Draws a sample, and takes splitters that ascend strictly from it: values that are common get a bucket each, and
    /// the tree does not become higher than it must.
    pub(super) fn choose<F: Fn(&T, &T) -> Ordering>(v: &'a [T], cmp: &F) -> Self {
        let buckets = (v.len() / BUCKET).clamp(2, BUCKETS_MAX);
        let mut sample = vec![0; buckets * SAMPLES_PER_SPLITTER];
        sample::draw(&mut sample, v.len());
        leaf::sort_unstable(&mut sample, &|&a: &usize, &b: &usize| cmp(&v[a], &v[b]));

        let mut places: Vec<usize> =
            sample.into_iter().skip(SAMPLES_PER_SPLITTER).step_by(SAMPLES_PER_SPLITTER).collect();
        places.dedup_by(|next, last| !cmp(&v[*last], &v[*next]).is_lt());
        let depth = (places.len() + 1).next_power_of_two().ilog2();
        let mut tree = [&v[0]; BUCKETS_MAX];
        for (node, splitter) in tree.iter_mut().enumerate().take(1 << depth).skip(1) {
            let level = node.ilog2();
            let rank = ((2 * (node - (1 << level)) + 1) << (depth - 1 - level)) - 1;
            // Where the tree has room for more splitters than there are, the last one is there again.
            *splitter = &v[places[rank.min(places.len() - 1)]];
        }
        places.sort_unstable();
        Splitters { tree, depth, places }
    }

    /// Notes in `ids` which buckets the elements belong to, and returns how many belong to each.
    pub(super) fn classify<F: Fn(&T, &T) -> Ordering>(
        &self,
        elements: &[T],
        ids: &mut [u8],
        cmp: &F,
    ) -> [usize; BUCKETS_MAX] {
        let mut counts = [0; BUCKETS_MAX];
        let (rows, rest) = elements.as_chunks::<LANES>();
        let (id_rows, id_rest) = ids.as_chunks_mut::<LANES>();
        for (row, ids) in rows.iter().zip(id_rows) {
            let mut nodes = [1; LANES];
            for _ in 0..self.depth {
                for (node, x) in nodes.iter_mut().zip(row) {
                    *node = self.descend(*node, x, cmp);
                }
            }
            for (id, node) in ids.iter_mut().zip(nodes) {
                *id = self.bucket(node);
                counts[usize::from(*id)] += 1;
            }
        }
        for (x, id) in rest.iter().zip(id_rest) {
            let node = (0..self.depth).fold(1, |node, _| self.descend(node, x, cmp));
            *id = self.bucket(node);
            counts[usize::from(*id)] += 1;
        }
        counts
    }

    #[inline(always)]
    fn descend<F: Fn(&T, &T) -> Ordering>(&self, node: usize, x: &T, cmp: &F) -> usize {
        // The remainder does nothing but spare the check of the bounds.
        let splitter = self.tree[node % BUCKETS_MAX];
        let goes_right = ptr::eq(x, splitter) || !cmp(x, splitter).is_lt();
        2 * node + usize::from(goes_right)
    }

    fn bucket(&self, node: usize) -> u8 {
        (node - (1 << self.depth)) as u8
    }
}
