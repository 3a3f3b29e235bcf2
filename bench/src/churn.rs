//! Arithmetic that takes a known time: a chain of dependent steps that no compiler shortens.

use std::hint::black_box;
use std::time::Instant;

/// `steps` dependent steps from `seed`. Out of line, so that every contestant runs the same machine code.
#[inline(never)]
pub fn churn(seed: u64, steps: u64) -> u64 {
    let mut x = seed ^ 0x9e37_79b9_7f4a_7c15;
    for _ in 0..steps {
        // A shift between the products keeps the compiler from folding several steps into one.
        x ^= x >> 29;
        x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    x
}

/// How many steps take as long as `ns` nanoseconds on the machine as it is now.
pub fn steps_for(ns: f64) -> u64 {
    const STEPS: u64 = 1_000_000;
    let fastest = (0..9)
        .map(|seed| {
            let start = Instant::now();
            black_box(churn(black_box(seed), STEPS));
            start.elapsed().as_nanos() as f64
        })
        .fold(f64::INFINITY, f64::min);
    (ns * STEPS as f64 / fastest).round().max(1.0) as u64
}
