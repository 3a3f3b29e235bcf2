//! Compares profiles with computations whose work and span are known. To be run on an idle machine: strands are measured by the clock.
//! `cargo run --release -p heist --example profile_accuracy`

use heist::profile::Profile;
use std::hint::{black_box, spin_loop};
use std::time::{Duration, Instant};

const ROUNDS: usize = 7;
const LEAF: Duration = Duration::from_micros(20);

fn leaf() {
    let begun = Instant::now();
    while begun.elapsed() < LEAF {
        spin_loop();
    }
}

// Paths have several strands: the longest of a thousand single ones is the one that the kernel has interrupted.

fn tree(depth: u32) {
    leaf();
    if depth > 0 {
        heist::join(|| tree(depth - 1), || tree(depth - 1));
    }
}

fn chain(length: u32) {
    leaf();
    if length > 1 {
        heist::join(leaf, || chain(length - 1));
    }
}

fn fan(width: u32) {
    heist::scope(|s| {
        for _ in 0..width {
            leaf();
            s.spawn(|_| leaf());
        }
    });
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = heist::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// By how many per cent what was measured is off.
fn off_by(measured: Duration, known: Duration) -> f64 {
    (measured.as_secs_f64() / known.as_secs_f64() - 1.0) * 100.0
}

fn compare(pool: &heist::ThreadPool, what: &str, leaves: u32, on_path: u32, run: impl Fn() + Sync) {
    let profiles: Vec<Profile> = (0..ROUNDS).map(|_| pool.install(|| heist::profile(&run).1)).collect();
    let work = median(profiles.iter().map(|p| off_by(p.work(), LEAF * leaves)).collect());
    let span = profiles.iter().filter_map(Profile::span).map(|span| off_by(span, LEAF * on_path));
    let span = median(span.collect());
    println!(
        "{what:<8} on {} workers: work {work:+.1} % (5), span {span:+.1} % (10)",
        pool.current_num_threads()
    );
}

fn seconds(run: impl Fn() + Sync) -> f64 {
    let once = |_| {
        let begun = Instant::now();
        run();
        begun.elapsed().as_secs_f64()
    };
    median((0..ROUNDS).map(once).collect())
}

fn main() {
    let pools = [1, 2].map(|n| heist::ThreadPoolBuilder::new().num_threads(n).build().expect("a pool"));
    for pool in &pools {
        compare(pool, "tree", (1 << 9) - 1, 9, || tree(8));
        compare(pool, "chain", 2 * 200 - 1, 200, || chain(200));
        compare(pool, "fan", 2 * 200, 201, || fan(200));
    }
    let [one, two] = &pools;
    let ((), profile) = one.install(|| heist::profile(|| tree(8)));
    if let (Some(predicted), Some(parallelism)) = (profile.predict(2), profile.parallelism()) {
        let measured = seconds(|| one.install(|| tree(8))) / seconds(|| two.install(|| tree(8)));
        let off = (predicted.expected / measured - 1.0) * 100.0;
        println!(
            "two workers: {measured:.2} times as fast, predicted {:.2} ({off:+.1} %, 10), parallelism {parallelism:.0}",
            predicted.expected
        );
    }
    let plain = || assert_eq!(black_box(fib(25)), 75_025);
    let measured = seconds(|| one.install(|| heist::profile(plain).0));
    let plain = seconds(|| one.install(plain));
    println!("a fork takes {:.0} ns more while it is measured (60)", (measured - plain) * 1e9 / 242_784.0);
}
