//! The deque beside its peers, in one process and in alternation, best of several rounds:
//! `cargo run --release -p heist-deque --example deque_bench [rounds]`.
//!
//! Absolute times move with the machine and the day; the ratios in the last column are what to look at.

use heist_deque::{Injector, Options, Owner, Steal, deque, deque_with, deque_with_capacity};
use std::hint::black_box;
use std::sync::Barrier;
use std::time::Instant;

const DEPTH: u64 = 64;
const PAIRS: u64 = 64 * 20_000;
const STEALS: u64 = 4_096;
const STEAL_REPEATS: u64 = 100;
const STREAM: u64 = 2_000_000;

/// ns per operation.
fn timed(operations: u64, work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_nanos() as f64 / operations as f64
}

/// Pushes 64 and pops 64, over and over: ns a pair.
fn pairs(push: impl Fn(u64), pop: impl Fn() -> Option<u64>) -> f64 {
    timed(PAIRS, || {
        for _ in 0..PAIRS / DEPTH {
            for i in 0..DEPTH {
                push(black_box(i));
            }
            for _ in 0..DEPTH {
                black_box(pop());
            }
        }
    })
}

fn pairs_heist(owner: &Owner<u64>) -> f64 {
    pairs(|i| owner.push(i), || owner.pop())
}

/// Fills, then steals everything from the same thread: ns a steal, the filling not counted.
fn steals(fill: impl Fn(), steal: impl Fn() -> Option<u64>) -> f64 {
    let mut ns = 0.0;
    for _ in 0..STEAL_REPEATS {
        fill();
        ns += timed(STEALS, || {
            for _ in 0..STEALS {
                black_box(steal().expect("filled"));
            }
        });
    }
    ns / STEAL_REPEATS as f64
}

/// One thread pushes, at most 1,024 ahead, and another steals every item: ns an item.
fn handover(push: impl Fn(u64), len: impl Fn() -> usize, steal: impl FnMut() -> u64 + Send) -> f64 {
    let (start, mut steal) = (Barrier::new(2), steal);
    let mut ns = 0.0;
    std::thread::scope(|s| {
        let thief = s.spawn(|| {
            start.wait();
            let mut got = 0;
            while got < STREAM {
                got += steal();
            }
        });
        start.wait();
        ns = timed(STREAM, || {
            for i in 0..STREAM {
                // The look at the thieves' end is dear, and the same for all.
                while i % 64 == 0 && len() > 1_024 {
                    std::hint::spin_loop();
                }
                push(i);
            }
            thief.join().expect("the thief does not panic");
        });
    });
    ns
}

/// One thread pushes, and pops every fourth time, while another steals what it can: ns an item.
fn stream(push: impl Fn(u64), pop: impl Fn() -> Option<u64>, steal: impl FnMut() -> u64 + Send) -> f64 {
    let (start, mut steal) = (Barrier::new(2), steal);
    let done = std::sync::OnceLock::new();
    let mut ns = 0.0;
    std::thread::scope(|s| {
        let thief = s.spawn(|| {
            start.wait();
            let mut got = 0;
            while done.get().is_none() {
                got += steal();
            }
            got
        });
        start.wait();
        ns = timed(STREAM, || {
            for i in 0..STREAM {
                push(i);
                if i % 4 == 0 {
                    black_box(pop());
                }
            }
            while pop().is_some() {}
        });
        done.set(()).expect("set once");
        black_box(thief.join().expect("the thief does not panic"));
    });
    ns
}

fn two_threads_heist(half: bool, all: bool) -> f64 {
    let (owner, thief) = deque();
    let mine = deque().0;
    let steal = move || {
        let got = if half { thief.steal_half(&mine) } else { thief.steal() };
        match got {
            Steal::Success(_) => 1 + std::iter::from_fn(|| mine.pop()).count() as u64,
            Steal::Empty | Steal::Retry => 0,
        }
    };
    if all {
        // The owner looks at its thieves' requests only when it works, so it hands over what is left when it stops.
        let len = || {
            owner.share_all();
            owner.len()
        };
        let ns = handover(
            |i| {
                if i + 1 == STREAM {
                    owner.push(i);
                    owner.share_all()
                } else {
                    owner.push(i)
                }
            },
            len,
            steal,
        );
        return ns;
    }
    stream(|i| owner.push(i), || owner.pop(), steal)
}

fn two_threads_crossbeam(half: bool, all: bool) -> f64 {
    let owner = crossbeam_deque::Worker::new_lifo();
    let thief = owner.stealer();
    let mine = crossbeam_deque::Worker::new_lifo();
    let steal = move || {
        let got = if half { thief.steal_batch_and_pop(&mine) } else { thief.steal() };
        match got {
            crossbeam_deque::Steal::Success(_) => 1 + std::iter::from_fn(|| mine.pop()).count() as u64,
            _ => 0,
        }
    };
    if all {
        return handover(|i| owner.push(i), || owner.len(), steal);
    }
    stream(|i| owner.push(i), || owner.pop(), steal)
}

type Entry = (&'static str, Box<dyn Fn() -> f64>);

fn report(title: &str, rounds: usize, entries: Vec<Entry>) {
    println!("{title}");
    let mut best = vec![f64::INFINITY; entries.len()];
    for _ in 0..rounds {
        for ((_, run), best) in entries.iter().zip(&mut best) {
            *best = best.min(run());
        }
    }
    for ((name, _), ns) in entries.iter().zip(&best) {
        println!("  {name:<28} {ns:>8.2} ns {:>8.2} M/s {:>6.2} x", 1e3 / ns, ns / best[0]);
    }
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(15);

    report(
        "push and pop, 64 deep, per pair",
        rounds,
        vec![
            (
                "crossbeam LIFO",
                Box::new(|| {
                    let w = crossbeam_deque::Worker::new_lifo();
                    pairs(|i| w.push(i), || w.pop())
                }),
            ),
            (
                "st3 LIFO",
                Box::new(|| {
                    let w = st3::lifo::Worker::new(128);
                    pairs(|i| w.push(i).expect("room"), || w.pop())
                }),
            ),
            ("heist", Box::new(|| pairs_heist(&deque().0))),
            (
                "heist, fenced",
                Box::new(|| pairs_heist(&deque_with(Options { fenced: true, ..Options::default() }).0)),
            ),
        ],
    );

    report(
        "uncontended steal",
        rounds,
        vec![
            (
                "crossbeam LIFO",
                Box::new(|| {
                    let w = crossbeam_deque::Worker::new_lifo();
                    let s = w.stealer();
                    steals(|| (0..STEALS).for_each(|i| w.push(i)), || s.steal().success())
                }),
            ),
            (
                "heist",
                Box::new(|| {
                    let (o, t) = deque_with_capacity(STEALS as usize);
                    steals(
                        || {
                            (0..STEALS).for_each(|i| o.push(i));
                            o.share_all();
                        },
                        || t.steal().success(),
                    )
                }),
            ),
            (
                "heist, half",
                Box::new(|| {
                    let (o, t) = deque_with_capacity(STEALS as usize);
                    let (mine, _) = deque();
                    steals(
                        || {
                            (0..STEALS).for_each(|i| o.push(i));
                            o.share_all();
                        },
                        || mine.pop().or_else(|| t.steal_half(&mine).success()),
                    )
                }),
            ),
        ],
    );

    for (title, all) in [
        ("one owner pushes, one thief steals all", true),
        ("one owner pushes and pops, one thief steals", false),
    ] {
        report(
            title,
            rounds,
            vec![
                ("crossbeam, one at a time", Box::new(move || two_threads_crossbeam(false, all))),
                ("crossbeam, batch", Box::new(move || two_threads_crossbeam(true, all))),
                ("heist, one at a time", Box::new(move || two_threads_heist(false, all))),
                ("heist, half", Box::new(move || two_threads_heist(true, all))),
            ],
        );
    }

    report(
        "injector, push and pop, one thread",
        rounds,
        vec![
            (
                "crossbeam",
                Box::new(|| {
                    let q = crossbeam_deque::Injector::new();
                    pairs(|i| q.push(i), || q.steal().success())
                }),
            ),
            (
                "heist",
                Box::new(|| {
                    let q = Injector::new();
                    pairs(|i| q.push(i), || q.pop())
                }),
            ),
        ],
    );
}
