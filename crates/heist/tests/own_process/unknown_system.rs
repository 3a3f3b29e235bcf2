//! A system that does not answer: what cannot be known is not taken for "asleep", and what is refused is done without.
//!
//! Sandboxes and containers have no /proc, run out of descriptors, and filter system calls, some of them only after the program has
//! started.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use crate::rig::byte;
use crate::rig::child;
use crate::rig::compute::compute;
use crate::rig::filter;
use crate::rig::watchdog::watch;
use heist::{ThreadPool, ThreadPoolBuilder, current_thread_index, time};
use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::ffi::{CStr, c_char, c_int, c_ulong};
use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

#[repr(C)]
struct Limit {
    now: u64,
    most: u64,
}

const CLONE_NEWNS: c_int = 0x0002_0000;
const MS_REC_PRIVATE: c_ulong = (1 << 14) | (1 << 18);
const RLIMIT_NOFILE: c_int = 7;

unsafe extern "C" {
    fn unshare(flags: c_int) -> c_int;
    fn mount(
        source: *const c_char,
        target: *const c_char,
        kind: *const c_char,
        flags: c_ulong,
        data: *const c_char,
    ) -> c_int;
    fn setrlimit(what: c_int, limit: *const Limit) -> c_int;
}

/// This process sees an empty /proc from now on. False where that is not allowed.
fn hide_proc() -> bool {
    let mounted = |source: &CStr, target: &CStr, flags| {
        // SAFETY: all strings end with a zero, and there is no data.
        unsafe { mount(source.as_ptr(), target.as_ptr(), source.as_ptr(), flags, std::ptr::null()) == 0 }
    };
    // SAFETY: takes a number; done before there are other threads that could want the old file systems.
    let alone = unsafe { unshare(CLONE_NEWNS) } == 0;
    alone
        && mounted(c"none", c"/", MS_REC_PRIVATE)
        && mounted(c"tmpfs", c"/proc", 0)
        && !std::fs::exists("/proc/self").unwrap()
}

/// No more files can be opened.
fn use_up_descriptors() {
    let next = File::open("/dev/null").unwrap();
    let next = std::os::fd::AsRawFd::as_raw_fd(&next) as u64;
    let limit = Limit { now: next, most: next };
    // SAFETY: the kernel reads a limit.
    assert_eq!(unsafe { setrlimit(RLIMIT_NOFILE, &raw const limit) }, 0);
    assert!(File::open("/dev/null").is_err(), "descriptors are left");
}

/// Both workers compute for longer than any look that could call them asleep; what is queued behind them waits for its turn and
/// runs with an index, on no thread but theirs.
fn merely_busy(pool: &ThreadPool, threads: &AtomicUsize) {
    let (n, before) = (pool.current_num_threads(), threads.load(Ordering::Acquire));
    let (computing, ran) = (AtomicUsize::new(0), AtomicUsize::new(0));
    pool.in_place_scope(|s| {
        for _ in 0..n {
            s.spawn(|_| {
                computing.fetch_add(1, Ordering::AcqRel);
                let index = current_thread_index();
                compute(2_500_000);
                assert_eq!(current_thread_index(), index, "a job that computes has lost its index");
                computing.fetch_sub(1, Ordering::AcqRel);
            });
        }
        while computing.load(Ordering::Acquire) < n {
            std::thread::yield_now();
        }
        for _ in 0..20 {
            s.spawn(|_| {
                assert!(current_thread_index().is_some(), "a queued job has run without an index");
                assert!(computing.load(Ordering::Acquire) < n, "a job has run beside {n} that compute");
                ran.fetch_add(1, Ordering::AcqRel);
            });
        }
    });
    assert_eq!(ran.into_inner(), 20);
    assert_eq!(threads.load(Ordering::Acquire), before, "threads were started for a pool that was busy");
}

/// A pool of two that counts its threads; all of them have started.
fn counted() -> (ThreadPool, Arc<AtomicUsize>) {
    let threads = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&threads);
    let start = move |_| _ = counts.fetch_add(1, Ordering::AcqRel);
    let pool = ThreadPoolBuilder::new().num_threads(2).start_handler(start).build().unwrap();
    pool.broadcast(|_| ());
    (pool, threads)
}

#[test]
fn a_busy_pool_without_proc() {
    let _watch = watch!();
    if child::case().is_none() {
        print!("{}", child::ends_well(&mut child::child(module_path!(), "a_busy_pool_without_proc", "1")));
        return;
    }
    if !hide_proc() {
        eprintln!("skipped: /proc cannot be hidden here ({})", std::io::Error::last_os_error());
        return;
    }
    let (pool, threads) = counted();
    merely_busy(&pool, &threads);
}

#[test]
fn a_busy_pool_without_descriptors() {
    let _watch = watch!();
    if child::case().is_none() {
        child::ends_well(&mut child::child(module_path!(), "a_busy_pool_without_descriptors", "1"));
        return;
    }
    let (pool, threads) = counted();
    // The driver has its descriptors.
    pool.block_on(time::sleep(Duration::from_millis(1)));
    use_up_descriptors();
    merely_busy(&pool, &threads);
}

fn sum(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = heist::join(|| sum(n - 1), || sum(n - 2));
    a + b
}

/// Some of everything, with right results.
fn mix(pool: &ThreadPool) {
    assert_eq!(pool.install(|| sum(16)), 987);
    // An owner that does not answer: its half is taken by force.
    let stolen = AtomicBool::new(false);
    pool.install(|| {
        heist::join(
            || {
                while !stolen.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
            },
            || stolen.store(true, Ordering::Release),
        )
    });
    // Waits that lend, threads that sleep and are woken.
    for _ in 0..5 {
        pool.scope(|s| {
            for _ in 0..6 {
                s.spawn(|_| {
                    heist::join(|| (), || compute(300));
                    heist::blocking(|| std::thread::sleep(Duration::from_millis(1)));
                });
            }
        });
    }
    // Tasks, timers, sockets, and a task that blocks.
    let (mut near, far) = byte::ends();
    let ended = pool.block_on(async move {
        let reader = heist::task::spawn(byte::read(far));
        let blocker = heist::task::spawn(async { std::thread::sleep(Duration::from_millis(10)) });
        let sleepers: Vec<_> = (1..20)
            .map(|ms| heist::task::spawn(async move { time::sleep(Duration::from_millis(ms % 5)).await }))
            .collect();
        near.write_all(&[7]).unwrap();
        blocker.await.unwrap();
        let mut ended = 0;
        for sleeper in sleepers {
            sleeper.await.unwrap();
            ended += 1;
        }
        (ended, reader.await.unwrap())
    });
    assert_eq!(ended, (19, 7));
    // Timers and jobs at once.
    let jobs = pool.spawn_task(async { heist::join(|| sum(10), || sum(9)) });
    assert_eq!(pool.block_on(jobs).unwrap(), (55, 34));
    assert_eq!(pool.broadcast(|c| c.index()), [0, 1]);
}

const CALLS: [(&str, u32); 6] = [
    ("membarrier", 324),
    ("sched_setaffinity", 203),
    ("sched_getaffinity", 204),
    ("sched_setattr", 314),
    ("sched_getattr", 315),
    ("epoll_pwait2", 441),
];
/// The CPU clocks of other threads. The system's own clocks are still to be had, or the standard library could not go on.
const CLOCKS: &str = "clocks";
const ERRNOS: [(&str, u32); 3] = [("EPERM", 1), ("EACCES", 13), ("ENOSYS", 38)];

/// When the filter is set.
const WHENS: [&str; 2] = ["after", "before"];

/// Runs the mix in a process in which the calls whose names are in the case fail with the errno that is.
fn refused(name: &str, calls: &[&str]) {
    if let Some(case) = child::case() {
        let words: Vec<_> = case.split(' ').collect();
        let errno = ERRNOS.iter().find(|(name, _)| words.contains(name)).unwrap().1;
        let calls: Vec<_> =
            CALLS.iter().filter(|(name, _)| words.contains(name)).map(|call| call.1).collect();
        let refuse = || {
            filter::refuse(&calls, errno);
            if words.contains(&CLOCKS) {
                filter::refuse_foreign_clocks(errno);
            }
        };
        let is_before = words.contains(&"before");
        if is_before {
            refuse();
        }
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        mix(&pool);
        if !is_before {
            refuse();
            mix(&pool);
            // One that starts under the filter.
            mix(&ThreadPoolBuilder::new().num_threads(2).build().unwrap());
        }
        pool.shutdown().unwrap();
        return;
    }
    for errno in ERRNOS {
        for when in WHENS {
            let case = format!("{} {} {when}", calls.join(" "), errno.0);
            println!("{case}");
            child::ends_well(&mut child::child(module_path!(), name, &case));
        }
    }
}

#[test]
fn membarrier_is_refused() {
    let _watch = watch!();
    refused("membarrier_is_refused", &["membarrier"]);
}

#[test]
fn affinity_is_refused() {
    let _watch = watch!();
    refused("affinity_is_refused", &["sched_setaffinity"]);
    if child::case().is_none() {
        refused("affinity_is_refused", &["sched_getaffinity"]);
    }
}

#[test]
fn attributes_are_refused() {
    let _watch = watch!();
    refused("attributes_are_refused", &["sched_setattr"]);
    if child::case().is_none() {
        refused("attributes_are_refused", &["sched_getattr"]);
    }
}

#[test]
fn exact_waits_for_readiness_are_refused() {
    let _watch = watch!();
    refused("exact_waits_for_readiness_are_refused", &["epoll_pwait2"]);
}

#[test]
fn clocks_of_threads_are_refused() {
    let _watch = watch!();
    refused("clocks_of_threads_are_refused", &[CLOCKS]);
}

#[test]
fn everything_is_refused() {
    let _watch = watch!();
    let calls: Vec<_> = CALLS.iter().map(|call| call.0).chain([CLOCKS]).collect();
    refused("everything_is_refused", &calls);
}
