//! The loops, written against rayon's interface; `lib` is whoever provides it. `plain.rs` has the same without threads.

use std::collections::HashMap;
use std::sync::mpsc::Receiver;
use std::time::Instant;

use super::lib::prelude::*;

use crate::churn::churn;
use crate::everyday::bridge::Chain;

#[inline(never)]
pub fn sum(v: &[u64]) -> u64 {
    v.par_iter().sum()
}

#[inline(never)]
pub fn map_collect(v: &[u64]) -> Vec<u64> {
    v.par_iter().map(|n| n.wrapping_mul(3) ^ 1).collect()
}

#[inline(never)]
pub fn filter_collect(v: &[u64]) -> Vec<u64> {
    v.par_iter().copied().filter(|n| n % 3 == 0).collect()
}

#[inline(never)]
pub fn zip_sum(v: &[u64], w: &[u64]) -> u64 {
    v.par_iter().zip(w).map(|(a, b)| a ^ b).sum()
}

#[inline(never)]
pub fn flat_map_iter(v: &[u64]) -> u64 {
    v.par_iter().flat_map_iter(|&n| (0..n % 8).map(move |inner| n ^ inner)).sum()
}

#[inline(never)]
pub fn chunks(v: &[u64]) -> Vec<u64> {
    v.par_chunks(64).map(|chunk| chunk.iter().sum()).collect()
}

#[inline(never)]
pub fn any(v: &[u64]) -> bool {
    let wanted = v[v.len() / 100] ^ 1;
    v.par_iter().any(|n| n ^ 1 == wanted)
}

#[inline(never)]
pub fn find_first(v: &[u64]) -> Option<u64> {
    let wanted = v[v.len() - 2];
    v.par_iter().copied().find_first(|n| *n == wanted)
}

#[inline(never)]
pub fn min_by_key(v: &[u64]) -> Option<u64> {
    v.par_iter().copied().min_by_key(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

#[inline(never)]
pub fn fold_reduce(v: &[u64]) -> HashMap<u64, u32> {
    v.par_iter()
        .fold(HashMap::new, |mut counts, n| {
            *counts.entry(n % 64).or_insert(0) += 1;
            counts
        })
        .reduce(HashMap::new, |mut left, right| {
            if left.is_empty() {
                return right;
            }
            for (key, count) in right {
                *left.entry(key).or_insert(0) += count;
            }
            left
        })
}

/// Items that take `steps` each.
#[inline(never)]
pub fn items(v: &[u64], steps: u64) -> u64 {
    v.par_iter().map(|n| churn(*n, steps)).reduce(|| 0, |a, b| a ^ b)
}

#[inline(never)]
pub fn bridge(items: usize) -> u64 {
    Chain::new(items).par_bridge().map(|n| n.wrapping_mul(3)).reduce(|| 0, |a, b| a ^ b)
}

#[inline(never)]
pub fn bridge_items(items: usize, steps: u64) -> u64 {
    Chain::new(items).par_bridge().map(|n| churn(n, steps)).reduce(|| 0, |a, b| a ^ b)
}

/// How long each message has waited when its item begins, in nanoseconds.
#[inline(never)]
pub fn channel(messages: Receiver<Instant>) -> Vec<f64> {
    messages.into_iter().par_bridge().map(|sent| sent.elapsed().as_nanos() as f64).collect()
}
