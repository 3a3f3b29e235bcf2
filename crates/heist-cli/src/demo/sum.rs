//! A recursive sum by `join`, against the same on one thread.

use super::load::{tell, traced};
use heist::ThreadPool;
use std::hint::black_box;
use std::io::{self, Write};
use std::time::{Duration, Instant};

const ITEMS: u64 = 1 << 20;
const LEAF: u64 = 256;
const ROUNDS: usize = 5;

/// Some work whose amount depends on the item.
fn value(x: u64) -> u64 {
    (0..x % 100 + 1).fold(x, |acc, _| acc.wrapping_mul(31).wrapping_add(7))
}

fn serial(from: u64, to: u64) -> u64 {
    (from..to).map(value).fold(0, u64::wrapping_add)
}

fn joined(from: u64, to: u64) -> u64 {
    if to - from <= LEAF {
        return serial(from, to);
    }
    let middle = from.midpoint(to);
    let (a, b) = heist::join(|| joined(from, middle), || joined(middle, to));
    a.wrapping_add(b)
}

/// Both, in alternation, the best of a few rounds.
pub fn show(pool: &ThreadPool, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let n = pool.current_num_threads();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let (mut alone, mut together) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let expected = serial(0, black_box(ITEMS));
        alone = alone.min(started.elapsed());
        let started = Instant::now();
        let sum = pool.install(|| joined(0, black_box(ITEMS)));
        together = together.min(started.elapsed());
        assert_eq!(sum, expected, "join lost something");
    }
    let faster = alone.as_secs_f64() / together.as_secs_f64();
    writeln!(out, "Recursive sum of {ITEMS} uneven items by join, {} leaves", ITEMS / LEAF)?;
    let run = traced(pool, || {
        black_box(pool.install(|| joined(0, black_box(ITEMS))));
    });
    tell(
        "Each half that somebody is free for is taken; all others cost a few instructions",
        &run,
        width,
        out,
    )?;
    writeln!(out, "  one thread {:.1} ms", alone.as_secs_f64() * 1e3)?;
    writeln!(
        out,
        "  {n} workers on {cores} cores {:.1} ms: {faster:.2} times as fast",
        together.as_secs_f64() * 1e3
    )
}
