//! heist by `join` and by `Fork`, and the bars.

use std::hint::black_box;

use heist::Fork;

use super::{Capture, Inside, SAMPLES, joined};
use crate::peers::{Backend, heist::Heist};
use crate::report::Table;
use crate::visit::repeat;

fn fib(fork: Fork<'_>, n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = fork.join(|fork| fib(fork, n - 1), |fork| fib(fork, n - 2));
    a + b
}

/// The same with closures that own their argument.
fn fib_moved(fork: Fork<'_>, n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = fork.join(move |fork| fib_moved(fork, n - 1), move |fork| fib_moved(fork, n - 2));
    a + b
}

pub fn join_inside(workers: usize, capture: Capture) -> Inside {
    let pool = Heist::pool(workers);
    let fib = match capture {
        Capture::Reference => joined::fib::<Heist>,
        Capture::Move => joined::fib_moved::<Heist>,
    };
    Box::new(move |n| pool.install(|| repeat(SAMPLES, 1, || fib(black_box(n)))))
}

pub fn fork_inside(workers: usize, capture: Capture) -> Inside {
    let pool = Heist::pool(workers);
    let fib = match capture {
        Capture::Reference => fib,
        Capture::Move => fib_moved,
    };
    Box::new(move |n| pool.install(|| repeat(SAMPLES, 1, || heist::fork(|fork| fib(fork, black_box(n))))))
}

pub fn join_once(workers: usize, n: u32) -> u64 {
    Heist::pool(workers).install(|| joined::fib::<Heist>(black_box(n)))
}

pub fn fork_once(workers: usize, n: u32) -> u64 {
    Heist::pool(workers).install(|| heist::fork(|fork| fib(fork, black_box(n))))
}

pub fn judge(table: &mut Table) {
    table.at_most("heist join, 1 worker", 0.2, "rayon, 1 worker");
    table.at_most("heist join, 1 worker", 0.7, "chili, 1 worker");
    table.at_most("heist Fork, 1 worker", 0.65, "chili, 1 worker");
    table.at_most("heist Fork, 1 worker", 1.8, "serial");
    table.at_most("heist join, 2 workers", 0.53, "heist join, 1 worker");
    table.at_most("heist Fork, 2 workers", 0.53, "heist Fork, 1 worker");
}

/// What the same forks cost in the other form, for reading.
pub fn report(table: &mut Table) {
    for (name, peers) in [
        ("heist join, 1 worker", ["rayon, 1 worker", "chili, 1 worker"]),
        ("heist Fork, 1 worker", ["chili, 1 worker", "serial"]),
    ] {
        for peer in peers {
            table.report_ratio(name, peer);
        }
    }
    table.report_ratio("heist join, 2 workers", "heist join, 1 worker");
    table.report_ratio("heist Fork, 2 workers", "heist Fork, 1 worker");
}
