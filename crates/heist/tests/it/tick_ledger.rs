//! A random program of ticks: after all of it, every run was executed, skipped, or cancelled, and every closure that was accepted has run.
//!
//! `HEIST_STRESS=10` for ten times as many runs, `HEIST_SEED` to run one again.

use crate::rig::compute::compute;
use crate::rig::pool::pool;
use crate::rig::reports::hush;
use crate::rig::scale::scaled;
use crate::rig::seed::{base_seed, generator};
use crate::rig::watchdog::watch;
use heist::ThreadPool;
use heist::tick::{self, Handle, Next, OnPanic, Overrun};
use heist_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use heist_sync::rand::Random;
use std::sync::Arc;
use std::time::{Duration, Instant};

const RUNS: usize = 100_000;
const TICKS: usize = 40;

/// A tick, and what it says of itself.
struct Counted {
    tick: Handle,
    own: Arc<Own>,
    accepted: u64,
}

#[derive(Default)]
struct Own {
    runs: AtomicU64,
    periods: AtomicU64,
    closures: AtomicU64,
    is_inside: AtomicBool,
}

impl Own {
    fn alone<R>(&self, f: impl FnOnce() -> R) -> R {
        assert!(!self.is_inside.swap(true, Ordering::Acquire), "two at once");
        let result = f();
        self.is_inside.store(false, Ordering::Release);
        result
    }
}

fn spawn(pool: &ThreadPool, random: &mut Random) -> Counted {
    let own = Arc::new(Own::default());
    let inside = Arc::clone(&own);
    let seed = random.below(1 << 30) as u64;
    let mut dice = generator(seed, 0);
    let mut builder = tick::every(Duration::from_micros(200 + random.below(2000) as u64));
    builder =
        builder.on_panic(OnPanic::Continue).steal_after(Duration::from_micros(random.below(3000) as u64));
    builder = match random.below(3) {
        0 => builder.overrun(Overrun::Skip),
        1 => builder.overrun(Overrun::Burst(3)),
        _ => builder.overrun(Overrun::Delay),
    };
    if random.below(8) == 0 {
        builder = builder.pinned();
    }
    let tick = builder.spawn_on(pool, move |cx| {
        inside.runs.fetch_add(1, Ordering::Relaxed);
        inside.periods.fetch_add(cx.count(), Ordering::Relaxed);
        inside.alone(|| match dice.below(400) {
            0 => heist::blocking(|| std::thread::sleep(Duration::from_micros(300))),
            1 => {
                heist::join(|| compute(20), || compute(20));
            }
            2 => std::thread::sleep(Duration::from_micros(200)),
            3 => compute(500),
            _ => {}
        });
        if dice.below(500) == 0 {
            std::panic::panic_any("a run's own");
        }
        if dice.below(300) == 0 {
            Next::At(Instant::now() + Duration::from_micros(500))
        } else {
            Next::Continue
        }
    });
    Counted { tick, own, accepted: 0 }
}

fn do_something(counted: &mut Counted, random: &mut Random) {
    let tick = &counted.tick;
    match random.below(12) {
        0 => {
            tick.cancel();
        }
        1 => {
            tick.cancel_and_wait();
        }
        // Most of the time it is not cancelled.
        2 | 3 => drop(tick.reschedule()),
        4 => tick.pause(),
        5 | 6 => tick.resume(),
        7 => {
            tick.step(random.below(5) as u64);
        }
        8 => tick.sprint(random.below(20) as u64),
        9 => tick.set_period(Duration::from_micros(200 + random.below(2000) as u64)).unwrap(),
        _ => {
            for _ in 0..random.below(20) {
                let own = Arc::clone(&counted.own);
                let closure = move || {
                    own.alone(|| ());
                    own.closures.fetch_add(1, Ordering::Relaxed);
                };
                counted.accepted += u64::from(tick.submit(closure).is_ok());
            }
        }
    }
    let ledger = tick.stats().ledger;
    assert!(ledger.is_balanced(), "{ledger:?}");
}

fn check(workers: usize, runs: usize, seed: u64) {
    let pool = pool(workers);
    let mut random = generator(seed, workers as u64);
    let mut all: Vec<Counted> = (0..TICKS).map(|_| spawn(&pool, &mut random)).collect();
    let total = |all: &[Counted]| all.iter().map(|one| one.own.runs.load(Ordering::Relaxed)).sum::<u64>();
    while total(&all) < runs as u64 {
        let which = random.below(TICKS);
        do_something(&mut all[which], &mut random);
        if random.below(4) == 0 {
            std::thread::sleep(Duration::from_micros(100));
        }
    }
    for (n, one) in all.iter().enumerate() {
        if n % 2 == 0 {
            one.tick.cancel_and_wait();
        }
    }
    pool.shutdown().unwrap();
    for Counted { tick, own, accepted } in &all {
        tick.wait().unwrap();
        let stats = tick.stats();
        let ledger = stats.ledger;
        assert!(ledger.is_balanced() && ledger.pending == 0, "{ledger:?}");
        assert_eq!(ledger.run, own.runs.load(Ordering::Relaxed), "runs");
        assert_eq!(ledger.run + ledger.skipped, own.periods.load(Ordering::Relaxed), "periods");
        assert_eq!(
            (stats.totals.closures, own.closures.load(Ordering::Relaxed)),
            (*accepted, *accepted),
            "closures"
        );
    }
}

#[test]
fn every_run_is_accounted_for() {
    let _watch = watch!();
    let seed = base_seed("every_run_is_accounted_for");
    hush();
    let runs = scaled(RUNS);
    check(2, runs / 2, seed);
    check(3, runs / 4, seed);
    check(1, runs / 4, seed);
}
