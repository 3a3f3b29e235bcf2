//! Is there an item? There is, at three quarters of the way.

use super::lib::prelude::*;

#[inline(never)]
pub fn run(numbers: &mut Vec<u64>) -> bool {
    let wanted = numbers[numbers.len() / 4 * 3];
    numbers.par_iter().any(|number| *number == wanted)
}
