//! Promise 5: somebody always attends to timers and sockets, even while every worker computes for seconds and those who wait are threads
//! from outside.
//!
//! The bounds are far beyond what is due and far below what a neglected driver takes, which is as long as the computing lasts.
//! Public bugs of this kind: Go #38860 and #15706 (only idle Ps looked at timers).

#![cfg(target_os = "linux")]

use crate::rig::byte;
use crate::rig::count::Count;
use crate::rig::gate::Gate;
use crate::rig::pool::pool;
use crate::rig::watchdog::watch;
use heist::{ThreadPool, ThreadPoolBuilder, task, time};
use heist_sync::atomic::{AtomicBool, Ordering};
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

const WORKERS: usize = 2;

/// How long the workers compute, unless they are told to end.
const COMPUTES: Duration = Duration::from_secs(40);
const IN_TIME: Duration = Duration::from_secs(20);

/// All workers compute while it lives.
struct Computing {
    goes_on: Arc<AtomicBool>,
    ended: Count,
}

impl Computing {
    fn begin(pool: &ThreadPool) -> Self {
        let goes_on = Arc::new(AtomicBool::new(true));
        let (begun, ended) = (Count::new(WORKERS), Count::new(WORKERS));
        for _ in 0..WORKERS {
            let (goes_on, begun, ended) = (Arc::clone(&goes_on), begun.clone(), ended.clone());
            pool.spawn(move || {
                begun.knock();
                let until = Instant::now() + COMPUTES;
                while goes_on.load(Ordering::Relaxed) && Instant::now() < until {
                    std::hint::spin_loop();
                }
                ended.knock();
            });
        }
        begun.gate.block();
        Self { goes_on, ended }
    }
}

impl Drop for Computing {
    fn drop(&mut self) {
        self.goes_on.store(false, Ordering::Relaxed);
        self.ended.gate.block();
    }
}

/// Runs `f` and checks that it took about as long as it should.
fn in_time<R>(what: &str, f: impl FnOnce() -> R) -> R {
    let begin = Instant::now();
    let result = f();
    assert!(begin.elapsed() < IN_TIME, "{what} took {:?}", begin.elapsed());
    result
}

async fn sleep_exactly(ms: u64) {
    let begin = Instant::now();
    time::sleep(Duration::from_millis(ms)).await;
    assert!(begin.elapsed() >= Duration::from_millis(ms), "a sleep of {ms} ms has ended early");
}

/// A byte that comes when somebody has waited for it for a while.
fn late_byte() -> std::os::unix::net::UnixStream {
    let (mut near, far) = byte::ends();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        near.write_all(&[7]).unwrap();
    });
    far
}

#[test]
fn sleeps_of_a_thread_outside() {
    let _watch = watch!();
    let pool = pool(WORKERS);
    let _computing = Computing::begin(&pool);
    std::thread::scope(|threads| {
        for ms in [300, 600] {
            let pool = &pool;
            threads.spawn(move || in_time("a sleep", || pool.block_on(sleep_exactly(ms))));
        }
    });
}

/// One after the other: the second is set while nobody but the computing threads is there to see it.
#[test]
fn one_sleep_after_another() {
    let _watch = watch!();
    let pool = pool(WORKERS);
    let _computing = Computing::begin(&pool);
    in_time("two sleeps", || pool.block_on(async { (sleep_exactly(300).await, sleep_exactly(300).await) }));
}

#[test]
fn a_byte_for_a_thread_outside() {
    let _watch = watch!();
    let pool = pool(WORKERS);
    let _computing = Computing::begin(&pool);
    assert_eq!(in_time("a byte", || pool.block_on(byte::read(late_byte()))), 7);
}

/// Registered before the computing begins.
#[test]
fn a_byte_that_was_waited_for_before() {
    let _watch = watch!();
    let pool = pool(WORKERS);
    let (mut near, far) = byte::ends();
    let reader = pool.spawn_task(byte::read(far));
    let _computing = Computing::begin(&pool);
    in_time("a byte", || {
        near.write_all(&[7]).unwrap();
        assert_eq!(pool.block_on(reader).unwrap(), 7);
    });
}

#[test]
fn a_pinned_task() {
    let _watch = watch!();
    let pool = pool(WORKERS);
    let _computing = Computing::begin(&pool);
    let got = in_time("a pinned task", || {
        pool.block_on(async {
            let pinned = task::spawn_pinned(|| async {
                sleep_exactly(300).await;
                byte::read(late_byte()).await
            });
            pinned.unwrap().await.unwrap()
        })
    });
    assert_eq!(got, 7);
}

#[test]
fn tasks_of_the_pool() {
    let _watch = watch!();
    let pool = pool(WORKERS);
    let _computing = Computing::begin(&pool);
    let task = pool.spawn_task(async {
        sleep_exactly(300).await;
        byte::read(late_byte()).await
    });
    assert_eq!(in_time("a task", || pool.block_on(task)).unwrap(), 7);
}

/// Whoever sits in the driver is there again each time, and gives it up in between.
#[test]
fn ten_times_in_a_row() {
    let _watch = watch!();
    let pool = pool(WORKERS);
    for round in 0..10 {
        let computing = Computing::begin(&pool);
        in_time(&format!("round {round}, while they compute"), || {
            pool.block_on(sleep_exactly(10));
            let (mut near, far) = byte::ends();
            near.write_all(&[7]).unwrap();
            assert_eq!(pool.block_on(byte::read(far)), 7);
            pool.block_on(pool.spawn_task(sleep_exactly(20))).unwrap();
        });
        drop(computing);
        in_time(&format!("round {round}, while nobody computes"), || {
            pool.block_on(sleep_exactly(5));
            pool.block_on(pool.spawn_task(sleep_exactly(5))).unwrap();
        });
    }
}

/// Where no spare thread can be had, a thread that waits sits in the driver. It goes on, and computes: another thread, which went to sleep
/// meanwhile because somebody sat there, is needed now.
#[test]
fn a_waiter_that_sat_in_the_driver_leaves_it_to_somebody() {
    let _watch = watch!();
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(2).max_threads(2).build().unwrap());
    for round in 0..3 {
        let (has_begun, ends, goes_on) = (Gate::new(), Gate::new(), Gate::new());
        let has_rung = Arc::new(AtomicBool::new(false));
        let (begun, end) = (has_begun.clone(), ends.clone());
        pool.spawn(move || {
            begun.open();
            end.block();
        });
        has_begun.block();
        let (theirs, go_on, rung) = (Arc::clone(&pool), goes_on.clone(), Arc::clone(&has_rung));
        let (was_in_time, done) = channel();
        pool.spawn(move || {
            drop(task::spawn_in(&*theirs, async move {
                sleep_exactly(400).await;
                rung.store(true, Ordering::Relaxed);
            }));
            heist::block_on(go_on);
            let until = Instant::now() + IN_TIME;
            while !has_rung.load(Ordering::Relaxed) && Instant::now() < until {
                std::hint::spin_loop();
            }
            was_in_time.send(has_rung.load(Ordering::Relaxed)).unwrap();
        });
        // Nobody can see who sits in the driver. This is long enough for the one to sit there, and for the other to sleep after it.
        std::thread::sleep(Duration::from_millis(50));
        ends.open();
        std::thread::sleep(Duration::from_millis(50));
        goes_on.open();
        assert!(done.recv().unwrap(), "round {round}");
    }
}
