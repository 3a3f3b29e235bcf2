//! Guests: a call from outside runs on the calling thread while a permit is free, unless it would lack something there. It is bounded
//! by the pool's permits like a worker, waits like one, and leaves nothing behind.

use crate::rig::child;
use crate::rig::compute::compute;
use crate::rig::fenced;
use crate::rig::pool::{guest_pool, pool};
use crate::rig::watchdog::watch;
use heist::prelude::*;
use heist::{ThreadPool, ThreadPoolBuilder};
use heist_sync::atomic::{AtomicUsize, Ordering};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

fn me() -> ThreadId {
    std::thread::current().id()
}

/// Whether a call runs on the calling thread, once a worker sleeps and its permit is free: at first all of them search.
fn soon_here(call: impl Fn() -> ThreadId) -> bool {
    (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(1));
        call() == me()
    })
}

/// Waits until a call runs on the calling thread. On a loaded machine a worker may search for long before it sleeps.
fn until_here(call: impl Fn() -> ThreadId) {
    while !soon_here(&call) {}
}

fn is_guest(pool: &ThreadPool) -> bool {
    soon_here(|| pool.install(me))
}

/// Every door of the global pool, from a thread of the program's own.
#[test]
fn the_global_pool_takes_guests() {
    if child::case().is_none() {
        child::ends_well(&mut child::child(module_path!(), "the_global_pool_takes_guests", "here"));
        return;
    }
    let _watch = watch!();
    let caller = me();
    until_here(|| heist::join(me, || ()).0);
    until_here(|| heist::join_context(|c| (assert!(!c.migrated()), me()).1, |_| ()).0);
    until_here(|| heist::scope(|_| me()));
    until_here(|| heist::scope_fifo(|_| me()));
    until_here(|| heist::fork(|_| me()));
    let threads_of_a_loop = || (0..100).into_par_iter().map(|_| me()).collect::<Vec<_>>();
    assert!((0..100).any(|_| threads_of_a_loop().contains(&caller)), "a loop");
    // Once it has been a guest, and left, it is in no pool.
    assert_eq!(heist::current_thread_index(), None);
}

/// `HEIST_GUESTS=0` turns all of it off.
#[test]
fn the_environment_can_forbid_guests() {
    if child::case().is_none() {
        let mut command = child::child(module_path!(), "the_environment_can_forbid_guests", "here");
        child::ends_well(command.env("HEIST_GUESTS", "0"));
        return;
    }
    let caller = me();
    assert!(!soon_here(|| heist::join(me, || ()).0));
    assert!(!soon_here(|| heist::fork(|_| me())));
    assert!(!soon_here(|| heist::scope(|_| me())));
    assert!((0..100).into_par_iter().all(|_| me() != caller));
    assert!(!is_guest(&guest_pool(2)), "not even where the program has asked for it");
}

#[test]
fn built_pools_take_guests_only_if_they_say_so() {
    let _watch = watch!();
    let two = || ThreadPoolBuilder::new().num_threads(2);
    assert!(!is_guest(&two().build().unwrap()));
    assert!(!is_guest(&two().guests(false).build().unwrap()));
    let pool = two().guests(true).build().unwrap();
    until_here(|| pool.install(me));
    // A guest would lack what these have.
    let two = || two().guests(true);
    assert!(!is_guest(&two().thread_name(|i| format!("worker {i}")).build().unwrap()), "names");
    assert!(!is_guest(&two().start_handler(|_| ()).build().unwrap()), "start handler");
    assert!(!is_guest(&two().exit_handler(|_| ()).build().unwrap()), "exit handler");
    assert!(!is_guest(&two().stack_size(4 << 20).build().unwrap()), "stack size");
    assert!(!is_guest(&two().max_threads(2).build().unwrap()), "no spares");
    let start = |thread: heist::ThreadBuilder| std::thread::Builder::new().spawn(|| thread.run()).map(drop);
    assert!(!is_guest(&two().spawn_handler(start).build().unwrap()), "threads of the program's own");
    let pool = two().build().unwrap();
    until_here(|| pool.install(me));
    pool.broadcast(|_| ());
    assert!(!is_guest(&pool), "what a broadcast may have set up");
}

#[test]
fn a_caller_with_little_stack_queues() {
    let _watch = watch!();
    // How much is left, only the system knows.
    let pool = ThreadPoolBuilder::new().num_threads(2).guests(true).os_hints(true).build().unwrap();
    let runs_here = |bytes: usize| {
        std::thread::scope(|threads| {
            let ask = || is_guest(&pool);
            std::thread::Builder::new().stack_size(bytes).spawn_scoped(threads, ask).unwrap().join().unwrap()
        })
    };
    assert!(!runs_here(256 << 10));
    while !runs_here(4 << 20) {}
}

/// Guests count: with two permits, two of eight callers can run at once, and never more. Whoever finds no permit queues.
#[test]
fn eight_callers_share_two_permits() {
    let _watch = watch!();
    let pool = guest_pool(2);
    let (now, most, done) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| {
                for _ in 0..200 {
                    pool.install(|| {
                        let running = now.fetch_add(1, Ordering::SeqCst) + 1;
                        most.fetch_max(running, Ordering::SeqCst);
                        // The first one waits for another: on a busy machine they might else never meet.
                        let until = Instant::now() + Duration::from_secs(20);
                        while most.load(Ordering::SeqCst) < 2 && Instant::now() < until {
                            std::thread::yield_now();
                        }
                        compute(20);
                        now.fetch_sub(1, Ordering::SeqCst);
                        done.fetch_add(1, Ordering::SeqCst);
                    });
                }
            });
        }
    });
    assert_eq!((done.into_inner(), most.into_inner()), (1600, 2));
}

/// While a guest waits for a stolen half, with a lock in its hand, it runs none of the jobs that want the lock.
#[test]
fn guests_never_run_strangers() {
    let _watch = watch!();
    for n in [1, 2, 4] {
        let pool = guest_pool(n);
        let lock = Arc::new(Mutex::new(0));
        for _ in 0..50 {
            for _ in 0..8 {
                let lock = Arc::clone(&lock);
                pool.spawn(move || *lock.lock().unwrap() += 1);
            }
            pool.install(|| {
                let mut held = lock.lock().unwrap();
                let (a, b) = heist::join(|| (compute(10), 1).1, || (compute(300), 1).1);
                *held += a + b;
            });
        }
        pool.shutdown().unwrap();
        assert_eq!(*lock.lock().unwrap(), 50 * 10, "{n} workers");
    }
}

#[test]
fn a_guests_panic_goes_on_in_its_caller_and_the_permit_is_free_again() {
    let _watch = watch!();
    let pool = guest_pool(1);
    for _ in 0..100 {
        let caught =
            catch_unwind(AssertUnwindSafe(|| pool.install(|| heist::join(|| panic!("first"), || ()))));
        assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"first"));
        until_here(|| pool.install(me));
    }
}

/// One thread each, and each call goes into the other pool: whoever waits for another pool lends its permit.
#[test]
fn pools_that_call_each_other_do_not_hang() {
    let _watch = watch!();
    for (a, b) in [(guest_pool(1), guest_pool(1)), (guest_pool(1), pool(1)), (pool(1), guest_pool(1))] {
        for _ in 0..50 {
            assert_eq!(
                a.install(|| b.install(|| a.install(|| b.install(|| heist::join(|| 1, || 2))))),
                (1, 2)
            );
        }
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| (0..50).for_each(|_| a.install(|| b.install(|| a.install(|| compute(5))))));
                threads.spawn(|| (0..50).for_each(|_| b.install(|| a.install(|| b.install(|| compute(5))))));
            }
        });
    }
}

/// The handle goes as soon as the guest is out: what the guest has left behind still runs, once.
#[test]
fn a_pool_that_goes_right_after_its_guest() {
    let _watch = watch!();
    for round in 0..200 {
        let pool = guest_pool(2);
        let ran = Arc::new(AtomicUsize::new(0));
        let count = |by: usize| {
            let ran = Arc::clone(&ran);
            move || _ = ran.fetch_add(by, Ordering::SeqCst)
        };
        pool.install(|| {
            (0..10).for_each(|_| heist::spawn(count(1)));
            drop(heist::task::spawn({
                let count = count(100);
                async move { count() }
            }));
            heist::join(|| (), || ());
        });
        if round % 2 == 0 {
            pool.shutdown().unwrap()
        } else {
            drop(pool)
        }
        while ran.load(Ordering::SeqCst) < 110 {
            std::thread::yield_now();
        }
        assert_eq!(ran.load(Ordering::SeqCst), 110);
    }
}

#[test]
fn in_fenced_mode() {
    let _watch = watch!();
    fenced::rerun_fenced(
        module_path!(),
        &["eight_callers", "guests_never", "pools_that_call", "a_guests_panic"],
    );
}
