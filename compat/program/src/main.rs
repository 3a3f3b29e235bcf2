//! Walks a directory and adds up a matrix, with crates that know only rayon. Prints the threads that did it.

use ndarray::Array2;
use ndarray::parallel::prelude::*;
use std::collections::BTreeSet;
use std::sync::Mutex;

fn main() {
    let threads = Mutex::new(BTreeSet::new());
    let here = || {
        let name = std::thread::current().name().unwrap_or("unnamed").to_owned();
        threads.lock().unwrap().insert(name);
    };
    let matrix = Array2::from_shape_fn((512, 512), |(row, column)| (row * column) as f64);
    let sum: f64 = matrix
        .axis_iter(ndarray::Axis(0))
        .into_par_iter()
        .map(|row| {
            here();
            row.sum()
        })
        .sum();
    let files = jwalk::WalkDir::new("src").into_iter().filter(Result::is_ok).count();
    println!("sum {sum}, {files} entries, threads {:?}", threads.into_inner().unwrap());
}
