//! Promise 4, jobs: `num_threads` is how many jobs run at once, whatever they do. Programs rely on it for how many subprocesses or
//! downloads there are, and these sleep most of the time: for longer than `tuning::LAST_RESORT_NS`, here,
//! after which a pool that rescues would add a thread.

use crate::rig::pool::pool;
use crate::rig::watchdog::watch;
use heist_sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How many of the jobs ran at once, at the most.
#[derive(Default)]
struct Most {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Most {
    /// A job that blocks without a word.
    fn sleep(&self, ms: u64) {
        self.most.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(ms));
        self.now.fetch_sub(1, Ordering::SeqCst);
    }

    fn check(self, limit: usize) {
        assert_eq!(self.most.into_inner(), limit, "so many jobs ran at once in a pool of {limit}");
    }
}

#[test]
fn eight_downloads_of_two_at_once() {
    let _watch = watch!();
    let (pool, most) = (pool(2), Most::default());
    pool.scope(|s| (0..8).for_each(|_| s.spawn(|_| most.sleep(400))));
    most.check(2);
}

#[test]
fn four_long_ones_of_two_at_once() {
    let _watch = watch!();
    let (pool, most) = (pool(2), Most::default());
    pool.scope(|s| (0..4).for_each(|_| s.spawn(|_| most.sleep(1300))));
    most.check(2);
}

/// By a parallel loop, which is how most programs do it, from the queue of the pool and from the forks of its workers.
#[test]
fn a_loop_of_four_at_once() {
    use heist::prelude::*;
    let _watch = watch!();
    let (pool, most) = (pool(4), Most::default());
    pool.install(|| (0..8).into_par_iter().with_max_len(1).for_each(|_| most.sleep(1300)));
    most.check(4);
}

/// One worker is one at a time.
#[test]
fn one_at_a_time() {
    let _watch = watch!();
    let (pool, most) = (pool(1), Most::default());
    pool.scope(|s| (0..2).for_each(|_| s.spawn(|_| most.sleep(1300))));
    most.check(1);
}
