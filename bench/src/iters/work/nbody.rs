//! One step of gravitation: every body with every other.

use super::lib::prelude::*;

/// The acceleration of each body, which is x, y, z and a mass.
#[inline(never)]
pub fn run(bodies: &mut Vec<[f64; 4]>) -> Vec<[f64; 3]> {
    bodies.par_iter().map(|body| acceleration(body, bodies)).collect()
}

fn acceleration(body: &[f64; 4], others: &[[f64; 4]]) -> [f64; 3] {
    let mut sum = [0.0; 3];
    for other in others {
        let apart = [other[0] - body[0], other[1] - body[1], other[2] - body[2]];
        // Softened, so that a body does not pull itself to infinity.
        let square = apart.iter().map(|x| x * x).sum::<f64>() + 1e-3;
        let pull = other[3] / (square * square.sqrt());
        sum.iter_mut().zip(apart).for_each(|(sum, apart)| *sum += pull * apart);
    }
    sum
}
