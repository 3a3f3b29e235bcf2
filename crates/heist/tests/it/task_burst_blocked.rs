//! Promise 4: a burst of tasks from outside, all of which block, and one behind them that lets them go. More of them than there are
//! workers, and all spawned before the first one runs, so that none comes to the notice of anybody by being spawned later.

#![cfg(target_os = "linux")]

use crate::rig::count::Count;
use crate::rig::fenced;
use crate::rig::gate::Gate;
use crate::rig::pool::pool;
use crate::rig::watchdog::watch;
use heist_sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

const POOLS: usize = 20;

/// `blockers` tasks block until one that was spawned after them has run; in a pool that is new, and in the same one again.
fn burst(workers: usize, blockers: usize) {
    for _ in 0..POOLS {
        let pool = pool(workers);
        for _ in 0..3 {
            let (ended, let_go) = (Count::new(blockers), Gate::new());
            for _ in 0..blockers {
                let (ended, let_go) = (ended.clone(), let_go.clone());
                drop(pool.spawn_task(async move {
                    let_go.block();
                    ended.knock();
                }));
            }
            drop(pool.spawn_task(async move { let_go.open() }));
            ended.gate.block();
        }
    }
}

#[test]
fn one_worker() {
    let _watch = watch!();
    burst(1, 4);
}

#[test]
fn two_workers() {
    let _watch = watch!();
    burst(2, 5);
}

#[test]
fn four_workers() {
    let _watch = watch!();
    burst(4, 7);
}

/// All of them are inside at once before one of them lets the others go: every one has got its thread.
#[test]
fn all_at_once() {
    let _watch = watch!();
    for workers in [1, 2, 4] {
        let blockers = workers + 8;
        for _ in 0..POOLS {
            let pool = pool(workers);
            let (inside, ended) = (Count::new(blockers), Count::new(blockers));
            let most = Arc::new(AtomicUsize::new(0));
            for _ in 0..blockers {
                let (inside, ended, most) = (inside.clone(), ended.clone(), Arc::clone(&most));
                drop(pool.spawn_task(async move {
                    most.fetch_add(1, Ordering::AcqRel);
                    inside.knock();
                    inside.gate.block();
                    ended.knock();
                }));
            }
            ended.gate.block();
            assert_eq!(most.load(Ordering::Acquire), blockers);
        }
    }
}

#[test]
fn in_fenced_mode() {
    let _watch = watch!();
    fenced::rerun_fenced(module_path!(), &["workers", "all_at_once"]);
}
