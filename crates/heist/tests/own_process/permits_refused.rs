//! The kernel refuses threads for a while, and then allows them again: one refusal is not remembered for good. While work is visible
//! and a permit is free, the pool tries again, so a blocked neighbour is not waited for.
//!
//! Public bugs of this kind: tokio #8406 and #2309, Bun #37738 (a thread could not be started, but was counted on to serve).

#![cfg(target_os = "linux")]

use crate::rig::child;
use crate::rig::compute::compute;
use crate::rig::count::Count;
use crate::rig::gate::Gate;
use crate::rig::pool::pool;
use crate::rig::threads;
use crate::rig::watchdog::watch;
use heist::{ThreadPool, current_thread_index};
use heist_sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const SIZES: [usize; 3] = [1, 2, 4];

/// How long threads are refused: longer than the longest pause between two tries.
const FOR_A_WHILE: Duration = Duration::from_millis(150);

/// Every permit is there, and every thread that runs a job has one.
fn check_indices(pool: &ThreadPool) {
    let n = pool.current_num_threads();
    let with_index = AtomicUsize::new(0);
    pool.scope(|s| {
        for _ in 0..200 {
            s.spawn(|_| {
                let index = current_thread_index().expect("a job has an index");
                assert!(index < n);
                with_index.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(with_index.into_inner(), 200);
    assert_eq!(pool.broadcast(|c| c.index()), (0..n).collect::<Vec<_>>());
}

/// Blocks until all of `n` neighbours, queued behind `n` blockers, have run.
fn neighbours_run(pool: &ThreadPool, n: usize, as_tasks: bool) {
    let (blocked, ended, ran) = (Count::new(n), Count::new(n), Count::new(1));
    for _ in 0..n {
        let (blocked, ended, gate) = (blocked.clone(), ended.clone(), ran.gate.clone());
        let block = move || {
            blocked.knock();
            gate.block();
        };
        if as_tasks {
            drop(pool.spawn_task(async move {
                block();
                ended.knock();
            }));
        } else {
            pool.spawn(move || {
                heist::blocking(block);
                ended.knock();
            });
        }
    }
    blocked.gate.block();
    let neighbour = ran.clone();
    if as_tasks {
        drop(pool.spawn_task(async move { neighbour.knock() }));
    } else {
        pool.spawn(move || neighbour.knock());
    }
    ended.gate.block();
}

fn in_a_child(name: &str, body: impl FnOnce(usize)) {
    if let Some(case) = child::case() {
        threads::become_nobody();
        return body(case.parse().unwrap());
    }
    for n in SIZES {
        let stderr = child::ends_well(&mut child::child(module_path!(), name, &n.to_string()));
        println!("{n} workers: {stderr}");
    }
}

/// Refused while all workers say that they block; what they wait for is queued, and nobody touches the pool afterwards.
#[test]
fn jobs_behind_announced_blockers() {
    let _watch = watch!();
    in_a_child("jobs_behind_announced_blockers", |n| {
        let pool = pool(n);
        // The monitor is there already.
        neighbours_run(&pool, 1, true);
        for _ in 0..3 {
            let (blocked, ended, ran) = (Count::new(n + 6), Count::new(n + 6), Gate::new());
            let refused = threads::refuse();
            for _ in 0..n + 6 {
                let (blocked, ended, ran) = (blocked.clone(), ended.clone(), ran.clone());
                pool.spawn(move || {
                    heist::blocking(|| {
                        blocked.knock();
                        ran.block();
                    });
                    ended.knock();
                });
            }
            let opens = ran.clone();
            let all_block = blocked.gate.clone();
            pool.spawn(move || {
                heist::blocking(|| all_block.block());
                opens.open();
            });
            // A window, not a wait: threads are refused in it, again and again.
            std::thread::sleep(FOR_A_WHILE);
            refused.allow();
            ended.gate.block();
            check_indices(&pool);
        }
    });
}

/// The same before the pool has ever had a spare, or the process a monitor: the next job from outside is enough.
#[test]
fn the_very_first_spare() {
    let _watch = watch!();
    in_a_child("the_very_first_spare", |n| {
        let pool = pool(n);
        let (blocked, ended, ran) = (Count::new(n), Count::new(n), Gate::new());
        let refused = threads::refuse();
        for _ in 0..n {
            let (blocked, ended, ran) = (blocked.clone(), ended.clone(), ran.clone());
            pool.spawn(move || {
                heist::blocking(|| {
                    blocked.knock();
                    ran.block();
                });
                ended.knock();
            });
        }
        blocked.gate.block();
        pool.spawn(|| ());
        std::thread::sleep(FOR_A_WHILE);
        refused.allow();
        pool.spawn(move || ran.open());
        ended.gate.block();
        check_indices(&pool);
    });
}

/// Refused while tasks block unannounced.
#[test]
fn tasks_behind_blocked_tasks() {
    let _watch = watch!();
    in_a_child("tasks_behind_blocked_tasks", |n| {
        let pool = pool(n);
        neighbours_run(&pool, 1, true);
        for _ in 0..3 {
            let (blocked, ended, ran) = (Count::new(n), Count::new(n + 3), Gate::new());
            let refused = threads::refuse();
            // Any of them can be the first.
            for _ in 0..n + 3 {
                let (blocked, ended, ran) = (blocked.clone(), ended.clone(), ran.clone());
                drop(pool.spawn_task(async move {
                    blocked.knock();
                    ran.block();
                    ended.knock();
                }));
            }
            blocked.gate.block();
            drop(pool.spawn_task(async move { ran.open() }));
            std::thread::sleep(FOR_A_WHILE);
            refused.allow();
            ended.gate.block();
            check_indices(&pool);
        }
    });
}

/// Waits that would have lent help themselves while nobody can be had, and lend again after.
#[test]
fn spares_come_again() {
    let _watch = watch!();
    in_a_child("spares_come_again", |n| {
        let pool = pool(n);
        let fork = || {
            pool.scope(|s| {
                for _ in 0..40 {
                    s.spawn(|_| {
                        heist::join(|| heist::join(|| compute(20), || compute(300)), || compute(300));
                    });
                }
            });
        };
        let refused = threads::refuse();
        fork();
        let other = pool.install(|| heist::blocking(|| 7));
        assert_eq!(other, 7);
        refused.allow();
        fork();
        for _ in 0..3 {
            neighbours_run(&pool, n, false);
            neighbours_run(&pool, n, true);
            check_indices(&pool);
        }
    });
}
