//! One more than the limit: more waits at once, and deeper ones, than a pool may have threads. They take their turns; no stack grows
//! through waiting, and nobody is forgotten.

use crate::rig::child;
use crate::rig::count::Count;
use crate::rig::ledger::Ledger;
use crate::rig::watchdog::watch;
use heist::{ThreadPool, ThreadPoolBuilder, time};
use heist_sync::atomic::{AtomicUsize, Ordering};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

/// With stacks as programs have them, unlike most tests.
fn pool(n: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(n).build().unwrap()
}

/// A stack that overflows ends the process, so it is another one.
fn in_a_child(name: &str, body: impl FnOnce()) {
    match child::case() {
        Some(_) => body(),
        None => drop(child::ends_well(&mut child::child(module_path!(), name, "1"))),
    }
}

/// How many that wait may lie on one stack, where waits have to help because no thread is to be had. A stack that has room for the
/// program's own nesting has room for that.
const DEEPEST: usize = 100;

/// Longer than it takes to start as many threads as there may be.
const LONG: Duration = Duration::from_millis(250);

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Counts how many of these lie on one stack.
fn nested<R>(deepest: &AtomicUsize, f: impl FnOnce() -> R) -> R {
    let depth = DEPTH.get() + 1;
    deepest.fetch_max(depth, Ordering::Relaxed);
    DEPTH.set(depth);
    let result = f();
    DEPTH.set(depth - 1);
    result
}

/// Tasks that block on a future inside of a poll, more of them than there may be threads.
#[test]
fn two_thousand_tasks_in_block_on() {
    let _watch = watch!();
    in_a_child("two_thousand_tasks_in_block_on", || {
        const TASKS: usize = 2000;
        let pool = pool(2);
        let (ledger, all) = (Arc::new(Ledger::new(TASKS)), Count::new(TASKS));
        let deepest = Arc::new(AtomicUsize::new(0));
        for i in 0..TASKS {
            let (ledger, all, deepest) = (Arc::clone(&ledger), all.clone(), Arc::clone(&deepest));
            drop(pool.spawn_task(async move {
                nested(&deepest, || heist::block_on(time::sleep(LONG)));
                ledger.mark(i);
                all.knock();
            }));
        }
        all.gate.block();
        ledger.check_all_once("tasks");
        let deepest = deepest.load(Ordering::Relaxed);
        assert!(deepest <= DEEPEST, "{deepest} tasks that wait lie on one stack");
    });
}

/// The same for jobs.
#[test]
fn two_thousand_jobs_in_block_on() {
    let _watch = watch!();
    in_a_child("two_thousand_jobs_in_block_on", || {
        const JOBS: usize = 2000;
        let pool = pool(2);
        let (ledger, deepest) = (Ledger::new(JOBS), AtomicUsize::new(0));
        pool.scope(|s| {
            for i in 0..JOBS {
                let (ledger, deepest) = (&ledger, &deepest);
                s.spawn(move |_| {
                    nested(deepest, || heist::block_on(time::sleep(LONG)));
                    ledger.mark(i);
                });
            }
        });
        ledger.check_all_once("jobs");
        let deepest = deepest.into_inner();
        assert!(deepest <= DEEPEST, "{deepest} jobs that wait lie on one stack");
    });
}

#[test]
fn more_jobs_in_blocking_than_threads() {
    let _watch = watch!();
    in_a_child("more_jobs_in_blocking_than_threads", || {
        for (n, max_threads, jobs) in [(2, 0, 300), (1, 2, 20), (2, 5, 30), (4, 4, 30)] {
            let pool = ThreadPoolBuilder::new().num_threads(n).max_threads(max_threads).build().unwrap();
            let ledger = Ledger::new(jobs);
            pool.scope(|s| {
                for i in 0..jobs {
                    let ledger = &ledger;
                    s.spawn(move |_| {
                        heist::blocking(|| std::thread::sleep(Duration::from_millis(20)));
                        ledger.mark(i);
                    });
                }
            });
            ledger.check_all_once("jobs in blocking");
            assert_eq!(pool.broadcast(|c| c.index()), (0..n).collect::<Vec<_>>());
        }
    });
}

/// Each level waits for the next one in the other pool, so that all of them wait at once: a wait across pools gets its spare,
/// beyond every limit.
#[test]
fn three_hundred_waits_in_each_of_two_pools() {
    let _watch = watch!();
    in_a_child("three_hundred_waits_in_each_of_two_pools", || {
        fn down(pools: &[ThreadPool; 2], levels: usize) -> usize {
            if levels == 0 {
                return 0;
            }
            pools[levels % 2].install(|| down(pools, levels - 1)) + 1
        }
        for (max_threads, levels) in [(0, 600), (4, 40)] {
            let pool = || ThreadPoolBuilder::new().num_threads(1).max_threads(max_threads).build().unwrap();
            assert_eq!(down(&[pool(), pool()], levels), levels);
        }
    });
}

/// Scopes in scopes, each of which waits for a job that blocks: as deep as the program is, and no deeper.
#[test]
fn three_hundred_scopes_in_each_other() {
    let _watch = watch!();
    in_a_child("three_hundred_scopes_in_each_other", || {
        fn down(left: usize, ledger: &Ledger) {
            if left == 0 {
                return;
            }
            heist::scope(|s| {
                s.spawn(move |_| down(left - 1, ledger));
                s.spawn(move |_| {
                    if left.is_multiple_of(10) {
                        heist::blocking(|| std::thread::sleep(Duration::from_millis(5)));
                    }
                });
            });
            ledger.mark(left - 1);
        }
        for n in [1, 2, 4] {
            let pool = ThreadPoolBuilder::new().num_threads(n).stack_size(16 << 20).build().unwrap();
            let ledger = Ledger::new(300);
            pool.install(|| down(300, &ledger));
            ledger.check_all_once("scopes");
        }
    });
}
