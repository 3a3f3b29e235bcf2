//! Promise 2: work conserving. Jobs that wait for each other end only if all of them run at the same time, so one worker that
//! sleeps beside a queued job is a hang.
//!
//! Public bugs of this kind: Go #45867 (a runnable goroutine beside an idle P), JDK-8292969 and JDK-8373118 (signals filtered too
//! cleverly), tokio #6847 (both tasks taken by one worker while the other is parked), tokio #4383 (the last searcher leaves).

use crate::rig::fenced;
use crate::rig::pool::pool;
use crate::rig::scale::scaled;
use crate::rig::watchdog::watch;
use heist_sync::atomic::{AtomicUsize, Ordering};
use std::sync::Barrier;

/// Rounds for `p` jobs: 50,000 for two; more than there are cores take a turn of the kernel's scheduler each.
fn rounds(p: usize) -> usize {
    scaled(match p {
        1 | 2 => 50_000,
        3 | 4 => 5_000,
        _ => 1_000,
    })
}

/// A meeting of `p` jobs that never sleep in the kernel: their workers look busy.
struct Meeting {
    p: usize,
    here: AtomicUsize,
}

impl Meeting {
    fn new(p: usize) -> Self {
        Self { p, here: AtomicUsize::new(0) }
    }

    fn wait(&self) {
        self.here.fetch_add(1, Ordering::AcqRel);
        while self.here.load(Ordering::Acquire) < self.p {
            std::thread::yield_now();
        }
    }
}

/// Each of `p` leaves of a join tree calls `leaf`.
fn join_tree(p: usize, leaf: &(impl Fn() + Sync)) {
    if p == 1 {
        return leaf();
    }
    heist::join(|| join_tree(p / 2, leaf), || join_tree(p - p / 2, leaf));
}

#[test]
fn spawned_jobs_meet() {
    let _watch = watch!();
    for p in [1, 2, 3, 4, 8] {
        let pool = pool(p);
        for _ in 0..rounds(p) {
            let meeting = Meeting::new(p);
            pool.scope(|s| (0..p).for_each(|_| s.spawn(|_| meeting.wait())));
        }
    }
}

/// Spawned from outside, through the injector.
#[test]
fn injected_jobs_meet() {
    let _watch = watch!();
    for p in [2, 4] {
        let pool = pool(p);
        for _ in 0..rounds(p) / 2 {
            let meeting = Meeting::new(p);
            pool.in_place_scope(|s| (0..p).for_each(|_| s.spawn(|_| meeting.wait())));
        }
    }
}

/// The first leaf never forks again, so that its worker answers no thief: the rest must be got out of it by force.
#[test]
fn leaves_of_a_join_tree_meet() {
    let _watch = watch!();
    for p in [2, 3, 4, 8] {
        let pool = pool(p);
        for _ in 0..rounds(p) / 4 {
            let meeting = Meeting::new(p);
            pool.install(|| join_tree(p, &|| meeting.wait()));
        }
    }
}

/// All calls of `install` come from outside, all at once.
#[test]
fn installed_jobs_meet() {
    let _watch = watch!();
    const P: usize = 2;
    let pool = pool(P);
    let all = rounds(P) / 10;
    let meetings: Vec<_> = (0..all).map(|_| Meeting::new(P)).collect();
    std::thread::scope(|threads| {
        for _ in 0..P {
            threads.spawn(|| meetings.iter().for_each(|meeting| pool.install(|| meeting.wait())));
        }
    });
}

/// Jobs that sleep in the kernel until all are there. They do not say so, and need not: there is a worker for each.
#[test]
fn sleeping_jobs_meet() {
    let _watch = watch!();
    for p in [2, 4] {
        let pool = pool(p);
        let barrier = Barrier::new(p);
        for round in 0..rounds(p) / 10 {
            if round % 2 == 0 {
                pool.scope(|s| {
                    for _ in 0..p {
                        s.spawn(|_| {
                            barrier.wait();
                        });
                    }
                });
            } else {
                pool.install(|| {
                    join_tree(p, &|| {
                        barrier.wait();
                    });
                });
            }
        }
    }
}

/// Workers that say that they block count for nothing: as many jobs again can meet.
#[test]
fn jobs_meet_beside_blocked_ones() {
    let _watch = watch!();
    for p in [1, 2, 4] {
        let pool = pool(p);
        for _ in 0..(rounds(p) / 200).max(1) {
            let meeting = Meeting::new(p);
            let (open, gate) = std::sync::mpsc::channel::<()>();
            let gate = std::sync::Mutex::new(gate);
            let arrived = AtomicUsize::new(0);
            pool.in_place_scope(|s| {
                for _ in 0..p {
                    s.spawn(|_| {
                        heist::blocking(|| {
                            arrived.fetch_add(1, Ordering::AcqRel);
                            // Ends when the sender is dropped.
                            let _ = gate.lock().unwrap().recv();
                        });
                    });
                }
                while arrived.load(Ordering::Acquire) < p {
                    std::thread::yield_now();
                }
                pool.scope(|s| (0..p).for_each(|_| s.spawn(|_| meeting.wait())));
                drop(open);
            });
        }
    }
}

/// Long after a wait, an index that was lent is at work again: the parallelism does not leak away.
#[test]
fn parallelism_survives_waits() {
    let _watch = watch!();
    for p in [2, 4] {
        let pool = pool(p);
        for _ in 0..(rounds(p) / 500).max(1) {
            pool.install(|| {
                join_tree(2 * p, &|| {
                    // Long enough for the waiter of the other half to lend its index.
                    let until = std::time::Instant::now() + std::time::Duration::from_micros(300);
                    while std::time::Instant::now() < until {
                        std::hint::spin_loop();
                    }
                });
            });
            let meeting = Meeting::new(p);
            pool.scope(|s| (0..p).for_each(|_| s.spawn(|_| meeting.wait())));
        }
    }
}

#[test]
fn in_fenced_mode() {
    let _watch = watch!();
    fenced::rerun_fenced(module_path!(), &["leaves_of", "spawned_jobs", "beside_blocked"]);
}
