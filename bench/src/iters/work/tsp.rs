//! The shortest round trip: branch and bound, the first cities by parallel loops.

use super::lib::prelude::*;

/// Cities whose order is tried by parallel loops.
const PARALLEL: usize = 3;

#[inline(never)]
pub fn run(between: &[Vec<u64>]) -> u64 {
    // A bound that all parts share would make the work depend on who finds what first.
    shortest(between, &Trip { path: vec![0], length: 0 }, nearest_neighbours(between))
}

struct Trip {
    path: Vec<usize>,
    length: u64,
}

impl Trip {
    fn with(&self, city: usize, between: &[Vec<u64>]) -> Trip {
        let mut path = Vec::with_capacity(between.len());
        path.extend(&self.path);
        let last = path[path.len() - 1];
        path.push(city);
        Trip { path, length: self.length + between[last][city] }
    }
}

/// The shortest trip that begins with `trip`, or `bound` if none is shorter.
fn shortest(between: &[Vec<u64>], trip: &Trip, bound: u64) -> u64 {
    if trip.path.len() > PARALLEL {
        return alone(between, &mut trip.path.clone(), trip.length, bound);
    }
    (0..between.len())
        .into_par_iter()
        .filter(|city| !trip.path.contains(city))
        .map(|city| shortest(between, &trip.with(city, between), bound))
        .min()
        .unwrap_or(bound)
}

fn alone(between: &[Vec<u64>], path: &mut Vec<usize>, length: u64, mut bound: u64) -> u64 {
    let last = path[path.len() - 1];
    if length + between[last][0] >= bound {
        return bound;
    }
    if path.len() == between.len() {
        return length + between[last][0];
    }
    for city in 1..between.len() {
        if !path.contains(&city) {
            path.push(city);
            bound = alone(between, path, length + between[last][city], bound);
            path.pop();
        }
    }
    bound
}

/// The length of the trip that always goes on to the nearest city.
fn nearest_neighbours(between: &[Vec<u64>]) -> u64 {
    let mut path = vec![0];
    let mut length = 0;
    while path.len() < between.len() {
        let last = path[path.len() - 1];
        let next =
            (0..between.len()).filter(|city| !path.contains(city)).min_by_key(|city| between[last][*city]);
        let next = next.expect("a city is left");
        length += between[last][next];
        path.push(next);
    }
    length + between[path[path.len() - 1]][0]
}
