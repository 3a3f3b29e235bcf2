//! Short loops of unequal length, made one.

use super::lib::prelude::*;

#[inline(never)]
pub fn run(items: &mut usize) -> u64 {
    (0..*items as u64)
        .into_par_iter()
        .flat_map(|item| (0..item % 32).into_par_iter().map(move |inner| item ^ inner))
        .sum()
}
