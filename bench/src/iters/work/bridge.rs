//! A sequential iterator as the source, with some work for each item.

use super::lib::prelude::*;

use crate::churn::churn;

const STEPS: u64 = 50;

#[inline(never)]
pub fn run(items: &mut usize) -> u64 {
    (0..*items as u64).par_bridge().map(|item| churn(item, STEPS)).reduce(|| 0, |a, b| a ^ b)
}
