//! Promise 7, threads: a thread that cannot be started makes the pool smaller, with a warning, and nothing fails.
//!
//! The limit is on address space, with stacks of a quarter of it: that fails at the same thread every time, for root too, and
//! needs no tool beyond the shell. Public bugs of this kind: tokio #8406 and #2309, Bun #37738 (a thread could not be started, but
//! was counted on to serve).

#![cfg(target_os = "linux")]

use crate::rig::child;
use crate::rig::watchdog::watch;
use heist::ThreadPoolBuilder;
use heist_sync::atomic::{AtomicUsize, Ordering};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::mpsc::channel;

const CHILD: &str = "HEIST_TEST_CHILD";
const STACK: usize = 4 << 30;

/// Runs the test `name` alone, in a process that may have `stacks` stacks and a half.
fn with_room_for(stacks: usize, name: &str) -> Output {
    let kib = (STACK / 1024) * stacks + STACK / 2048;
    let exe = std::env::current_exe().unwrap();
    Command::new("sh")
        .args(["-c", r#"ulimit -v "$1" && shift && exec "$@""#, "sh", &kib.to_string()])
        .arg(exe)
        .args(["--exact", &child::test_name(module_path!(), name), "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .output()
        .unwrap()
}

fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

fn check(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success(),
        "{}\n{}\n{stderr}",
        output.status,
        String::from_utf8_lossy(&output.stdout)
    );
    stderr
}

fn sum(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = heist::join(|| sum(n - 1), || sum(n - 2));
    a + b
}

#[test]
fn a_pool_goes_on_with_the_threads_it_gets() {
    let _watch = watch!();
    if !is_child() {
        let stderr = check(&with_room_for(3, "a_pool_goes_on_with_the_threads_it_gets"));
        assert!(stderr.contains("only 3 of 8 threads"), "{stderr}");
        return;
    }
    let pool = ThreadPoolBuilder::new().num_threads(8).stack_size(STACK).build().unwrap();
    assert_eq!(pool.current_num_threads(), 3);
    assert_eq!(pool.install(|| sum(20)), 6765);
    assert_eq!(pool.broadcast(|c| (c.index(), c.num_threads())), [(0, 3), (1, 3), (2, 3)]);
    let count = AtomicUsize::new(0);
    pool.scope(|s| {
        for _ in 0..100 {
            s.spawn(|_| {
                count.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(count.into_inner(), 100);
    pool.shutdown().unwrap();
}

#[test]
fn no_thread_at_all_is_an_error() {
    let _watch = watch!();
    if !is_child() {
        check(&with_room_for(0, "no_thread_at_all_is_an_error"));
        return;
    }
    let error = ThreadPoolBuilder::new().num_threads(2).stack_size(STACK).build().unwrap_err();
    assert!(error.to_string().contains("not one thread"), "{error}");
    assert!(std::error::Error::source(&error).is_some());
    // With less to ask for it works.
    let pool = ThreadPoolBuilder::new().num_threads(2).stack_size(1 << 20).build().unwrap();
    assert_eq!(pool.install(|| sum(15)), 610);
}

/// The pool has its workers, but no spare can be started: waits go on with the threads there are.
#[test]
fn waits_end_without_spares() {
    let _watch = watch!();
    if !is_child() {
        for stacks in [1, 2, 3] {
            let stderr = check(&with_room_for(stacks, "waits_end_without_spares"));
            if stacks < 3 {
                assert!(stderr.contains("a spare thread could not be started"), "{stacks}: {stderr}");
            }
        }
        return;
    }
    let pool = ThreadPoolBuilder::new().num_threads(2).stack_size(STACK).build().unwrap();
    let n = pool.current_num_threads();
    // Halves long enough for their waiters to lend.
    let leaf = || {
        let until = std::time::Instant::now() + std::time::Duration::from_micros(400);
        while std::time::Instant::now() < until {
            std::hint::spin_loop();
        }
    };
    pool.scope(|s| {
        for _ in 0..40 {
            s.spawn(|_| {
                heist::join(|| heist::join(leaf, leaf), leaf);
            });
        }
    });
    // All workers block, and what they wait for is queued behind them.
    let other = ThreadPoolBuilder::new().num_threads(1).stack_size(1 << 20).build().unwrap();
    for _ in 0..20 {
        pool.scope(|s| {
            for _ in 0..2 * n {
                s.spawn(|_| assert_eq!(other.install(|| pool.install(|| sum(5))), 5));
            }
        });
    }
    // A message from outside needs no worker.
    let (send, receive) = channel();
    let receive = Mutex::new(receive);
    pool.in_place_scope(|s| {
        for _ in 0..n {
            s.spawn(|_| heist::blocking(|| receive.lock().unwrap().recv().unwrap()));
        }
        (0..n).for_each(|_| send.send(()).unwrap());
    });
    assert_eq!(pool.broadcast(|c| c.index()), (0..n).collect::<Vec<_>>());
    pool.shutdown().unwrap();
}

/// A detached job is not lost if the thread that should have run it could not be started.
#[test]
fn accepted_work_runs_without_spares() {
    let _watch = watch!();
    if !is_child() {
        check(&with_room_for(1, "accepted_work_runs_without_spares"));
        return;
    }
    let pool = ThreadPoolBuilder::new().num_threads(1).stack_size(STACK).build().unwrap();
    let (send, receive) = channel();
    pool.install(|| {
        for i in 0..100 {
            let send = send.clone();
            heist::spawn(move || send.send(i).unwrap());
            // Lends the index, with a job in the queue and nobody to run it.
            heist::blocking(std::thread::yield_now);
        }
    });
    drop(send);
    pool.shutdown().unwrap();
    let mut got: Vec<i32> = receive.into_iter().collect();
    got.sort_unstable();
    assert_eq!(got, (0..100).collect::<Vec<_>>());
}
