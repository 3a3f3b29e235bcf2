//! What the workloads work on, the same in every run.

use fastrand::Rng;

fn rng() -> Rng {
    Rng::with_seed(0x0068_6569_7374)
}

/// Numbers below 2^32, so that sums do not overflow.
pub fn numbers(len: usize) -> Vec<u64> {
    let mut rng = rng();
    (0..len).map(|_| u64::from(rng.u32(..))).collect()
}

/// An output and two inputs.
pub fn triples(len: usize) -> (Vec<u64>, Vec<u64>, Vec<u64>) {
    (vec![0; len], numbers(len), numbers(len))
}

/// A number of something, for workloads that make their own.
pub fn count(len: usize) -> usize {
    len
}

/// Lines of words, `len` bytes or a little more.
pub fn text(len: usize) -> String {
    let mut rng = rng();
    let mut text = String::with_capacity(len + 100);
    while text.len() < len {
        for _ in 0..rng.usize(1..12) {
            let letters = rng.usize(1..9);
            text.extend((0..letters).map(|_| rng.lowercase()));
            text.push(' ');
        }
        text.push('\n');
    }
    text
}

/// Two square matrices and space for their product.
pub struct Matrices {
    pub side: usize,
    pub a: Vec<f64>,
    pub b: Vec<f64>,
    pub product: Vec<f64>,
}

pub fn matrices(side: usize) -> Matrices {
    let mut rng = rng();
    let mut matrix = || (0..side * side).map(|_| rng.f64()).collect();
    Matrices { side, a: matrix(), b: matrix(), product: vec![0.0; side * side] }
}

/// Bodies at random places: x, y, z and a mass.
pub fn bodies(len: usize) -> Vec<[f64; 4]> {
    let mut rng = rng();
    (0..len).map(|_| [rng.f64(), rng.f64(), rng.f64(), rng.f64() + 0.1]).collect()
}

/// A board of `side` x `side` cells and space for the next generation.
pub struct Board {
    pub side: usize,
    pub cells: Vec<u8>,
    pub next: Vec<u8>,
}

pub fn board(side: usize) -> Board {
    let mut rng = rng();
    let cells = (0..side * side).map(|_| u8::from(rng.bool())).collect();
    Board { side, cells, next: vec![0; side * side] }
}

/// Distances between `len` cities.
pub fn cities(len: usize) -> Vec<Vec<u64>> {
    let mut rng = rng();
    let places: Vec<(i64, i64)> = (0..len).map(|_| (rng.i64(0..1000), rng.i64(0..1000))).collect();
    let distance = |a: &(i64, i64), b: &(i64, i64)| ((a.0 - b.0).abs() + (a.1 - b.1).abs()) as u64;
    places.iter().map(|a| places.iter().map(|b| distance(a, b)).collect()).collect()
}
