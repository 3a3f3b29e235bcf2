//! rayon by its parallel iterators.

use rayon::prelude::*;

use super::Items;

pub fn sum(items: Items, len: u64) -> u64 {
    (0..len).into_par_iter().map(|item| items.cost(item)).reduce(|| 0, |a, b| a ^ b)
}
