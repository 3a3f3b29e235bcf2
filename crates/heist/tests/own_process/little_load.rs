//! Promise 6: little costs little. A program that wakes twenty times a second wakes twenty times a second, and a wait without spares
//! sleeps.
//!
//! Counts of what the kernel has seen, not times; each case is a process of its own, so that they are its own.

#![cfg(all(target_os = "linux", target_pointer_width = "64"))]

use crate::rig::child;
use crate::rig::usage::settled;
use crate::rig::watchdog::watch;
use heist::{ThreadPool, ThreadPoolBuilder, time};
use std::time::Duration;

/// The kernel's `struct rusage`: two times of two words each, then fourteen counts.
type Usage = [i64; 18];
const NVCSW: usize = 16;

unsafe extern "C" {
    fn getrusage(who: i32, usage: *mut Usage) -> i32;
}

/// Of all threads of this process, those that have ended as well.
struct Cost {
    sleeps: i64,
    cpu: Duration,
}

fn used() -> Cost {
    let mut usage = [0; 18];
    // SAFETY: the kernel writes eighteen words.
    assert_eq!(unsafe { getrusage(0, &raw mut usage) }, 0);
    let micros = |at: usize| (usage[at] * 1_000_000 + usage[at + 1]) as u64;
    Cost { sleeps: usage[NVCSW], cpu: Duration::from_micros(micros(0) + micros(2)) }
}

fn cost(f: impl FnOnce()) -> Cost {
    let before = used();
    f();
    let after = used();
    Cost { sleeps: after.sleeps - before.sleeps, cpu: after.cpu - before.cpu }
}

fn in_a_child(name: &str, body: impl FnOnce()) {
    match child::case() {
        Some(_) => body(),
        None => drop(child::ends_well(&mut child::child(module_path!(), name, "1"))),
    }
}

/// What a pool does once at its start is over, and its monitor asleep if it has one.
fn warm(pool: &ThreadPool) {
    pool.block_on(pool.spawn_task(time::sleep(Duration::from_millis(1)))).unwrap();
    settled();
}

/// Each wake costs the sleep of one worker and of the thread that waits for it, and a few more; not one of everybody else every
/// fraction of a millisecond.
#[test]
fn a_task_that_wakes_twenty_times_a_second() {
    let _watch = watch!();
    in_a_child("a_task_that_wakes_twenty_times_a_second", || {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        warm(&pool);
        let cost = cost(|| {
            pool.block_on(pool.spawn_task(async {
                for _ in 0..20 {
                    time::sleep(Duration::from_millis(50)).await;
                }
            }))
            .unwrap();
        });
        assert!(cost.sleeps < 300, "20 wakes have made threads sleep {} times", cost.sleeps);
        assert!(cost.cpu < Duration::from_millis(100), "20 wakes have cost {:?}", cost.cpu);
    });
}

/// The same with jobs.
#[test]
fn a_job_twenty_times_a_second() {
    let _watch = watch!();
    in_a_child("a_job_twenty_times_a_second", || {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        warm(&pool);
        let cost = cost(|| {
            for _ in 0..20 {
                pool.install(|| heist::join(|| 1, || 2));
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        assert!(cost.sleeps < 300, "20 jobs have made threads sleep {} times", cost.sleeps);
        assert!(cost.cpu < Duration::from_millis(100), "20 jobs have cost {:?}", cost.cpu);
    });
}

/// One timer, a second away.
#[test]
fn nothing_but_a_far_timer() {
    let _watch = watch!();
    in_a_child("nothing_but_a_far_timer", || {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        warm(&pool);
        let cost = cost(|| pool.block_on(time::sleep(Duration::from_secs(1))));
        // A monitor that looked all the time would do so every 2 ms. On a busy machine it does until somebody sits in the driver.
        assert!(cost.sleeps < 200, "one timer has made threads sleep {} times", cost.sleeps);
        assert!(cost.cpu < Duration::from_millis(50), "one timer has cost {:?}", cost.cpu);
    });
}

/// The only thread of a pool waits in a task, and nobody may be started to attend to its timer: it does so itself, asleep.
fn waits_alone(pool: &ThreadPool) {
    warm(pool);
    let cost = cost(|| {
        let task = pool.spawn_task(async { heist::block_on(time::sleep(Duration::from_secs(1))) });
        pool.block_on(task).unwrap();
    });
    assert!(cost.cpu < Duration::from_millis(100), "a wait of a second has cost {:?}", cost.cpu);
    assert!(cost.sleeps < 300, "a wait of a second has made threads sleep {} times", cost.sleeps);
}

#[test]
fn a_wait_without_spares() {
    let _watch = watch!();
    in_a_child("a_wait_without_spares", || {
        waits_alone(&ThreadPoolBuilder::new().num_threads(1).max_threads(1).build().unwrap());
    });
}

#[test]
fn a_wait_of_a_thread_of_the_program() {
    let _watch = watch!();
    in_a_child("a_wait_of_a_thread_of_the_program", || {
        let start = |thread: heist::ThreadBuilder| {
            std::thread::Builder::new().spawn(move || thread.run())?;
            Ok(())
        };
        waits_alone(&ThreadPoolBuilder::new().num_threads(1).spawn_handler(start).build().unwrap());
    });
}

/// A wait that has lent its permit, in a job.
#[test]
fn a_wait_with_spares() {
    let _watch = watch!();
    in_a_child("a_wait_with_spares", || {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        warm(&pool);
        let cost = cost(|| pool.install(|| heist::block_on(time::sleep(Duration::from_secs(1)))));
        assert!(cost.cpu < Duration::from_millis(100), "a wait of a second has cost {:?}", cost.cpu);
        assert!(cost.sleeps < 300, "a wait of a second has made threads sleep {} times", cost.sleeps);
    });
}
