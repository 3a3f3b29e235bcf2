//! The sieve of Eratosthenes, a segment an item.

use super::lib::prelude::*;

/// Segments fit into the first cache.
const SEGMENT_MAX: usize = 1 << 15;
const SEGMENT_MIN: usize = 1 << 8;

/// How many primes there are below `limit`.
#[inline(never)]
pub fn run(limit: &mut usize) -> usize {
    let limit = *limit;
    let length = (limit / 64).clamp(SEGMENT_MIN, SEGMENT_MAX);
    let small = primes_up_to(limit.isqrt());
    let mut is_composite = vec![false; limit];
    is_composite
        .par_chunks_mut(length)
        .enumerate()
        .map(|(segment, flags)| {
            let start = segment * length;
            for prime in &small {
                let first = (prime * prime).max(start.next_multiple_of(*prime));
                flags.iter_mut().skip(first - start).step_by(*prime).for_each(|flag| *flag = true);
            }
            let skipped = if segment == 0 { 2 } else { 0 };
            flags.iter().skip(skipped).filter(|flag| !**flag).count()
        })
        .sum()
}

fn primes_up_to(limit: usize) -> Vec<usize> {
    let mut primes: Vec<usize> = Vec::new();
    for number in 2..=limit {
        if primes.iter().take_while(|prime| *prime * *prime <= number).all(|prime| number % prime != 0) {
            primes.push(number);
        }
    }
    primes
}
