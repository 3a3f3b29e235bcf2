//! orx-parallel: scoped threads for each loop and chunks that it sizes itself, which are its defaults.

use orx_parallel::*;

use super::Items;

pub fn sum(items: Items, len: u64, workers: usize) -> u64 {
    // orx-parallel iterates over ranges of usize alone.
    let len = usize::try_from(len).expect("a range of items fits into memory");
    (0..len)
        .into_par()
        .num_threads(workers)
        .map(|item| items.cost(item as u64))
        .reduce(|a, b| a ^ b)
        .unwrap_or(0)
}
