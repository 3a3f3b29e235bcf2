//! The loops as one writes them without a library.

use std::collections::HashMap;
use std::sync::mpsc::Receiver;
use std::time::Instant;

use super::bridge::Chain;
use crate::churn::churn;

#[inline(never)]
pub fn sum(v: &[u64]) -> u64 {
    v.iter().sum()
}

#[inline(never)]
pub fn map_collect(v: &[u64]) -> Vec<u64> {
    v.iter().map(|n| n.wrapping_mul(3) ^ 1).collect()
}

#[inline(never)]
pub fn filter_collect(v: &[u64]) -> Vec<u64> {
    v.iter().copied().filter(|n| n % 3 == 0).collect()
}

#[inline(never)]
pub fn zip_sum(v: &[u64], w: &[u64]) -> u64 {
    v.iter().zip(w).map(|(a, b)| a ^ b).sum()
}

#[inline(never)]
pub fn flat_map_iter(v: &[u64]) -> u64 {
    v.iter().flat_map(|&n| (0..n % 8).map(move |inner| n ^ inner)).sum()
}

#[inline(never)]
pub fn chunks(v: &[u64]) -> Vec<u64> {
    v.chunks(64).map(|chunk| chunk.iter().sum()).collect()
}

#[inline(never)]
pub fn any(v: &[u64]) -> bool {
    // Not `contains`, which looks at several at once: no predicate can.
    let wanted = v[v.len() / 100] ^ 1;
    v.iter().any(|n| n ^ 1 == wanted)
}

#[inline(never)]
pub fn find_first(v: &[u64]) -> Option<u64> {
    let wanted = v[v.len() - 2];
    v.iter().copied().find(|n| *n == wanted)
}

#[inline(never)]
pub fn min_by_key(v: &[u64]) -> Option<u64> {
    v.iter().copied().min_by_key(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

#[inline(never)]
pub fn fold_reduce(v: &[u64]) -> HashMap<u64, u32> {
    let mut counts = HashMap::new();
    for n in v {
        *counts.entry(n % 64).or_insert(0) += 1;
    }
    counts
}

#[inline(never)]
pub fn items(v: &[u64], steps: u64) -> u64 {
    v.iter().fold(0, |mixed, n| mixed ^ churn(*n, steps))
}

#[inline(never)]
pub fn bridge(items: usize) -> u64 {
    Chain::new(items).fold(0, |mixed, n| mixed ^ n.wrapping_mul(3))
}

#[inline(never)]
pub fn bridge_items(items: usize, steps: u64) -> u64 {
    Chain::new(items).fold(0, |mixed, n| mixed ^ churn(n, steps))
}

#[inline(never)]
pub fn channel(messages: Receiver<Instant>) -> Vec<f64> {
    messages.into_iter().map(|sent| sent.elapsed().as_nanos() as f64).collect()
}
