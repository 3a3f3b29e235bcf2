//! Every item into another, as a vector.

use super::lib::prelude::*;

#[inline(never)]
pub fn run(numbers: &mut Vec<u64>) -> Vec<u64> {
    numbers.par_iter().map(|number| number * 3 + 1).collect()
}
