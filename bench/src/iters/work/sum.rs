//! The sum of numbers.

use super::lib::prelude::*;

#[inline(never)]
pub fn run(numbers: &mut Vec<u64>) -> u64 {
    numbers.par_iter().sum()
}
