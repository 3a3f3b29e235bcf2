//! What of ours can fail does not fail the program: a warning that cannot be printed is not printed, and code of the program's (names,
//! handlers, their drops) runs on threads with a stack like any other.
//!
//! Each case is a process of its own, in which no panic may happen but the program's.

#![cfg(target_os = "linux")]

use crate::rig::child;
use crate::rig::compute::compute;
use crate::rig::count::Count;
use crate::rig::gate::Gate;
use crate::rig::threads;
use crate::rig::watchdog::watch;
use heist::{ThreadPool, ThreadPoolBuilder};
use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::fs::File;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

unsafe extern "C" {
    fn close(fd: i32) -> i32;
}

static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Standard error is full, or there is none.
const STDERRS: [&str; 2] = ["full", "closed"];

/// Runs `body` in processes whose standard error takes nothing.
fn without_stderr(name: &str, environment: &[(&str, &str)], body: impl FnOnce()) {
    let Some(case) = child::case() else {
        for case in STDERRS {
            let mut command = child::child(module_path!(), name, case);
            command.envs(environment.iter().copied());
            if case == "full" {
                command.stderr(File::options().write(true).open("/dev/full").unwrap());
            }
            child::ends_well(&mut command);
        }
        return;
    };
    if case == "closed" {
        // Only here: the standard library opens what is closed at the start. SAFETY: nobody owns this descriptor.
        assert_eq!(unsafe { close(2) }, 0);
    }
    std::panic::set_hook(Box::new(|info| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        println!("{info}");
    }));
    body();
    assert_eq!(PANICS.load(Ordering::Relaxed), 0, "somebody has panicked");
}

/// Blocks until a task has run beside as many blocked ones as there are workers: the monitor is alive, and threads can be had.
fn a_task_runs_beside_blocked_ones(pool: &ThreadPool) {
    let n = pool.current_num_threads();
    let (blocked, ended, ran) = (Count::new(n), Count::new(n), Gate::new());
    for _ in 0..n {
        let (blocked, ended, ran) = (blocked.clone(), ended.clone(), ran.clone());
        drop(pool.spawn_task(async move {
            blocked.knock();
            ran.block();
            ended.knock();
        }));
    }
    blocked.gate.block();
    drop(pool.spawn_task(async move { ran.open() }));
    ended.gate.block();
}

/// A wait that goes to sleep: its other half is stolen for certain, and long.
fn waits_long(pool: &ThreadPool) {
    let stolen = AtomicBool::new(false);
    let halves = pool.install(|| {
        heist::join(
            || {
                while !stolen.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
                1
            },
            || {
                stolen.store(true, Ordering::Release);
                // Something to help with, which is when the warning comes.
                (0..10).for_each(|_| heist::spawn(|| compute(20)));
                compute(600);
                2
            },
        )
    });
    assert_eq!(halves, (1, 2));
}

fn sum(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = heist::join(|| sum(n - 1), || sum(n - 2));
    a + b
}

#[test]
fn a_pool_without_spares_warns_in_vain() {
    let _watch = watch!();
    without_stderr("a_pool_without_spares_warns_in_vain", &[], || {
        for _ in 0..5 {
            let start = |thread: heist::ThreadBuilder| {
                std::thread::Builder::new().spawn(move || thread.run())?;
                Ok(())
            };
            let own = ThreadPoolBuilder::new().num_threads(2).spawn_handler(start).build().unwrap();
            let limited = ThreadPoolBuilder::new().num_threads(2).max_threads(2).build().unwrap();
            for pool in [own, limited] {
                (0..5).for_each(|_| waits_long(&pool));
                assert_eq!(pool.install(|| sum(15)), 610);
                assert_eq!(pool.broadcast(|c| c.index()), [0, 1]);
                pool.shutdown().unwrap();
            }
        }
    });
}

#[test]
fn a_pool_that_gets_no_thread_warns_in_vain() {
    let _watch = watch!();
    without_stderr("a_pool_that_gets_no_thread_warns_in_vain", &[], || {
        threads::become_nobody();
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let (blocked, gate) = (Count::new(2), Gate::new());
        let refused = threads::refuse();
        pool.in_place_scope(|s| {
            for _ in 0..2 {
                s.spawn(|_| {
                    assert_eq!(sum(5), 5);
                    heist::blocking(|| {
                        blocked.knock();
                        gate.block();
                    });
                    assert_eq!(sum(10), 55);
                });
            }
            blocked.gate.block();
            // Nobody can be had for these now.
            (0..10).for_each(|_| s.spawn(|_| assert_eq!(sum(10), 55)));
            gate.open();
        });
        waits_long(&pool);
        assert!(ThreadPoolBuilder::new().num_threads(2).build().is_err(), "threads are refused");
        refused.allow();
        assert_eq!(pool.install(|| sum(15)), 610);
        a_task_runs_beside_blocked_ones(&pool);
        pool.shutdown().unwrap();
    });
}

/// Every worker sleeps in a job while jobs are queued, for long enough that somebody says so.
#[test]
fn a_stall_is_reported_in_vain() {
    let _watch = watch!();
    without_stderr("a_stall_is_reported_in_vain", &[], || {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let (gate, begun, ran) = (Gate::new(), Gate::new(), Count::new(5));
        let (blocks, begins) = (gate.clone(), begun.clone());
        pool.spawn(move || {
            begins.open();
            blocks.block();
        });
        begun.block();
        for _ in 0..5 {
            let ran = ran.clone();
            pool.spawn(move || ran.knock());
        }
        // Not a wait for a condition: the time after which a stall is told.
        std::thread::sleep(Duration::from_millis(1700));
        gate.open();
        ran.gate.block();
        a_task_runs_beside_blocked_ones(&pool);
        pool.shutdown().unwrap();
    });
}

/// All tasks sleep and `block_on` waits, for long enough that somebody says so.
#[test]
fn sleeping_tasks_are_reported_in_vain() {
    let _watch = watch!();
    without_stderr("sleeping_tasks_are_reported_in_vain", &[("HEIST_STALL", "0.5")], || {
        let gate = Gate::new();
        let opens = gate.clone();
        let opener = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(2400));
            opens.open();
        });
        heist::block_on(async {
            heist::task::spawn(gate.clone()).await.unwrap();
        });
        opener.join().unwrap();
    });
}

/// A variable that means nothing is told of, once, wherever that is found out.
#[test]
fn a_wrong_setting_is_told_in_vain() {
    let _watch = watch!();
    without_stderr("a_wrong_setting_is_told_in_vain", &[("HEIST_STALL", "perhaps")], || {
        assert_eq!(heist::block_on(async { heist::task::spawn(async { 7 }).await.unwrap() }), 7);
        assert_eq!(heist::join(|| 1, || 2), (1, 2));
    });
}

/// Uses so much stack.
fn deep(kib: usize) -> usize {
    let here = std::hint::black_box([1_u8; 1024]);
    if kib == 0 { 0 } else { deep(kib - 1) + usize::from(here[kib % 1024]) }
}

/// What a thread with a stack for programs has in any case.
const KIB: usize = 200;

/// A stack that overflows ends the process, so it is another one.
fn in_a_child(name: &str, body: impl FnOnce()) {
    match child::case() {
        Some(_) => body(),
        None => drop(child::ends_well(&mut child::child(module_path!(), name, "1"))),
    }
}

#[test]
fn names_and_handlers_have_room() {
    let _watch = watch!();
    in_a_child("names_and_handlers_have_room", || {
        let named = Arc::new(AtomicUsize::new(0));
        let names = Arc::clone(&named);
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .thread_name(move |i| {
                names.fetch_add(1, Ordering::Relaxed);
                format!("{i}-{}", deep(KIB))
            })
            .start_handler(|_| assert_eq!(deep(KIB), KIB))
            .exit_handler(|_| assert_eq!(deep(KIB), KIB))
            .build()
            .unwrap();
        for _ in 0..3 {
            a_task_runs_beside_blocked_ones(&pool);
        }
        assert!(named.load(Ordering::Relaxed) > 2, "spare threads have names");
        pool.shutdown().unwrap();
    });
}

/// A name that cannot be had for spare threads: they have another one, or there is none of them, but the process goes on and so
/// do its other pools.
#[test]
fn a_name_panics() {
    let _watch = watch!();
    in_a_child("a_name_panics", || {
        std::panic::set_hook(Box::new(|_| ()));
        let calls = AtomicUsize::new(0);
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .thread_name(move |i| {
                assert!(calls.fetch_add(1, Ordering::Relaxed) < 2, "no more names");
                i.to_string()
            })
            .build()
            .unwrap();
        // Unannounced in tasks, then announced in jobs.
        let (blocked, ended, gate) = (Count::new(2), Count::new(6), Gate::new());
        for _ in 0..2 {
            let (blocked, ended, gate) = (blocked.clone(), ended.clone(), gate.clone());
            drop(pool.spawn_task(async move {
                blocked.knock();
                gate.block();
                ended.knock();
            }));
        }
        blocked.gate.block();
        for _ in 0..4 {
            let ended = ended.clone();
            drop(pool.spawn_task(async move { ended.knock() }));
        }
        std::thread::sleep(Duration::from_millis(50));
        gate.open();
        ended.gate.block();
        pool.scope(|s| {
            for _ in 0..6 {
                s.spawn(|_| {
                    heist::blocking(|| std::thread::sleep(Duration::from_millis(2)));
                    assert_eq!(sum(10), 55);
                });
            }
        });
        assert_eq!(pool.broadcast(|c| c.index()), [0, 1]);
        // The monitor is everybody's.
        a_task_runs_beside_blocked_ones(&ThreadPoolBuilder::new().num_threads(2).build().unwrap());
        pool.shutdown().unwrap();
    });
}

/// Handlers of panics are called for jobs that spare threads run, and for what is left when the pool ends.
#[test]
fn a_panic_handler_has_room() {
    let _watch = watch!();
    in_a_child("a_panic_handler_has_room", || {
        std::panic::set_hook(Box::new(|_| ()));
        let all = Count::new(40);
        let told = all.clone();
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .panic_handler(move |_| {
                assert_eq!(deep(KIB), KIB);
                told.knock();
            })
            .build()
            .unwrap();
        for i in 0..40 {
            pool.spawn(move || {
                if i % 2 == 0 {
                    heist::blocking(|| std::thread::sleep(Duration::from_millis(1)));
                }
                panic!("a job's own");
            });
        }
        a_task_runs_beside_blocked_ones(&pool);
        all.gate.block();
    });
}

/// Needs room, and says where it was dropped.
struct Captured(Count);

impl Drop for Captured {
    fn drop(&mut self) {
        assert_eq!(deep(KIB), KIB);
        let thread = std::thread::current();
        if thread.name().is_some_and(|name| name.contains("monitor")) {
            println!("dropped by {thread:?}");
            std::process::abort();
        }
        self.0.knock();
    }
}

/// Whoever lets go of a pool last drops what its handlers have captured. It is not the monitor, which looks at pools that end.
#[test]
fn what_handlers_have_captured_is_dropped_with_room() {
    let _watch = watch!();
    in_a_child("what_handlers_have_captured_is_dropped_with_room", || {
        const POOLS: usize = 150;
        let dropped = Count::new(POOLS);
        for _ in 0..POOLS {
            let captured = Captured(dropped.clone());
            let pool = ThreadPoolBuilder::new()
                .num_threads(1)
                .panic_handler(move |_| _ = std::hint::black_box(&captured))
                .build()
                .unwrap();
            // Looked at by the monitor while it ends.
            drop(pool.spawn_task(async { std::thread::sleep(Duration::from_micros(500)) }));
            pool.spawn(|| ());
        }
        dropped.gate.block();
    });
}

/// The name is asked for wherever a spare thread is wanted; what the closure spawns and forks is like any other work.
#[test]
fn a_name_uses_the_pool() {
    let _watch = watch!();
    in_a_child("a_name_uses_the_pool", || {
        static POOL: OnceLock<Weak<ThreadPool>> = OnceLock::new();
        static SPAWNED: AtomicUsize = AtomicUsize::new(0);
        static RAN: AtomicUsize = AtomicUsize::new(0);
        let pool = Arc::new(
            ThreadPoolBuilder::new()
                .num_threads(2)
                .thread_name(|i| {
                    if let Some(pool) = POOL.get().and_then(Weak::upgrade) {
                        SPAWNED.fetch_add(1, Ordering::AcqRel);
                        pool.spawn(|| _ = RAN.fetch_add(1, Ordering::AcqRel));
                        assert!(pool.current_num_threads() == 2);
                    }
                    format!("{i}-{}", heist::join(|| 1, || 2).1)
                })
                .build()
                .unwrap(),
        );
        POOL.set(Arc::downgrade(&pool)).unwrap();
        for _ in 0..3 {
            a_task_runs_beside_blocked_ones(&pool);
            pool.scope(|s| {
                for _ in 0..10 {
                    s.spawn(|_| heist::blocking(|| std::thread::sleep(Duration::from_millis(1))));
                }
            });
        }
        while RAN.load(Ordering::Acquire) < SPAWNED.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        assert!(SPAWNED.load(Ordering::Acquire) > 0, "spare threads have names");
    });
}
