//! Promise 1: nothing is lost, nothing runs twice. Every job of a large number marks its own id in a ledger.
//!
//! Public bugs of this kind: RUSTSEC-2021-0093 (crossbeam-deque: an item taken twice, another lost), tokio #2387 (slots
//! overwritten while they are stolen), stdexec #1967 (tasks lost in reused blocks), tokio #8372 (external work never runs).
//!
//! `HEIST_STRESS=10` runs ten times as many jobs; `HEIST_SEED` repeats a run.

use crate::rig::child;
use crate::rig::fenced;
use crate::rig::ledger::Ledger;
use crate::rig::pool::{guest_pool, pool};
use crate::rig::scale::scaled;
use crate::rig::seed::{base_seed, generator};
use crate::rig::watchdog::watch;
use heist::{Fork, Scope, ScopeFifo, ThreadPoolBuilder};
use heist_sync::Arc;
use heist_sync::atomic::{AtomicUsize, Ordering};
use heist_sync::rand::Random;

/// From fewer to many more workers than cores.
const SIZES: [usize; 6] = [1, 2, 3, 4, 8, 16];

/// Jobs in a fork tree of the shape of fib.
fn fib_jobs(n: u32) -> usize {
    if n < 2 { 1 } else { 1 + fib_jobs(n - 1) + fib_jobs(n - 2) }
}

/// Sizes of all trees up to 40.
fn fib_sizes() -> Vec<usize> {
    let mut sizes = vec![1, 1];
    for n in 2..40 {
        sizes.push(1 + sizes[n - 1] + sizes[n - 2]);
    }
    sizes
}

#[test]
fn sizes_agree() {
    let sizes = fib_sizes();
    for n in 0..20 {
        assert_eq!(sizes[n as usize], fib_jobs(n));
    }
}

/// Work that takes a random time, so that thieves meet owners at every point.
fn dawdle(turns: usize) {
    for _ in 0..turns {
        std::hint::spin_loop();
    }
}

struct Tree<'a> {
    ledger: &'a Ledger,
    sizes: &'a [usize],
    /// One in 1,024 ids dawdles, by this pattern.
    pattern: usize,
}

impl Tree<'_> {
    fn mark(&self, id: usize) {
        self.ledger.mark(id);
        if (id ^ self.pattern) & 1023 == 0 {
            dawdle(200 + self.pattern % 2000);
        }
    }

    fn by_join(&self, n: usize, id: usize) {
        self.mark(id);
        if n >= 2 {
            let right = id + 1 + self.sizes[n - 1];
            heist::join(|| self.by_join(n - 1, id + 1), || self.by_join(n - 2, right));
        }
    }

    fn by_fork(&self, f: &Fork<'_>, n: usize, id: usize) {
        self.mark(id);
        if n >= 2 {
            let right = id + 1 + self.sizes[n - 1];
            f.join(|f| self.by_fork(&f, n - 1, id + 1), |f| self.by_fork(&f, n - 2, right));
        }
    }

    /// The forms take turns by level, as in a program that calls libraries.
    fn by_both(&self, n: usize, id: usize) {
        self.mark(id);
        if n >= 2 {
            let right = id + 1 + self.sizes[n - 1];
            heist::fork(|f| {
                f.join(
                    |_| self.by_both(n - 1, id + 1),
                    |f| {
                        self.mark(right);
                        if n >= 4 {
                            let last = right + 1 + self.sizes[n - 3];
                            f.join(|_| self.by_both(n - 3, right + 1), |_| self.by_both(n - 4, last));
                        }
                    },
                )
            });
        }
    }
}

#[test]
fn forks() {
    let _watch = watch!();
    let seed = base_seed("forks");
    let sizes = fib_sizes();
    // About 0.8 M jobs.
    let n = if cfg!(debug_assertions) { 21 } else { 27 };
    let jobs_wanted = scaled(50_000_000);
    let (mut jobs, mut round) = (0, 0);
    while jobs < jobs_wanted {
        let mut random = generator(seed, round);
        for size in SIZES {
            let pool = pool(size);
            let ledger = Ledger::new(sizes[n]);
            let tree = Tree { ledger: &ledger, sizes: &sizes, pattern: random.below(1 << 20) };
            match random.below(4) {
                0 => pool.install(|| tree.by_join(n, 0)),
                1 => pool.fork(|f| tree.by_fork(&f, n, 0)),
                2 => pool.install(|| heist::fork(|f| tree.by_fork(&f, n, 0))),
                _ => pool.install(|| tree.by_both(n, 0)),
            }
            ledger.check_all_once(&format!("forks, seed {seed}, round {round}, {size} workers"));
            jobs += sizes[n];
        }
        round += 1;
    }
    println!("forks: {jobs} jobs in {round} rounds");
}

/// More pending halves on one thread than a worker's stack has slots: those beyond run one after the other.
#[test]
fn forks_deeper_than_the_stack() {
    const LEVELS: usize = 40_000;
    fn down(ledger: &Ledger, level: usize, turns: usize) {
        ledger.mark(2 * level);
        if level + 1 < LEVELS {
            let second = || {
                ledger.mark(2 * level + 1);
                dawdle(turns);
            };
            heist::join(|| down(ledger, level + 1, turns), second);
        } else {
            ledger.mark(2 * level + 1);
            dawdle(50_000);
        }
    }
    let _watch = watch!();
    for size in [1, 2, 4] {
        let pool = ThreadPoolBuilder::new().num_threads(size).stack_size(256 << 20).build().expect("a pool");
        for turns in 0..scaled(30) {
            let ledger = Ledger::new(2 * LEVELS);
            pool.install(|| down(&ledger, 0, turns % 64));
            ledger.check_all_once(&format!("a stack of {LEVELS} forks, {size} workers"));
        }
    }
}

/// Spawns the jobs `first..end`: some at once, some through a job that spawns its share.
fn spawn_range<'s>(scope: &Scope<'s>, ledger: &'s Ledger, first: usize, end: usize) {
    if end - first <= 8 {
        for id in first..end {
            scope.spawn(move |_| ledger.mark(id));
        }
        return;
    }
    let third = (end - first) / 3;
    scope.spawn(move |scope| spawn_range(scope, ledger, first, first + third));
    scope.spawn(move |scope| spawn_range(scope, ledger, first + third, first + 2 * third));
    spawn_range(scope, ledger, first + 2 * third, end);
}

fn spawn_range_fifo<'s>(scope: &ScopeFifo<'s>, ledger: &'s Ledger, first: usize, end: usize) {
    if end - first <= 8 {
        for id in first..end {
            scope.spawn_fifo(move |_| ledger.mark(id));
        }
        return;
    }
    let half = first + (end - first) / 2;
    scope.spawn_fifo(move |scope| spawn_range_fifo(scope, ledger, first, half));
    spawn_range_fifo(scope, ledger, half, end);
}

#[test]
fn scopes() {
    let _watch = watch!();
    let seed = base_seed("scopes");
    let share = scaled(5_000_000) / SIZES.len();
    for (round, size) in SIZES.into_iter().enumerate() {
        let mut random = generator(seed, round as u64);
        let pool = pool(size);
        let mut left = share;
        while left > 0 {
            let jobs = (1 + random.below(40_000)).min(left);
            let ledger = Ledger::new(jobs);
            match random.below(4) {
                0 => pool.scope(|s| spawn_range(s, &ledger, 0, jobs)),
                1 => pool.scope_fifo(|s| spawn_range_fifo(s, &ledger, 0, jobs)),
                2 => pool.in_place_scope(|s| spawn_range(s, &ledger, 0, jobs)),
                _ => pool.in_place_scope_fifo(|s| spawn_range_fifo(s, &ledger, 0, jobs)),
            }
            ledger.check_all_once(&format!("scopes, seed {seed}, {size} workers"));
            left -= jobs;
        }
    }
}

/// Detached jobs, from outside and from jobs. The end of the pool is the only wait.
#[test]
fn spawns_until_shutdown() {
    let _watch = watch!();
    let seed = base_seed("spawns_until_shutdown");
    let share = scaled(3_000_000) / SIZES.len();
    for (round, size) in SIZES.into_iter().enumerate() {
        let mut random = generator(seed, round as u64);
        let mut left = share;
        while left > 0 {
            let jobs = (8 + random.below(100_000)).min(left);
            let ledger = Arc::new(Ledger::new(jobs));
            let pool = pool(size);
            let mut first = 0;
            while first < jobs {
                let end = (first + 1 + random.below(200)).min(jobs);
                let ledger = Arc::clone(&ledger);
                let burst = move || {
                    for id in first..end {
                        let ledger = Arc::clone(&ledger);
                        let job = move || ledger.mark(id);
                        if id % 3 == 0 { heist::spawn_fifo(job) } else { heist::spawn(job) }
                    }
                };
                match random.below(3) {
                    0 => pool.spawn(burst),
                    1 => pool.spawn_fifo(burst),
                    _ => pool.install(burst),
                }
                first = end;
            }
            pool.shutdown().expect("from outside");
            ledger.check_all_once(&format!("spawns, seed {seed}, {size} workers"));
            left -= jobs;
        }
    }
}

/// Guests come and go by the million, from threads that come and go as well, through pools that do: nothing is lost, and nothing grows.
#[test]
fn guests_come_and_go() {
    let _watch = watch!();
    // What the process has in memory is also other tests'.
    if child::case().is_none() {
        child::ends_well(&mut child::child(module_path!(), "guests_come_and_go", "alone"));
        return;
    }
    const THREADS: usize = 100;
    let calls = scaled(500_000) / THREADS;
    let ran = AtomicUsize::new(0);
    let global = |i: usize| {
        let (a, b) = heist::join(|| ran.fetch_add(1, Ordering::Relaxed) < usize::MAX, || i & 1);
        assert_eq!((a, b), (true, i & 1));
    };
    let turn = |first: usize| {
        std::thread::scope(|threads| {
            for t in first..first + 10 {
                threads.spawn(move || {
                    let mut own = guest_pool(2);
                    for i in 0..calls {
                        match i % 1000 {
                            0 => own = guest_pool(1 + i % 3),
                            n if n % 2 == 0 => own.install(|| global(i)),
                            _ => global(i + t),
                        }
                    }
                });
            }
        });
    };
    // The allocator has got what it keeps for threads that come and go after some of them.
    (0..6).for_each(|n| turn(10 * n));
    // It may take some more at any time; what is lost is lost in each of two rounds.
    let mut now = resident_kib();
    let grown = [6..8, 8..THREADS / 10].map(|turns| {
        let before = now;
        turns.for_each(|n| turn(10 * n));
        now = resident_kib();
        now.saturating_sub(before)
    });
    let pools_made = calls.div_ceil(1000);
    assert_eq!(ran.into_inner(), THREADS * (calls - pools_made));
    let least = grown.into_iter().min().expect("two rounds");
    assert!(least < 8 << 10, "{grown:?} KiB more after twenty threads each");
}

/// What the process has in memory.
fn resident_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a line for it");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
}

/// Several threads outside of the pool fork at once: some become guests, some queue.
#[test]
fn forks_from_outside() {
    let _watch = watch!();
    let seed = base_seed("forks_from_outside");
    let sizes = fib_sizes();
    const N: usize = 6;
    let calls = scaled(150_000) / SIZES.len();
    for (round, size) in SIZES.into_iter().enumerate() {
        let pool = guest_pool(size);
        let ledger = Ledger::new(calls * sizes[N]);
        let next = AtomicUsize::new(0);
        std::thread::scope(|threads| {
            for t in 0..3 {
                let mut random: Random = generator(seed, (round * 3 + t) as u64);
                let (pool, ledger, sizes, next) = (&pool, &ledger, &sizes, &next);
                threads.spawn(move || {
                    loop {
                        let call = next.fetch_add(1, Ordering::Relaxed);
                        if call >= calls {
                            break;
                        }
                        let tree = Tree { ledger, sizes, pattern: random.below(1 << 20) };
                        let id = call * sizes[N];
                        match random.below(8) {
                            0 => pool.install(|| tree.by_join(N, id)),
                            1 => pool.in_place_scope(|s| s.spawn(|_| tree.by_join(N, id))),
                            _ => pool.fork(|f| tree.by_fork(&f, N, id)),
                        }
                        dawdle(random.below(500));
                    }
                });
            }
        });
        ledger.check_all_once(&format!("forks from outside, seed {seed}, {size} workers"));
    }
}

#[test]
fn in_fenced_mode() {
    let _watch = watch!();
    fenced::rerun_fenced(
        module_path!(),
        &["forks_deeper", "forks_from_outside", "scopes", "spawns_until_shutdown"],
    );
}
