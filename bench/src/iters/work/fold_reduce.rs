//! A histogram.

use super::lib::prelude::*;

const BINS: usize = 16;

#[inline(never)]
pub fn run(numbers: &mut Vec<u64>) -> [u32; BINS] {
    numbers
        .par_iter()
        .fold(
            || [0; BINS],
            |mut bins, number| {
                bins[*number as usize % BINS] += 1;
                bins
            },
        )
        .reduce(
            || [0; BINS],
            |mut left, right| {
                left.iter_mut().zip(right).for_each(|(left, right)| *left += right);
                left
            },
        )
}
