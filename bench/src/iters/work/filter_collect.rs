//! A third of the items, as a vector.

use super::lib::prelude::*;

#[inline(never)]
pub fn run(numbers: &mut Vec<u64>) -> Vec<u64> {
    numbers.par_iter().copied().filter(|number| number.is_multiple_of(3)).collect()
}
