//! Compares profiles with computations whose work and span are known, and judges them: the median of 7 is to be within 5 % of the work and 10 % of
//! the span, with strands of 20 us, and within 10 % of what two workers gain. It fails if one is not. To be run on an idle machine.
//! `cargo run --release -p heist --example profile_accuracy`
//!
//! Each strand computes for 20 us by the clock and then says how long that has taken in truth: an interrupt, or a hypervisor that runs somebody else, makes
//! strands longer, and of a thousand paths through a tree the longest is the one that has met most of them. What was asked for is shown, too.

use heist::profile::Profile;
use std::hint::{black_box, spin_loop};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const ROUNDS: usize = 7;
const LEAF: Duration = Duration::from_micros(20);

/// The work and span of a part, in seconds.
#[derive(Clone, Copy, Default)]
struct Known {
    work: f64,
    span: f64,
}

impl Known {
    fn then(self, next: Self) -> Self {
        Self { work: self.work + next.work, span: self.span + next.span }
    }

    fn beside(self, other: Self) -> Self {
        Self { work: self.work + other.work, span: self.span.max(other.span) }
    }
}

/// Computes, and says for how long it has.
fn leaf() -> Known {
    let begun = Instant::now();
    let took = loop {
        let took = begun.elapsed();
        if took >= LEAF {
            break took.as_secs_f64();
        }
        spin_loop();
    };
    Known { work: took, span: took }
}

// Paths have several strands: the longest of a thousand single ones is the one that the kernel has interrupted.

fn tree(depth: u32) -> Known {
    let before = leaf();
    if depth == 0 {
        return before;
    }
    let (a, b) = heist::join(|| tree(depth - 1), || tree(depth - 1));
    before.then(a.beside(b))
}

fn chain(length: u32) -> Known {
    let before = leaf();
    if length == 1 {
        return before;
    }
    let (a, b) = heist::join(leaf, || chain(length - 1));
    before.then(a.beside(b))
}

fn fan(width: usize) -> Known {
    let jobs: Vec<_> = (0..width).map(|_| AtomicU64::new(0)).collect();
    let mut spawned_at = Vec::with_capacity(width);
    heist::scope(|s| {
        let mut before = Known::default();
        for job in &jobs {
            before = before.then(leaf());
            spawned_at.push(before.span);
            s.spawn(|_| job.store(leaf().work.to_bits(), Ordering::Relaxed));
        }
    });
    let jobs = jobs.into_iter().map(|job| f64::from_bits(job.into_inner()));
    let body = spawned_at.last().copied().unwrap_or(0.0);
    jobs.zip(spawned_at).fold(Known { work: body, span: body }, |known, (took, at)| Known {
        work: known.work + took,
        span: known.span.max(at + took),
    })
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = heist::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn median(all: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = all.collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// By how many per cent what was measured is off.
fn off_by(measured: f64, known: f64) -> f64 {
    (measured / known - 1.0) * 100.0
}

/// What has missed its bar.
#[derive(Default)]
struct Judge {
    missed: u32,
}

impl Judge {
    /// `off` in words, which is to be no further from 0 than `bar`.
    fn within(&mut self, off: f64, bar: f64) -> String {
        let is_met = off.abs() <= bar;
        self.missed += u32::from(!is_met);
        format!("{off:+.1} % (bar {bar}{})", if is_met { "" } else { ", MISSED" })
    }

    fn compare(
        &mut self,
        pool: &heist::ThreadPool,
        what: &str,
        leaves: u32,
        on_path: u32,
        run: impl Fn() -> Known + Sync,
    ) {
        let runs: Vec<(Known, Profile)> =
            (0..ROUNDS).map(|_| pool.install(|| heist::profile(&run))).collect();
        let all = |off: &dyn Fn(&(Known, Profile)) -> f64| median(runs.iter().map(off));
        let span_of = |profile: &Profile| profile.span().map_or(f64::NAN, |span| span.as_secs_f64());
        let work = all(&|(known, profile)| off_by(profile.work().as_secs_f64(), known.work));
        let span = all(&|(known, profile)| off_by(span_of(profile), known.span));
        let (work, span) = (self.within(work, 5.0), self.within(span, 10.0));
        let asked_work = all(&|(known, _)| off_by(known.work, (LEAF * leaves).as_secs_f64()));
        let asked_span = all(&|(known, _)| off_by(known.span, (LEAF * on_path).as_secs_f64()));
        println!(
            "{what:<6} on {} workers: work {work}, span {span}; the strands themselves: work {asked_work:+.1} %, span {asked_span:+.1} %",
            pool.current_num_threads()
        );
    }
}

fn seconds(run: impl Fn()) -> f64 {
    let begun = Instant::now();
    run();
    begun.elapsed().as_secs_f64()
}

fn main() -> ExitCode {
    let pools = [1, 2].map(|n| heist::ThreadPoolBuilder::new().num_threads(n).build().expect("a pool"));
    let mut judge = Judge::default();
    for pool in &pools {
        judge.compare(pool, "tree", (1 << 9) - 1, 9, || tree(8));
        judge.compare(pool, "chain", 2 * 200 - 1, 200, || chain(200));
        judge.compare(pool, "fan", 2 * 200, 201, || fan(200));
    }
    let [one, two] = &pools;
    let on = |pool: &heist::ThreadPool| {
        seconds(|| {
            let _ = pool.install(|| tree(9));
        })
    };
    let profiles: Vec<_> = (0..ROUNDS).map(|_| one.install(|| heist::profile(|| tree(9)).1)).collect();
    let gained = median((0..ROUNDS).map(|_| on(one) / on(two)));
    let predicted =
        median(profiles.iter().map(|profile| profile.predict(2).map_or(f64::NAN, |two| two.expected)));
    let parallelism = median(profiles.iter().map(|profile| profile.parallelism().unwrap_or(f64::NAN)));
    println!(
        "two workers: {gained:.2} times as fast, predicted {predicted:.2}: {}; parallelism {parallelism:.0}, of at least 20",
        judge.within(off_by(predicted, gained), 10.0)
    );
    let run = || assert_eq!(black_box(fib(25)), 75_025);
    let measured = median((0..ROUNDS).map(|_| seconds(|| one.install(|| heist::profile(run).0))));
    let plain = median((0..ROUNDS).map(|_| seconds(|| one.install(run))));
    println!(
        "a fork takes {:.0} ns more while it is measured (aim 60)",
        (measured - plain) * 1e9 / 242_784.0
    );
    match judge.missed {
        0 => ExitCode::SUCCESS,
        n => {
            println!("{n} bars missed");
            ExitCode::FAILURE
        }
    }
}
