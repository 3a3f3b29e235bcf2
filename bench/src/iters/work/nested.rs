//! A loop in a loop, both parallel.

use super::lib::prelude::*;

const INNER: u64 = 100;

#[inline(never)]
pub fn run(rows: &mut usize) -> u64 {
    (0..*rows as u64)
        .into_par_iter()
        .map(|row| (0..INNER).into_par_iter().map(|column| (row * column) ^ (row >> 3)).sum::<u64>())
        .sum()
}
