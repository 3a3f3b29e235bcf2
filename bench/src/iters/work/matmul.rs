//! The product of two square matrices, a row an item.

use super::lib::prelude::*;

#[inline(never)]
pub fn run(side: usize, a: &[f64], b: &[f64], product: &mut [f64]) {
    product.par_chunks_mut(side).zip(a.par_chunks(side)).for_each(|(product, a)| {
        product.fill(0.0);
        for (a, b) in a.iter().zip(b.chunks(side)) {
            for (sum, b) in product.iter_mut().zip(b) {
                *sum += a * b;
            }
        }
    });
}
