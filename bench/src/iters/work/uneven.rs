//! A loop over items of unequal cost.

use super::lib::prelude::*;

#[inline(never)]
pub fn run(items: u64, cost: impl Fn(u64) -> u64 + Sync + Send) -> u64 {
    (0..items).into_par_iter().map(cost).reduce(|| 0, |a, b| a ^ b)
}
