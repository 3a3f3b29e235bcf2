//! `par_bridge`: every item once, none behind another that takes long, and little read ahead.

use heist::prelude::*;
use heist::{ThreadPool, ThreadPoolBuilder};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

const WORKERS: [usize; 4] = [1, 2, 4, 7];

fn pool(n: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(n).build().unwrap()
}

/// An iterator that does not know how long it is.
fn unsized_iter<T>(mut iter: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
    std::iter::from_fn(move || iter.next())
}

/// Takes about `us` microseconds of a core.
fn compute(us: u64) {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_micros(us) {
        std::hint::spin_loop();
    }
}

/// Light, heavy and mixed items, from iterators that know their length and from such that do not.
#[test]
fn every_item_is_handled_once() {
    type Cost = fn(usize) -> u64;
    let costs: [(&str, Cost); 4] = [
        ("light", |_| 0),
        ("heavy", |_| 20),
        ("mixed", |i| (i % 50 / 49) as u64 * 100),
        ("late", |i| (i > 700) as u64 * 10),
    ];
    for workers in WORKERS {
        let pool = pool(workers);
        for (name, cost) in costs {
            for len in [0, 1, 2, 31, 32, 33, 1000] {
                for knows_len in [false, true] {
                    let seen: Vec<_> = (0..len).map(|_| AtomicUsize::new(0)).collect();
                    let handle = |i: usize| {
                        compute(cost(i));
                        seen[i].fetch_add(1, Ordering::Relaxed);
                    };
                    pool.install(|| {
                        if knows_len {
                            (0..len).par_bridge().for_each(handle)
                        } else {
                            unsized_iter(0..len).par_bridge().for_each(handle)
                        }
                    });
                    let once = seen.iter().all(|n| n.load(Ordering::Relaxed) == 1);
                    assert!(
                        once,
                        "{name} items, {len} of them, {workers} workers, length known: {knows_len}"
                    );
                }
            }
        }
    }
}

/// Items that wait for each other, from an iterator that cannot tell how many there are: they end only if as many as there are workers run
/// at once.
#[test]
fn no_item_waits_behind_another_that_takes_long() {
    for workers in [2, 4] {
        let pool = pool(workers);
        for rounds in [1, 5] {
            let meet = Barrier::new(workers);
            pool.install(|| unsized_iter(0..workers * rounds).par_bridge().for_each(|_| _ = meet.wait()));
        }
    }
}

/// The source blocks. Meanwhile another worker is there for other jobs, for which the source waits.
#[test]
fn a_pull_that_blocks_keeps_no_other_worker() {
    let pool = pool(2);
    let (send, receive) = channel();
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let send = send;
            for n in 0..20 {
                let (ran, runs) = channel();
                pool.spawn(move || ran.send(()).unwrap());
                runs.recv_timeout(Duration::from_secs(20)).expect("a worker is free for another job");
                send.send(n).unwrap();
            }
        });
        assert_eq!(pool.install(|| receive.into_iter().par_bridge().count()), 20);
    });
}

#[test]
fn little_is_read_ahead() {
    for workers in WORKERS {
        let pool = pool(workers);
        for hit in [0, 10, 5_000] {
            let mut numbers = 0..usize::MAX;
            let found = pool.install(|| numbers.by_ref().par_bridge().find_any(|&n| n >= hit));
            assert!(found.is_some_and(|n| n >= hit));
            let ahead = numbers.start - hit;
            assert!(ahead <= 4096 * (workers + 1), "{ahead} items pulled beyond {hit}, {workers} workers");
        }
    }
}

/// `next` panics: what was pulled before it is handled or dropped, once, and the panic arrives.
#[test]
fn a_panic_of_the_iterator_loses_nothing() {
    struct Counted<'a>(&'a AtomicUsize);
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    for workers in WORKERS {
        let pool = pool(workers);
        for at in [0, 1, 100, 5000] {
            let (made, dropped) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let items = || {
                (0..10_000).map(|i| {
                    assert!(i < at, "out of items");
                    made.fetch_add(1, Ordering::Relaxed);
                    Counted(&dropped)
                })
            };
            let caught = pool.install(|| {
                catch_unwind(AssertUnwindSafe(|| {
                    items().par_bridge().for_each(|item| (compute(1), drop(item)).1)
                }))
            });
            let message = caught.unwrap_err().downcast::<&str>().map(|text| *text);
            assert_eq!(message.ok(), Some("out of items"));
            assert_eq!(made.into_inner(), at);
            assert_eq!(dropped.into_inner(), at, "{workers} workers");
        }
    }
}

/// A part that waits inside `next` may meet another part on its own thread where waits help: it does not wait for itself.
#[test]
fn next_may_wait_for_parallel_work() {
    let start = |thread: heist::ThreadBuilder| std::thread::Builder::new().spawn(|| thread.run()).map(drop);
    for pool in [pool(2), ThreadPoolBuilder::new().num_threads(2).spawn_handler(start).build().unwrap()] {
        let sum = Mutex::new(0);
        pool.install(|| {
            let source = unsized_iter((0..200u64).map(|n| {
                let (a, b) = heist::join(|| (compute(20), n).1, || (compute(40), n).1);
                a + b
            }));
            source.par_bridge().for_each(|n| *sum.lock().unwrap() += n);
        });
        assert_eq!(*sum.lock().unwrap(), 199 * 200);
    }
}

/// The source sends the next item when the last one has been handled: no item may wait in a batch for the one behind it.
#[test]
fn a_source_that_waits_for_each_answer() {
    for workers in [1, 2, 4] {
        let pool = pool(workers);
        for burst in [0, 1000] {
            let (send, items) = channel();
            let (reply, replies) = channel();
            std::thread::scope(|threads| {
                threads.spawn(|| {
                    let (send, replies) = (send, replies);
                    // Quick ones first, so that batches could grow.
                    (0..burst).for_each(|n| send.send(n).unwrap());
                    for answered in 0..burst + 100 {
                        if answered >= burst {
                            send.send(answered).unwrap();
                        }
                        replies
                            .recv_timeout(Duration::from_secs(20))
                            .expect("the item is handled before the next comes");
                    }
                });
                let reply = Mutex::new(reply);
                pool.install(|| {
                    items.into_iter().par_bridge().for_each(|n| reply.lock().unwrap().send(n).unwrap())
                });
            });
        }
    }
}
