//! How pools begin, meet and end.
//!
//! Promises: two pools that install into each other never hang; dropping a pool never blocks and loses nothing; errors name
//! the value. Public bugs of this kind: rayon #929 and #952 (a wait across pools touches the other pool's memory too late), tokio
//! #8056 (a fresh pool that never wakes its first worker), Folia #338 (threads not woken on shutdown), async-executor #163 (a wake
//! during the drop of the pool).

use crate::rig::child;
use crate::rig::pool::pool;
use crate::rig::scale::scaled;
use crate::rig::watchdog::watch;
use heist::{ShutdownError, ThreadPool, ThreadPoolBuilder};
use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::process::Command;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

fn sum(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = heist::join(|| sum(n - 1), || sum(n - 2));
    a + b
}

// ---- two pools ----

fn there_and_back(here: &ThreadPool, there: &ThreadPool, depth: usize) -> usize {
    match depth {
        0 => 1,
        _ => 1 + there.install(|| there_and_back(there, here, depth - 1)),
    }
}

/// A wait across pools gives its place away: the only worker of each is free for the way back.
#[test]
fn pools_of_one_install_into_each_other() {
    let _watch = watch!();
    let (a, b) = (pool(1), pool(1));
    // The last is deeper than the number of spare threads that a pool has by default.
    for depth in (0..20).chain([600]) {
        assert_eq!(a.install(|| there_and_back(&a, &b, depth)), depth + 1);
    }
}

#[test]
fn opposite_installs_at_once() {
    let _watch = watch!();
    for n in [1, 2] {
        let (a, b) = (pool(n), pool(n));
        let rounds = scaled(20_000);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                for i in 0..rounds {
                    assert_eq!(a.install(|| b.install(|| a.install(|| i))), i);
                }
            });
            threads.spawn(|| {
                for i in 0..rounds {
                    assert_eq!(b.install(|| a.install(|| b.install(|| i))), i);
                }
            });
        });
    }
}

/// Also where no spare threads may exist: a wait across pools gets one beyond `max_threads`.
#[test]
fn opposite_installs_with_no_threads_to_spare() {
    let _watch = watch!();
    let build = || ThreadPoolBuilder::new().num_threads(1).max_threads(1).build().unwrap();
    let (a, b) = (build(), build());
    for depth in 0..8 {
        assert_eq!(a.install(|| there_and_back(&a, &b, depth)), depth + 1);
    }
    std::thread::scope(|threads| {
        threads.spawn(|| (0..200).for_each(|_| a.install(|| b.install(|| a.install(|| ())))));
        threads.spawn(|| (0..200).for_each(|_| b.install(|| a.install(|| b.install(|| ())))));
    });
}

/// Scopes and broadcasts of one pool, opened by a worker of another.
#[test]
fn scopes_and_broadcasts_across_pools() {
    let _watch = watch!();
    for n in [1, 2, 4] {
        let (a, b) = (pool(n), pool(n));
        for _ in 0..100 {
            let count = AtomicUsize::new(0);
            a.install(|| {
                b.in_place_scope(|s| {
                    for _ in 0..4 {
                        s.spawn(|_| {
                            assert!(b.current_thread_index().is_some() && a.current_thread_index().is_none());
                            count.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                });
                assert_eq!(b.broadcast(|c| c.index()), (0..n).collect::<Vec<_>>());
                assert!(a.current_thread_index().is_some());
            });
            assert_eq!(count.into_inner(), 4);
        }
    }
}

// ---- the end ----

/// What was accepted before the drop runs, and the drop does not wait for it.
#[test]
fn drop_does_not_block_and_accepted_work_runs() {
    let _watch = watch!();
    for n in [1, 2, 4] {
        for _ in 0..50 {
            let (open, gate) = channel::<()>();
            let ran = Arc::new(AtomicUsize::new(0));
            let (done, all_done) = channel();
            let pool = pool(n);
            pool.spawn(move || {
                let _ = gate.recv();
            });
            for _ in 0..100 {
                let (ran, done) = (Arc::clone(&ran), done.clone());
                pool.spawn(move || {
                    ran.fetch_add(1, Ordering::Relaxed);
                    // From a closing pool, too.
                    heist::spawn(move || drop(done));
                });
            }
            drop::<std::sync::mpsc::Sender<()>>(done);
            drop(pool);
            // With one worker nothing can have run: the first job is at its gate. So the drop has not waited.
            if n == 1 {
                assert_eq!(ran.load(Ordering::Relaxed), 0);
            }
            drop(open);
            assert!(all_done.recv().is_err(), "ends when all senders are gone");
            assert_eq!(ran.load(Ordering::Relaxed), 100);
        }
    }
}

#[test]
fn drop_on_an_own_thread() {
    let _watch = watch!();
    for n in [1, 2, 4] {
        for _ in 0..50 {
            let pool = Arc::new(pool(n));
            let (done, all_done) = channel();
            let last = Arc::clone(&pool);
            let (go, gone) = channel::<()>();
            pool.spawn(move || {
                let _ = gone.recv();
                // The last handle: the pool is closed by one of its own jobs, which then goes on working.
                drop(last);
                assert_eq!(sum(12), 144);
                heist::spawn(move || done.send(sum(10)).unwrap());
            });
            drop(pool);
            drop(go);
            assert_eq!(all_done.recv(), Ok(55));
        }
    }
}

#[test]
fn shutdown_waits_and_joins() {
    let _watch = watch!();
    for n in [1, 2, 4] {
        for _ in 0..50 {
            let (started, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let (s, e) = (Arc::clone(&started), Arc::clone(&ended));
            let pool = ThreadPoolBuilder::new()
                .num_threads(n)
                .start_handler(move |_| {
                    s.fetch_add(1, Ordering::SeqCst);
                })
                .exit_handler(move |_| {
                    e.fetch_add(1, Ordering::SeqCst);
                })
                .build()
                .unwrap();
            let ran = Arc::new(AtomicUsize::new(0));
            for _ in 0..20 {
                let ran = Arc::clone(&ran);
                pool.spawn(move || {
                    sum(10);
                    heist::spawn(move || {
                        ran.fetch_add(1, Ordering::SeqCst);
                    });
                });
            }
            pool.shutdown().unwrap();
            assert_eq!(ran.load(Ordering::SeqCst), 20);
            assert_eq!(started.load(Ordering::SeqCst), ended.load(Ordering::SeqCst), "all threads have left");
            assert!(ended.load(Ordering::SeqCst) >= n);
        }
    }
}

#[test]
fn shutdown_on_an_own_thread_is_an_error() {
    let _watch = watch!();
    for n in [1, 2] {
        let slot = Arc::new(Mutex::new(Some(pool(n))));
        let (send, receive) = channel();
        let inside = Arc::clone(&slot);
        // The lock is held until the pool is out of the slot, so that the job finds it there or waits.
        let held = slot.lock().unwrap();
        held.as_ref().unwrap().spawn(move || {
            let pool = inside.lock().unwrap().take().unwrap();
            let error = pool.shutdown().unwrap_err();
            assert!(matches!(error, ShutdownError::OwnThread));
            send.send(error.to_string()).unwrap();
        });
        drop(held);
        let message = receive.recv().unwrap();
        assert!(message.contains("own threads"), "{message}");
    }
}

/// Two threads that wait for the same pool's work while a third shuts it down.
#[test]
fn shutdown_races_with_the_last_jobs() {
    let _watch = watch!();
    for n in [1, 2, 3] {
        for _ in 0..scaled(4_000) {
            let pool = pool(n);
            let ran = Arc::new(AtomicUsize::new(0));
            let again = Arc::clone(&ran);
            pool.spawn(move || {
                let third = Arc::clone(&again);
                heist::spawn(move || {
                    heist::join(
                        || again.fetch_add(1, Ordering::Relaxed),
                        || third.fetch_add(1, Ordering::Relaxed),
                    );
                });
            });
            pool.shutdown().unwrap();
            assert_eq!(ran.load(Ordering::Relaxed), 2);
        }
    }
}

/// tokio #8056 hung only in a pool that had never run anything.
#[test]
fn fresh_pools() {
    let _watch = watch!();
    let pools = if cfg!(debug_assertions) { 2_000 } else { 10_000 };
    for i in 0..pools {
        let pool = ThreadPoolBuilder::new().num_threads(1 + i % 3).build().unwrap();
        match i % 6 {
            0 => assert_eq!(pool.install(|| sum(5)), 5),
            1 => assert_eq!(pool.fork(|f| f.join(|_| 1, |_| 2)), (1, 2)),
            2 => pool.scope(|s| s.spawn(|_| ())),
            3 => assert_eq!(pool.broadcast(|_| ()).len(), 1 + i % 3),
            4 => {
                let (send, receive) = channel();
                pool.spawn(move || send.send(1).unwrap());
                assert_eq!(receive.recv(), Ok(1));
            }
            _ => {}
        }
        if i % 5 == 0 {
            pool.shutdown().unwrap();
        }
    }
}

/// Every way to wait on a pool with a single worker (Go #59600: the configuration that nobody tries).
#[test]
fn a_pool_of_one_does_everything() {
    let _watch = watch!();
    let pool = pool(1);
    for _ in 0..50 {
        assert_eq!(pool.install(|| sum(10)), 55);
        assert_eq!(pool.join(|| 1, || 2), (1, 2));
        assert_eq!(pool.broadcast(|c| (c.index(), c.num_threads())), [(0, 1)]);
        assert_eq!(pool.install(|| heist::broadcast(|c| c.index())), [0]);
        let n = AtomicUsize::new(0);
        let count = || {
            n.fetch_add(1, Ordering::Relaxed);
        };
        pool.scope(|s| {
            (0..10).for_each(|_| s.spawn(|_| count()));
            s.spawn_broadcast(|_, _| count());
        });
        assert_eq!(n.into_inner(), 11);
        pool.install(|| {
            heist::spawn(|| ());
            assert_eq!(heist::current_thread_has_pending_tasks(), Some(true));
            assert_eq!(heist::yield_local(), Some(heist::Yield::Executed));
            assert_eq!(heist::yield_now(), Some(heist::Yield::Idle));
            assert_eq!(heist::current_thread_has_pending_tasks(), Some(false));
        });
    }
}

/// rayon's idiom for a wait of one's own: yield until it has happened.
#[test]
fn yield_until_it_has_happened() {
    let _watch = watch!();
    for n in [1, 2, 4] {
        let pool = pool(n);
        for _ in 0..100 {
            let done = Arc::new(AtomicBool::new(false));
            pool.install(|| {
                let set = Arc::clone(&done);
                heist::spawn(move || heist::spawn(move || set.store(true, Ordering::Release)));
                while !done.load(Ordering::Acquire) {
                    heist::yield_now().expect("in a pool");
                }
            });
        }
    }
}

/// A pool that lives inside of a job of another, and ends there.
#[test]
fn a_pool_inside_of_a_job() {
    let _watch = watch!();
    for n in [1, 2] {
        let outer = pool(n);
        for _ in 0..20 {
            outer.scope(|s| {
                for _ in 0..4 {
                    s.spawn(|_| {
                        let inner = pool(2);
                        assert_eq!(inner.install(|| sum(8)), 21);
                        assert_eq!(inner.install(|| outer.install(|| sum(8))), 21);
                        inner.shutdown().unwrap();
                    });
                }
            });
        }
    }
}

/// A worker waits for the end of another pool, whose last job needs that worker's pool.
#[test]
fn shutdown_of_a_pool_that_needs_ours() {
    let _watch = watch!();
    let outer = Arc::new(pool(1));
    let (send, receive) = channel();
    let ours = Arc::clone(&outer);
    outer.install(move || {
        let inner = pool(1);
        inner.spawn(move || send.send(ours.install(|| sum(8))).unwrap());
        inner.shutdown().unwrap();
    });
    assert_eq!(receive.recv(), Ok(21));
}

// ---- errors ----

fn error_of<T>(result: Result<T, heist::ThreadPoolBuildError>) -> String {
    match result {
        Ok(_) => panic!("it must not build"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn build_errors_name_the_value() {
    let _watch = watch!();
    let too_many = heist::max_num_threads() + 1;
    let message = error_of(ThreadPoolBuilder::new().num_threads(too_many).build());
    assert!(message.contains(&too_many.to_string()), "{message}");

    let message = error_of(ThreadPoolBuilder::new().num_threads(4).max_threads(3).build());
    assert!(message.contains('4') && message.contains("max_threads(3)"), "{message}");

    let message =
        error_of(ThreadPoolBuilder::new().num_threads(2).thread_name(|i| format!("w\0{i}")).build());
    assert!(message.contains(r"w\00"), "{message}");
}

/// Only some names are bad: a pool with one thread less than asked for would hide the mistake.
#[test]
fn one_bad_name_is_an_error_too() {
    let _watch = watch!();
    let name = |i| if i == 1 { "bad\0name".to_string() } else { format!("w{i}") };
    let message = error_of(ThreadPoolBuilder::new().num_threads(2).thread_name(name).build());
    assert!(message.contains(r"bad\0name"), "{message}");
}

const CHILD: &str = "HEIST_TEST_CHILD";

/// Runs the test `name` alone in a process of its own with these variables.
fn in_own_process(name: &str, variables: &[(&str, &str)]) -> std::process::Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &child::test_name(module_path!(), name), "--nocapture"])
        .env(CHILD, "1")
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

#[test]
fn environment_variables() {
    let _watch = watch!();
    if std::env::var_os(CHILD).is_some() {
        let threads =
            |wanted| ThreadPoolBuilder::new().num_threads(wanted).build().map(|p| p.current_num_threads());
        match threads(0) {
            Ok(n) => println!("[{n} {}]", threads(64).unwrap()),
            Err(error) => println!("[{error}]"),
        }
        return;
    }
    let run = |variables: &[(&str, &str)]| {
        let output = in_own_process("environment_variables", variables);
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        let (_, rest) = text.split_once('[').unwrap();
        rest.split_once(']').unwrap().0.to_string()
    };
    let message = run(&[("HEIST_NUM_THREADS", "abc")]);
    assert!(message.contains("HEIST_NUM_THREADS") && message.contains("abc"), "{message}");
    assert_eq!(run(&[("HEIST_NUM_THREADS", "3")]), "3 3");
    assert_eq!(run(&[("HEIST_NUM_THREADS", "3"), ("RAYON_NUM_THREADS", "5")]), "3 3");
    // What is not a number does not count, as in rayon.
    assert_eq!(run(&[("RAYON_NUM_THREADS", "5")]), "5 5");
    let machine = heist_os::limits::Limits::new().workers(0);
    assert_eq!(run(&[("RAYON_NUM_THREADS", "abc")]), format!("{machine} 64"));
    assert_eq!(run(&[("HEIST_NUM_THREADS", "0")]), format!("{machine} 64"));
}

/// A second global pool is refused, with rayon's words, and the first goes on.
#[test]
fn the_global_pool_is_built_once() {
    let _watch = watch!();
    if std::env::var_os(CHILD).is_some() {
        ThreadPoolBuilder::new().num_threads(3).build_global().unwrap();
        let error = ThreadPoolBuilder::new().build_global().unwrap_err();
        assert_eq!(error.to_string(), "The global thread pool has already been initialized.");
        assert!(
            format!("{error:?}").contains("before anything uses that pool"),
            "it says what to do: {error:?}"
        );
        assert_eq!(heist::current_num_threads(), 3);
        assert_eq!(heist::broadcast(|c| c.index()), [0, 1, 2]);
        return;
    }
    let output = in_own_process("the_global_pool_is_built_once", &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

// ---- threads from elsewhere ----

#[test]
fn spawn_handler_starts_the_threads() {
    let _watch = watch!();
    for n in [1, 2, 4] {
        let mut handles = Vec::new();
        let pool = ThreadPoolBuilder::new()
            .num_threads(n)
            .thread_name(|i| format!("mine-{i}"))
            .stack_size(8 << 20)
            .spawn_handler(|thread| {
                assert_eq!(thread.name(), Some(format!("mine-{}", thread.index()).as_str()));
                assert_eq!(thread.stack_size(), Some(8 << 20));
                handles.push(std::thread::spawn(move || thread.run()));
                Ok(())
            })
            .build()
            .unwrap();
        assert_eq!(pool.install(|| sum(15)), 610);
        assert_eq!(pool.broadcast(|c| c.index()), (0..n).collect::<Vec<_>>());
        let total = Mutex::new(0);
        pool.scope(|s| {
            for _ in 0..20 {
                s.spawn(|_| {
                    let inner = heist::join(|| sum(8), || sum(8));
                    *total.lock().unwrap() += inner.0 + inner.1;
                });
            }
        });
        assert_eq!(*total.lock().unwrap(), 20 * 42);
        drop(pool);
        assert_eq!(handles.len(), n);
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    }
}

/// Such a pool has no spares: a wait for a stolen half that waits for a queued job must run that job itself, as in rayon.
#[test]
fn waits_without_spares_end() {
    let _watch = watch!();
    for n in [1, 2] {
        let other = pool(1);
        let pool = ThreadPoolBuilder::new()
            .num_threads(n)
            .spawn_handler(|thread| {
                std::thread::spawn(move || thread.run());
                Ok(())
            })
            .build()
            .unwrap();
        for _ in 0..50 {
            // The job in the other pool waits for a job in this one.
            let sent = AtomicBool::new(false);
            pool.in_place_scope(|s| {
                s.spawn(|_| {
                    other.install(|| pool.install(|| sent.store(true, Ordering::Relaxed)));
                });
            });
            assert!(sent.into_inner());
        }
    }
}

#[test]
fn an_error_of_the_spawn_handler_fails_the_build() {
    let _watch = watch!();
    for failing in 0..3 {
        let mut handles = Vec::new();
        let message = error_of(
            ThreadPoolBuilder::new()
                .num_threads(3)
                .spawn_handler(|thread| {
                    if thread.index() == failing {
                        return Err(std::io::Error::other("no thread left"));
                    }
                    handles.push(std::thread::spawn(move || thread.run()));
                    Ok(())
                })
                .build(),
        );
        assert!(message.contains("no thread left"), "{message}");
        // Those that were started leave again.
        assert_eq!(handles.len(), failing);
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    }
}

#[test]
fn build_scoped_lends_the_pool() {
    let _watch = watch!();
    for n in [1, 2, 4] {
        let (started, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let result = ThreadPoolBuilder::new().num_threads(n).build_scoped(
            |thread| {
                started.fetch_add(1, Ordering::Relaxed);
                thread.run();
                ended.fetch_add(1, Ordering::Relaxed);
            },
            |pool| {
                assert_eq!(pool.broadcast(|_| ()).len(), n);
                pool.install(|| sum(15))
            },
        );
        assert_eq!(result.unwrap(), 610);
        assert_eq!((started.into_inner(), ended.into_inner()), (n, n));
    }
}

#[test]
fn use_current_thread_makes_it_number_0() {
    let _watch = watch!();
    for n in [1, 2, 4] {
        std::thread::spawn(move || {
            let pool = ThreadPoolBuilder::new().num_threads(n).use_current_thread().build().unwrap();
            assert_eq!(pool.current_thread_index(), Some(0));
            assert_eq!(heist::current_num_threads(), n);
            assert_eq!(pool.install(|| sum(15)), 610);
            assert_eq!(pool.install(heist::current_thread_index), Some(0));
            assert_eq!(heist::join(|| 1, || 2), (1, 2));
            assert_eq!(pool.broadcast(|c| c.index()), (0..n).collect::<Vec<_>>());
            let count = AtomicUsize::new(0);
            heist::scope(|s| {
                for _ in 0..100 {
                    s.spawn(|_| {
                        count.fetch_add(1, Ordering::Relaxed);
                    });
                }
            });
            assert_eq!(count.into_inner(), 100);
            // From another thread, while this one waits in the pool.
            std::thread::scope(|threads| {
                let outside = threads.spawn(|| if n > 1 { pool.install(|| sum(10)) } else { 55 });
                assert_eq!(outside.join().unwrap(), 55);
            });
            assert_eq!(heist::current_thread_index(), Some(0));
            let again = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
            assert!(error_of(again).contains("already part of another thread pool"));
        })
        .join()
        .unwrap();
    }
}

/// A job spawned where the only thread is the builder's own runs as soon as that one waits or yields.
#[test]
fn use_current_thread_alone_runs_what_it_spawned() {
    let _watch = watch!();
    std::thread::spawn(|| {
        let pool = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap();
        let (send, receive) = channel();
        pool.spawn(move || send.send(7).unwrap());
        assert_eq!(pool.yield_now(), Some(heist::Yield::Executed));
        assert_eq!(receive.try_recv(), Ok(7));
    })
    .join()
    .unwrap();
}

/// What was spawned into a pool whose only thread is the builder's own, and never waited for, runs when that thread leaves it.
#[test]
fn use_current_thread_loses_nothing() {
    let _watch = watch!();
    for n in [1, 2] {
        for drop_first in [false, true] {
            let ran = Arc::new(AtomicUsize::new(0));
            let (early, late) = (Arc::clone(&ran), Arc::clone(&ran));
            let (end, ended) = channel::<()>();
            std::thread::spawn(move || {
                let pool = ThreadPoolBuilder::new().num_threads(n).use_current_thread().build().unwrap();
                let keep = end.clone();
                pool.spawn(move || {
                    let _keep = keep;
                    early.fetch_add(1, Ordering::Relaxed);
                });
                if drop_first {
                    drop(pool);
                }
                heist::spawn(move || {
                    let _end = end;
                    late.fetch_add(1, Ordering::Relaxed);
                });
            })
            .join()
            .unwrap();
            // Ends when both jobs are gone: run, or dropped unrun.
            assert!(ended.recv().is_err());
            assert_eq!(ran.load(Ordering::Relaxed), 2, "{n} threads, pool dropped first: {drop_first}");
        }
    }
}

/// Start and exit handlers are user code on a thread of the pool like any other: they may fork and spawn.
#[test]
fn handlers_use_the_pool() {
    let _watch = watch!();
    for n in [1, 2, 4] {
        let (forked, spawned) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let use_pool = |spawns: bool| {
            let (forked, spawned) = (Arc::clone(&forked), Arc::clone(&spawned));
            move |_| {
                assert_eq!(heist::join(|| sum(6), || sum(7)), (8, 13));
                heist::scope(|s| s.spawn(|_| assert_eq!(sum(6), 8)));
                forked.fetch_add(1, Ordering::SeqCst);
                if spawns {
                    let spawned = Arc::clone(&spawned);
                    heist::spawn(move || {
                        spawned.fetch_add(1, Ordering::SeqCst);
                    });
                }
            }
        };
        let pool = ThreadPoolBuilder::new()
            .num_threads(n)
            .start_handler(use_pool(true))
            .exit_handler(use_pool(false))
            .build()
            .unwrap();
        assert_eq!(pool.install(|| sum(10)), 55);
        pool.shutdown().unwrap();
        let threads = spawned.load(Ordering::SeqCst);
        assert!(threads >= n, "{threads} threads have spawned");
        assert_eq!(forked.load(Ordering::SeqCst), 2 * threads);
    }
}

/// A job that an exit handler spawns was accepted, so it runs, although its thread is about to leave.
#[test]
fn an_exit_handler_spawns() {
    let _watch = watch!();
    for n in [1, 2] {
        let (send, receive) = channel();
        let send = Mutex::new(Some(send));
        let pool = ThreadPoolBuilder::new()
            .num_threads(n)
            .exit_handler(move |_| {
                let send = send.lock().unwrap().take();
                if let Some(send) = send {
                    heist::spawn(move || send.send(7).unwrap());
                }
            })
            .build()
            .unwrap();
        assert_eq!(pool.install(|| sum(10)), 55);
        pool.shutdown().unwrap();
        assert_eq!(receive.try_recv(), Ok(7), "{n} workers");
    }
}
