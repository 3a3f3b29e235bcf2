//! Products of two vectors into a third.

use super::lib::prelude::*;

#[inline(never)]
pub fn run((out, a, b): &mut (Vec<u64>, Vec<u64>, Vec<u64>)) {
    out.par_iter_mut().zip(a.par_iter().zip(b)).for_each(|(out, (a, b))| *out = a.wrapping_mul(*b));
}
