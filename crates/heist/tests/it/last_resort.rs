//! Promise 4, for jobs: a job that blocks without saying so holds its worker. If the program has asked for rescue, and every worker has
//! used no CPU time for a second while jobs are queued, spare threads run those, and a warning says so.
//!
//! Public bugs of this kind: every program that deadlocked because all its workers waited for a job that was queued behind them.

#![cfg(target_os = "linux")]

use crate::rig::child;
use crate::rig::watchdog::watch;
use heist::{ThreadPool, ThreadPoolBuilder, current_thread_index};
use heist_sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// Who is blocked is known by the clocks of threads, so the hints are on whatever the environment says.
fn pool(n: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(n).rescue_blocked(true).os_hints(true).build().unwrap()
}

/// Counts down from `n` to 0, and lets threads sleep until then.
struct Countdown {
    left: Mutex<usize>,
    over: Condvar,
}

impl Countdown {
    fn new(n: usize) -> Self {
        Self { left: Mutex::new(n), over: Condvar::new() }
    }

    fn count(&self) {
        *self.left.lock().unwrap() -= 1;
        self.over.notify_all();
    }

    fn wait(&self) {
        let left = self.left.lock().unwrap();
        drop(self.over.wait_while(left, |left| *left > 0).unwrap());
    }
}

/// All workers sleep until jobs that are queued behind them have run.
fn workers_wait_for_queued_jobs(n: usize) {
    let pool = pool(n);
    let countdown = Countdown::new(3 * n);
    let blocked = AtomicUsize::new(0);
    pool.in_place_scope(|s| {
        for _ in 0..n {
            s.spawn(|_| {
                blocked.fetch_add(1, Ordering::AcqRel);
                countdown.wait();
            });
        }
        while blocked.load(Ordering::Acquire) < n {
            std::thread::yield_now();
        }
        for _ in 0..3 * n {
            s.spawn(|_| {
                assert_eq!(current_thread_index(), None, "all indices are in use");
                countdown.count();
            });
        }
    });
    assert_eq!(pool.broadcast(|c| c.index()), (0..n).collect::<Vec<_>>());
    pool.shutdown().unwrap();
}

#[test]
fn one_worker_waits_for_a_queued_job() {
    let _watch = watch!();
    workers_wait_for_queued_jobs(1);
}

#[test]
fn four_workers_wait_for_queued_jobs() {
    let _watch = watch!();
    workers_wait_for_queued_jobs(4);
}

/// What they wait for is not in a queue but in a worker's own stack of forks.
#[test]
fn a_worker_waits_for_the_half_that_it_has_not_shared() {
    let _watch = watch!();
    let pool = pool(1);
    let (send, receive) = channel();
    let (got, ()) = pool.install(|| heist::join(move || receive.recv(), move || send.send(7).unwrap()));
    assert_eq!(got, Ok(7));
}

/// The rescued job waits for more queued jobs in its turn.
#[test]
fn a_chain_of_sleepers() {
    let _watch = watch!();
    let pool = pool(1);
    let (to_last, last) = channel::<()>();
    let (to_middle, middle) = channel::<()>();
    pool.in_place_scope(|s| {
        s.spawn(move |s| {
            s.spawn(move |s| {
                s.spawn(move |_| to_middle.send(()).unwrap());
                middle.recv().unwrap();
                to_last.send(()).unwrap();
            });
            last.recv().unwrap();
        });
    });
}

/// While one worker computes, nothing is stuck: the queued job waits for its turn, however long the others sleep.
#[test]
fn a_computing_worker_is_not_stuck() {
    let _watch = watch!();
    let pool = pool(2);
    let (open, gate) = channel::<()>();
    let computing = AtomicUsize::new(0);
    let open = Mutex::new(Some(open));
    pool.in_place_scope(|s| {
        s.spawn(move |_| {
            let _ = gate.recv();
        });
        s.spawn(|_| {
            computing.store(1, Ordering::Release);
            let until = Instant::now() + Duration::from_millis(1800);
            while Instant::now() < until {
                std::hint::spin_loop();
            }
            computing.store(2, Ordering::Release);
        });
        while computing.load(Ordering::Acquire) < 1 {
            std::thread::yield_now();
        }
        s.spawn(|_| {
            assert_eq!(computing.load(Ordering::Acquire), 2, "a spare took a job although a worker computed");
            assert!(current_thread_index().is_some());
            open.lock().unwrap().take();
        });
    });
}

const CHILD: &str = "HEIST_TEST_CHILD";

#[test]
fn the_warning_comes_once() {
    let _watch = watch!();
    if std::env::var_os(CHILD).is_none() {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &child::test_name(module_path!(), "the_warning_comes_once"), "--nocapture"])
            .env(CHILD, "1")
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        let warnings = stderr.lines().filter(|line| line.starts_with("heist:")).count();
        assert_eq!(warnings, 1, "{stderr}");
        assert!(stderr.contains("blocking"), "the warning says what to do: {stderr}");
        assert!(stderr.contains(&format!("from {}:", file!())), "and which job: {stderr}");
        return;
    }
    let pool = Arc::new(pool(1));
    for _ in 0..2 {
        let (send, receive) = channel();
        pool.install(move || {
            heist::spawn(move || send.send(()).unwrap());
            receive.recv().unwrap();
        });
    }
}
