//! Jobs that all wait for queued jobs are a deadlock, as in rayon, unless the program has asked for rescue. Tasks need not ask: one
//! that blocks gives its permit away, so the jobs behind it run.

#![cfg(target_os = "linux")]

use crate::rig::child;
use crate::rig::count::Count;
use crate::rig::gate::Gate;
use crate::rig::watchdog::watch;
use heist::{ThreadPool, ThreadPoolBuilder, current_thread_index};
use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

/// Every worker waits for a job that is queued behind it, unannounced.
fn workers_wait_for_queued_jobs(pool: &ThreadPool) {
    let n = pool.current_num_threads();
    let (waiting, ran) = (Count::new(n), AtomicUsize::new(0));
    pool.in_place_scope(|s| {
        let mut senders = Vec::new();
        for _ in 0..n {
            let (send, receive) = channel();
            senders.push(send);
            let waiting = waiting.clone();
            s.spawn(move |_| {
                waiting.knock();
                receive.recv().unwrap();
            });
        }
        waiting.gate.block();
        for send in senders {
            let ran = &ran;
            s.spawn(move |_| {
                // The first one: then a worker goes on, and may take the next.
                if ran.fetch_add(1, Ordering::AcqRel) == 0 {
                    assert_eq!(current_thread_index(), None, "all permits are in use");
                }
                send.send(()).unwrap();
            });
        }
    });
    assert_eq!(ran.into_inner(), n);
    assert_eq!(pool.broadcast(|c| c.index()), (0..n).collect::<Vec<_>>());
}

#[test]
fn a_pool_that_has_asked_is_rescued() {
    let _watch = watch!();
    for n in [1, 2] {
        let pool =
            ThreadPoolBuilder::new().num_threads(n).rescue_blocked(true).os_hints(true).build().unwrap();
        workers_wait_for_queued_jobs(&pool);
        pool.shutdown().unwrap();
    }
}

/// The variable asks for every pool, the builder can say no.
#[test]
fn the_environment_asks() {
    let _watch = watch!();
    if child::case().is_some() {
        workers_wait_for_queued_jobs(
            &ThreadPoolBuilder::new().num_threads(2).os_hints(true).build().unwrap(),
        );
        return;
    }
    child::ends_well(child::child(module_path!(), "the_environment_asks", "1").env("HEIST_RESCUE", "1"));
}

/// Nobody has asked: the queued job waits for its turn, for longer than a rescue would take.
#[test]
fn a_pool_that_has_not_asked_is_not() {
    let _watch = watch!();
    for asked in [None, Some(false)] {
        let builder = ThreadPoolBuilder::new().num_threads(2);
        let builder = if let Some(asked) = asked { builder.rescue_blocked(asked) } else { builder };
        let pool = builder.build().unwrap();
        let (asleep, ended) = (Count::new(2), AtomicBool::new(false));
        pool.in_place_scope(|s| {
            for _ in 0..2 {
                s.spawn(|_| {
                    asleep.knock();
                    std::thread::sleep(Duration::from_millis(1800));
                    ended.store(true, Ordering::Release);
                });
            }
            asleep.gate.block();
            s.spawn(|_| {
                assert!(ended.load(Ordering::Acquire), "a third job ran in a pool of two");
                assert!(current_thread_index().is_some());
            });
        });
    }
}

/// While no thread may run, nobody rescues either, for longer than a rescue would take. A tick makes the monitor look.
#[test]
fn a_pool_that_is_stopped_is_not() {
    let _watch = watch!();
    let pool = ThreadPoolBuilder::new().num_threads(1).rescue_blocked(true).os_hints(true).build().unwrap();
    let tick = heist::tick::every(Duration::from_millis(10)).spawn_on(&pool, |_| heist::tick::Next::Continue);
    let (waiting, gate) = (Count::new(1), Gate::new());
    let (knocker, blocker) = (waiting.clone(), gate.clone());
    pool.spawn(move || {
        knocker.knock();
        blocker.block();
    });
    waiting.gate.block();
    pool.set_num_threads(0).unwrap();
    let (send, receive) = channel();
    pool.spawn(move || send.send(()).unwrap());
    assert!(receive.recv_timeout(Duration::from_secs(3)).is_err(), "a job ran in a pool of none");
    gate.open();
    pool.set_num_threads(1).unwrap();
    receive.recv().unwrap();
    tick.cancel();
}

/// As many tasks as there are workers, each of which waits for a job that it has spawned.
fn tasks_wait_for_jobs(n: usize, by: fn(&ThreadPool, Box<dyn FnOnce() + Send>)) {
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(n).build().unwrap());
    for _ in 0..5 {
        let tasks: Vec<_> = (0..n)
            .map(|_| {
                let own = Arc::clone(&pool);
                pool.spawn_task(async move {
                    let (send, receive) = channel();
                    by(&own, Box::new(move || send.send(()).unwrap()));
                    receive.recv().expect("the job has run to its end");
                })
            })
            .collect();
        tasks.into_iter().for_each(|task| pool.block_on(task).unwrap());
    }
}

const SIZES: [usize; 3] = [1, 2, 4];

#[test]
fn tasks_wait_for_jobs_of_their_own() {
    let _watch = watch!();
    SIZES.into_iter().for_each(|n| tasks_wait_for_jobs(n, |_, job| heist::spawn(job)));
}

#[test]
fn tasks_wait_for_jobs_from_outside() {
    let _watch = watch!();
    SIZES.into_iter().for_each(|n| {
        tasks_wait_for_jobs(n, |pool, job| {
            std::thread::scope(|outside| {
                outside.spawn(|| pool.spawn(job));
            });
        });
    });
}

/// What they wait for forks, and so needs the permit to be a whole one.
#[test]
fn tasks_wait_for_jobs_that_fork() {
    let _watch = watch!();
    fn sum(n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        let (a, b) = heist::join(|| sum(n - 1), || sum(n - 2));
        a + b
    }
    SIZES.into_iter().for_each(|n| {
        tasks_wait_for_jobs(n, |_, job| {
            heist::spawn(move || {
                assert!(current_thread_index().is_some(), "a job behind a blocked task has its permit");
                assert_eq!(heist::join(|| sum(12), || sum(11)), (144, 89));
                job();
            });
        });
    });
}
