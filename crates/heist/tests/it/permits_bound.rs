//! Pools that have no spare threads by the way they were made: their waits help, as rayon's do, and a sleeping waiter is woken for its
//! target and for work. Nobody is forgotten, however many joins there have been.
//!
//! Public bugs of this kind: tokio #4383 and #8372 (a worker that was woken for one thing has missed the other).

use crate::rig::compute::compute;
use crate::rig::fenced;
use crate::rig::gate::Gate;
use crate::rig::ledger::Ledger;
use crate::rig::pool::pool;
use crate::rig::watchdog::watch;
use heist::{ThreadPool, ThreadPoolBuilder};
use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

/// A job from outside that has not run by then never will.
const SOON: Duration = Duration::from_secs(30);

/// How the pool came to have no spares.
#[derive(Clone, Copy, Debug)]
enum Made {
    SpawnHandler,
    Scoped,
    MaxThreads,
}

const MADE: [Made; 3] = [Made::SpawnHandler, Made::Scoped, Made::MaxThreads];

fn with_pool(made: Made, n: usize, f: impl FnOnce(&ThreadPool)) {
    let builder = ThreadPoolBuilder::new().num_threads(n);
    match made {
        Made::MaxThreads => f(&builder.max_threads(n).build().unwrap()),
        Made::Scoped => builder.build_scoped(|thread| thread.run(), f).unwrap(),
        Made::SpawnHandler => {
            let start = |thread: heist::ThreadBuilder| {
                std::thread::Builder::new().spawn(move || thread.run())?;
                Ok(())
            };
            f(&builder.spawn_handler(start).build().unwrap());
        }
    }
}

/// Joins of all lengths: popped again, stolen and waited for in a spin, and some that end in the very moment in which their waiter
/// goes to sleep.
fn joins(count: usize) -> usize {
    let mut done = 0;
    for i in 0..count {
        let us = match i % 100 {
            0 => 140 + (i / 100 % 40) as u64,
            n if n % 4 == 0 => (i / 4 % 25) as u64,
            _ => 0,
        };
        let (a, b) = heist::join(|| 1, || (compute(us), 1).1);
        done += a + b;
    }
    done
}

/// Some thirty thousand joins, beside a thread that spawns a job from outside, waits for it, and spawns the next.
#[test]
fn jobs_from_outside_run_beside_thousands_of_joins() {
    let _watch = watch!();
    let count = 30_000;
    for made in MADE {
        for n in [1, 2] {
            with_pool(made, n, |pool| {
                let joining = AtomicBool::new(true);
                std::thread::scope(|threads| {
                    threads.spawn(|| {
                        // One worker comes to its queue between two of these.
                        for _ in 0..10 {
                            assert_eq!(pool.install(|| joins(count / 10)), count / 10 * 2);
                        }
                        joining.store(false, Ordering::Release);
                    });
                    let mut spawned = 0;
                    while joining.load(Ordering::Acquire) || spawned < 10 {
                        let (send, ran) = channel();
                        pool.spawn(move || send.send(()).unwrap());
                        let ran = ran.recv_timeout(SOON);
                        assert!(
                            ran.is_ok(),
                            "{made:?}, {n} workers: job {spawned} from outside does not run"
                        );
                        spawned += 1;
                    }
                });
            });
        }
    }
}

/// A job comes from outside in the very moment in which a wait ends: its sleeping waiter is granted a permit to help with, and goes on by
/// itself. If that one does not take what it was granted, it stays where wake-ups are sent to, and swallows them.
#[test]
fn a_job_from_outside_at_the_end_of_a_wait() {
    let _watch = watch!();
    let rounds = 150;
    for made in MADE {
        with_pool(made, 2, |pool| {
            let about_to_end = AtomicUsize::new(0);
            std::thread::scope(|threads| {
                threads.spawn(|| {
                    for round in 0..rounds {
                        let stolen = AtomicBool::new(false);
                        let wait_for_thief = || {
                            while !stolen.load(Ordering::Acquire) {
                                std::thread::yield_now();
                            }
                        };
                        let end_soon = || {
                            stolen.store(true, Ordering::Release);
                            // Longer than the waiter spins: it sleeps.
                            compute(250);
                            about_to_end.store(round + 1, Ordering::Release);
                            compute(round as u64 % 16);
                        };
                        pool.install(|| heist::join(wait_for_thief, end_soon));
                    }
                });
                for round in 0..rounds {
                    while about_to_end.load(Ordering::Acquire) <= round {
                        std::hint::spin_loop();
                    }
                    let (send, ran) = channel();
                    pool.spawn(move || send.send(()).unwrap());
                    let ran = ran.recv_timeout(SOON);
                    assert!(ran.is_ok(), "{made:?}: job {round} from outside does not run");
                }
            });
        });
    }
}

/// Bursts from outside while every worker is in and out of waits.
#[test]
fn bursts_from_outside_run_beside_joins() {
    let _watch = watch!();
    for made in MADE {
        for n in [1, 2, 4] {
            with_pool(made, n, |pool| {
                for _ in 0..20 {
                    let ledger = Arc::new(Ledger::new(50));
                    let (send, ran) = channel();
                    std::thread::scope(|threads| {
                        threads.spawn(|| pool.install(|| joins(200)));
                        for i in 0..50 {
                            let (ledger, send) = (Arc::clone(&ledger), send.clone());
                            pool.spawn(move || {
                                ledger.mark(i);
                                send.send(()).unwrap();
                            });
                        }
                        for i in 0..50 {
                            assert!(
                                ran.recv_timeout(SOON).is_ok(),
                                "{made:?}, {n} workers: {i} of 50 have run"
                            );
                        }
                    });
                    ledger.check_all_once("jobs from outside");
                }
            });
        }
    }
}

/// The half that a waiter waits for ends only when a job from outside has run: nobody but the waiter is there to run it.
#[test]
fn a_wait_helps() {
    let _watch = watch!();
    for made in MADE {
        with_pool(made, 2, |pool| {
            for _ in 0..50 {
                let (stolen, has_run) = (AtomicBool::new(false), Arc::new(AtomicBool::new(false)));
                pool.install(|| {
                    heist::join(
                        || {
                            while !stolen.load(Ordering::Acquire) {
                                std::thread::yield_now();
                            }
                        },
                        || {
                            stolen.store(true, Ordering::Release);
                            // Longer than the waiter spins: it sleeps, and has to be woken for work.
                            compute(300);
                            let runs = Arc::clone(&has_run);
                            std::thread::scope(|outside| {
                                outside.spawn(|| pool.spawn(move || runs.store(true, Ordering::Release)));
                            });
                            while !has_run.load(Ordering::Acquire) {
                                std::thread::yield_now();
                            }
                        },
                    );
                });
            }
        });
    }
}

/// Both workers wait for scopes whose jobs wait for each other: each is run by the other's waiter, or by the own one.
#[test]
fn waits_help_each_other() {
    let _watch = watch!();
    for made in MADE {
        with_pool(made, 2, |pool| {
            for _ in 0..50 {
                let ran = [AtomicUsize::new(0), AtomicUsize::new(0)];
                pool.scope(|s| {
                    for own in 0..2 {
                        let ran = &ran;
                        s.spawn(move |outer| {
                            heist::scope(|s| {
                                s.spawn(move |_| compute(200));
                                outer.spawn(move |_| _ = ran[own].fetch_add(1, Ordering::AcqRel));
                            });
                            // As rayon's programs do: until the others are done as well.
                            while ran.iter().any(|ran| ran.load(Ordering::Acquire) == 0) {
                                heist::yield_now();
                            }
                        });
                    }
                });
                assert_eq!(ran.map(AtomicUsize::into_inner), [1, 1]);
            }
        });
    }
}

/// Into another pool and back: the first pool's only thread sleeps in the other's wait, and is woken for the job that comes back.
#[test]
fn two_pools_install_into_each_other() {
    let _watch = watch!();
    for made in MADE {
        for n in [1, 2] {
            with_pool(made, n, |pool| {
                with_pool(made, n, |other| {
                    for _ in 0..20 {
                        let there = |levels: usize| {
                            fn go(pools: [&ThreadPool; 2], levels: usize) -> usize {
                                if levels == 0 {
                                    return 1;
                                }
                                pools[levels % 2].install(|| go(pools, levels - 1)) + 1
                            }
                            go([pool, other], levels)
                        };
                        assert_eq!(there(6), 7);
                        let (a, b) = pool.install(|| heist::join(|| there(4), || there(5)));
                        assert_eq!((a, b), (5, 6));
                    }
                });
            });
        }
    }
}

/// One thread, which is the caller's: whatever is spawned from wherever runs there, or the pool would have two threads.
#[test]
fn a_pool_of_the_calling_thread_alone() {
    let _watch = watch!();
    std::thread::spawn(|| {
        let own = std::thread::current().id();
        let alone = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap();
        let other = pool(1);
        let jobs = 300;
        let (ledger, elsewhere) = (Arc::new(Ledger::new(jobs)), Arc::new(AtomicUsize::new(0)));
        let left = Arc::new(AtomicUsize::new(jobs));
        std::thread::scope(|threads| {
            threads.spawn(|| {
                for i in 0..jobs {
                    let (ledger, elsewhere, left) =
                        (Arc::clone(&ledger), Arc::clone(&elsewhere), Arc::clone(&left));
                    alone.spawn(move || {
                        ledger.mark(i);
                        elsewhere
                            .fetch_add(usize::from(std::thread::current().id() != own), Ordering::Relaxed);
                        left.fetch_sub(1, Ordering::AcqRel);
                    });
                }
            });
            let mut round = 0_u64;
            while left.load(Ordering::Acquire) > 0 {
                round += 1;
                assert_eq!(joins(10), 20);
                alone.scope(|s| s.spawn(|_| assert_eq!(std::thread::current().id(), own)));
                if round.is_multiple_of(10) {
                    // Long enough for a waiter to sleep.
                    other.install(|| std::thread::sleep(Duration::from_millis(1)));
                } else {
                    heist::yield_now();
                }
            }
        });
        // It sleeps in the other pool's wait, and the job that the other pool waits for can only run here.
        for _ in 0..20 {
            assert_eq!(other.install(|| alone.install(|| std::thread::current().id())), own);
            assert_eq!(other.install(|| alone.broadcast(|_| std::thread::current().id())), [own]);
        }
        ledger.check_all_once("jobs from outside");
        assert_eq!(elsewhere.load(Ordering::Relaxed), 0, "jobs have run on another thread");
    })
    .join()
    .unwrap();
}

/// Nobody can run instead of a thread that says that it blocks: what is queued waits for the other threads, and if all block, for the first
/// that goes on.
#[test]
fn blocking_lends_to_nobody() {
    let _watch = watch!();
    const N: usize = 2;
    for made in MADE {
        with_pool(made, N, |pool| {
            let (go, may_run) = (Gate::new(), Arc::new(AtomicBool::new(false)));
            let block = || {
                let (blocked, go) = (Gate::new(), go.clone());
                let blocks = blocked.clone();
                pool.spawn(move || {
                    heist::blocking(|| {
                        assert_eq!(heist::current_thread_index(), None);
                        blocks.open();
                        go.block();
                    });
                });
                blocked.block();
            };
            let (send, ran) = channel();
            let spawn = || {
                let (send, may_run) = (send.clone(), Arc::clone(&may_run));
                pool.spawn(move || send.send(may_run.load(Ordering::Acquire)).unwrap());
            };
            block();
            spawn();
            assert_eq!(ran.recv_timeout(SOON), Ok(false), "{made:?}: the other thread is there");
            block();
            spawn();
            // A window in which it must not run, not a wait.
            std::thread::sleep(Duration::from_millis(50));
            may_run.store(true, Ordering::Release);
            go.open();
            assert_eq!(ran.recv_timeout(SOON), Ok(true), "{made:?}: more threads run than the pool has");
        });
    }
}

/// While the only thread says that it blocks, there is still no second one; what was spawned meanwhile runs after.
#[test]
fn blocking_on_the_calling_thread_alone() {
    let _watch = watch!();
    std::thread::spawn(|| {
        let own = std::thread::current().id();
        let alone = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap();
        for _ in 0..20 {
            let (send, ran) = channel();
            heist::blocking(|| {
                std::thread::scope(|threads| {
                    threads.spawn(|| alone.spawn(move || send.send(std::thread::current().id()).unwrap()));
                });
                std::thread::sleep(Duration::from_millis(2));
            });
            let ran = loop {
                match ran.try_recv() {
                    Ok(id) => break id,
                    Err(_) => _ = heist::yield_now(),
                }
            };
            assert_eq!(ran, own);
        }
    })
    .join()
    .unwrap();
}

#[test]
fn in_fenced_mode() {
    let _watch = watch!();
    fenced::rerun_fenced(module_path!(), &["bursts_from", "a_wait_helps", "calling_thread_alone"]);
}

/// A thread that took another's permit would leave its own to nobody, for good. So threads park and rise, wait and help, with calls from
/// outside that would be guests elsewhere; and each time as many jobs as there are threads still meet.
#[test]
fn every_thread_keeps_its_own_permit() {
    let _watch = watch!();
    const N: usize = 3;
    for made in MADE {
        with_pool(made, N, |pool| {
            for round in 0..300 {
                std::thread::scope(|threads| {
                    for _ in 0..2 {
                        threads.spawn(|| {
                            let caller = std::thread::current().id();
                            let (a, b) = pool.fork(|f| {
                                assert_ne!(
                                    std::thread::current().id(),
                                    caller,
                                    "a guest in a pool without spares"
                                );
                                f.join(|_| (compute(round % 7 * 30), 1).1, |_| (compute(round % 5 * 50), 2).1)
                            });
                            assert_eq!(a + b, 3);
                        });
                    }
                });
                let meet = Arc::new(std::sync::Barrier::new(N));
                let (send, met) = channel();
                for _ in 0..N {
                    let (meet, send) = (Arc::clone(&meet), send.clone());
                    pool.spawn(move || {
                        meet.wait();
                        send.send(()).unwrap();
                    });
                }
                for _ in 0..N {
                    met.recv_timeout(SOON)
                        .expect("a permit is lost: fewer jobs run at once than there are threads");
                }
            }
        });
    }
}
