//! The item with the least key.

use super::lib::prelude::*;

#[inline(never)]
pub fn run(numbers: &mut Vec<u64>) -> Option<u64> {
    numbers.par_iter().copied().min_by_key(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}
