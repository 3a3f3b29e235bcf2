//! Measures the parallel sorts against the standard library's, in alternation in one process.
//!
//!     cargo run --release --example sort_bench -- [elements] [repetitions] [patterns, comma-separated]
//!
//! What counts is the quotient: on a shared machine the times themselves say little. Strings and large elements are a
//! tenth and a twentieth as many.

use heist_iter::prelude::*;
use std::time::Instant;

fn main() {
    let mut args = std::env::args().skip(1);
    let len: usize = args.next().map_or(1_000_000, |arg| arg.parse().expect("a number of elements"));
    let repetitions: usize = args.next().map_or(11, |arg| arg.parse().expect("a number of repetitions"));
    let wanted: Option<String> = args.next();
    let is_wanted = |name: &str| wanted.as_ref().is_none_or(|list| list.split(',').any(|item| item == name));

    println!("{} threads, {len} elements, medians of {repetitions}", heist::current_num_threads());
    println!("{:10} {:>9} {:>12} {:>12} {:>9}", "pattern", "sort", "std ms", "heist ms", "quotient");
    let mut random = fastrand::Rng::with_seed(7);
    let mut keys = |len: usize, below: u64| (0..len).map(|_| random.u64(..below)).collect::<Vec<u64>>();
    let up = || 0..len as u64;
    if is_wanted("random") {
        compare("random", &keys(len, u64::MAX), repetitions);
    }
    if is_wanted("sorted") {
        compare("sorted", &up().collect::<Vec<_>>(), repetitions);
    }
    if is_wanted("reversed") {
        compare("reversed", &up().rev().collect::<Vec<_>>(), repetitions);
    }
    if is_wanted("few4") {
        compare("few4", &keys(len, 4), repetitions);
    }
    if is_wanted("few1000") {
        compare("few1000", &keys(len, 1000), repetitions);
    }
    if is_wanted("strings") {
        let strings: Vec<String> = keys(len / 10, u64::MAX).iter().map(|key| format!("{key:x}")).collect();
        compare("strings", &strings, repetitions);
    }
    if is_wanted("large") {
        let large: Vec<[u64; 32]> = keys(len / 20, u64::MAX).iter().map(|&key| [key; 32]).collect();
        compare("large", &large, repetitions);
    }
}

fn compare<T: Clone + Ord + Send>(pattern: &str, input: &[T], repetitions: usize) {
    let stable: [fn(&mut [T]); 2] = [|v| v.sort(), |v| v.par_sort()];
    let unstable: [fn(&mut [T]); 2] = [|v| v.sort_unstable(), |v| v.par_sort_unstable()];
    for (name, sorts) in [("unstable", unstable), ("stable", stable)] {
        let mut times = [const { Vec::new() }; 2];
        for _ in 0..repetitions {
            for (times, sort) in times.iter_mut().zip(sorts) {
                let mut v = input.to_vec();
                let start = Instant::now();
                sort(&mut v);
                times.push(start.elapsed().as_secs_f64() * 1e3);
                assert!(v.is_sorted(), "{pattern}, {name}");
            }
        }
        let [std, ours] = times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        println!("{pattern:10} {name:>9} {std:12.2} {ours:12.2} {:9.3}", ours / std);
    }
}
