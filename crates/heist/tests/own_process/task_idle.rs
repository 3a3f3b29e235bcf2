//! Promise 6 for tasks: thousands of tasks that wait, open sockets and timers an hour away cost nothing. No thread wakes up, the
//! monitor included.
//!
//! A binary of its own with a single test, because it counts the context switches of the whole process. The public bug of this
//! kind is every runtime with a tick of its own.

#![cfg(target_os = "linux")]

use crate::rig::child;
use crate::rig::count::Count;
use crate::rig::gate::Gate;
use crate::rig::usage::{settled, usage};
use crate::rig::watchdog::watch;
use heist::net::UnixStream;
use heist::{ThreadPool, ThreadPoolBuilder, block_on, time};
use heist_sync::atomic::{AtomicUsize, Ordering};
use std::io::{ErrorKind, Write};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

const CHILD: &str = "HEIST_TEST_CHILD";
const MANY: usize = 10_000;
/// Descriptors for everything else: the reactor, the harness, `/proc`.
const OTHER_FILES: usize = 64;

/// Runs this test in a process that may open as many files as the system lets it. The shell can do that, and std cannot.
fn with_many_files() {
    let status = Command::new("sh")
        .args(["-c", r#"ulimit -S -n "$(ulimit -H -n)" && exec "$@""#, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &child::test_name(module_path!(), "waiting_costs_nothing")])
        .args(["--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
}

/// How many sockets this process can have, up to `MANY`.
fn most_sockets() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let soft = line.split_whitespace().next().unwrap();
    soft.parse::<usize>().map_or(MANY, |soft| soft.saturating_sub(OTHER_FILES).min(MANY))
}

/// A pool that counts its threads.
struct Counted {
    pool: ThreadPool,
    workers: usize,
    threads: Arc<AtomicUsize>,
}

impl Counted {
    fn new(workers: usize) -> Self {
        let threads = Arc::new(AtomicUsize::new(0));
        let (more, fewer) = (Arc::clone(&threads), Arc::clone(&threads));
        let pool = ThreadPoolBuilder::new()
            .num_threads(workers)
            .start_handler(move |_| _ = more.fetch_add(1, Ordering::Relaxed))
            .exit_handler(move |_| _ = fewer.fetch_sub(1, Ordering::Relaxed))
            .build()
            .unwrap();
        Self { pool, workers, threads }
    }
}

/// Those who wait, and those who have gone on.
#[derive(Clone)]
struct Waiters {
    waiting: Count,
    over: Count,
}

impl Waiters {
    fn new(n: usize) -> Self {
        Self { waiting: Count::new(n), over: Count::new(n) }
    }
}

async fn read_one(stream: std::os::unix::net::UnixStream, waiters: Waiters) {
    let stream = UnixStream::from_std(stream).unwrap();
    let mut byte = [0];
    let mut is_first = true;
    loop {
        match stream.try_read(&mut byte) {
            Ok(_) => break,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => panic!("{error}"),
        }
        if std::mem::take(&mut is_first) {
            waiters.waiting.knock();
        }
        stream.readable().await.unwrap();
    }
    waiters.over.knock();
}

#[test]
fn waiting_costs_nothing() {
    if std::env::var_os(CHILD).is_none() {
        return with_many_files();
    }
    let _watch = watch!();
    let pools = [Counted::new(1), Counted::new(2), Counted::new(4)];
    let share = MANY / pools.len();
    let pairs = most_sockets() / pools.len() / 2;
    assert!(pairs > 0, "no room for sockets");
    let (tasks, timers) = (Waiters::new(share * pools.len()), Count::new(share * pools.len()));
    let (sockets, gate) = (Waiters::new(pairs * pools.len()), Gate::new());
    let mut handles = Vec::new();
    for Counted { pool, .. } in &pools {
        for _ in 0..share {
            let (gate, tasks) = (gate.clone(), tasks.clone());
            drop(pool.spawn_task(async move {
                tasks.waiting.knock();
                gate.await;
                tasks.over.knock();
            }));
            let timers = timers.clone();
            handles.push(pool.spawn_task(async move {
                timers.knock();
                time::sleep(Duration::from_secs(3600)).await;
            }));
        }
    }
    let mut near_ends = Vec::new();
    for Counted { pool, .. } in &pools {
        for _ in 0..pairs {
            let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
            near_ends.push(near);
            far.set_nonblocking(true).unwrap();
            drop(pool.spawn_task(read_one(far, sockets.clone())));
        }
    }
    println!("as many tasks as timers: {}, pairs of sockets: {}", handles.len(), near_ends.len());
    tasks.waiting.gate.block();
    timers.gate.block();
    sockets.waiting.gate.block();
    // Threads that came for the rush go in their own time, which is activity, too.
    for pool in &pools {
        while pool.threads.load(Ordering::Relaxed) > pool.workers {
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    let before = settled();
    assert!(before.len() >= 1 + 2 + 4, "the pools' threads are counted");
    // A window, not a wait: nothing may happen in it.
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(before, usage(), "threads ran while there was nothing to do");

    // Asleep, not dead: every one of them is woken.
    gate.open();
    tasks.over.gate.block();
    for near in &mut near_ends {
        near.write_all(&[1]).unwrap();
    }
    sockets.over.gate.block();
    for handle in &handles {
        handle.abort();
    }
    for handle in handles {
        assert!(block_on(handle).unwrap_err().is_cancelled());
    }
}
