//! How loops are divided: what the user can see of it.

use heist::{ThreadPool, ThreadPoolBuilder};
use heist_iter::prelude::*;
use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

fn pool(workers: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(workers).build().unwrap()
}

/// Keeps the core busy.
fn work(time: Duration) {
    let since = Instant::now();
    while since.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// The lengths of the stretches that a loop of `len` items was divided into.
fn stretches<I: IndexedParallelIterator>(iter: I) -> Vec<usize> {
    iter.fold(|| 0, |n, _| n + 1).collect()
}

#[test]
fn bounds_are_kept() {
    for workers in [1, 2, 4] {
        pool(workers).install(|| {
            for len in [0usize, 1, 10, 999, 1000, 10_000] {
                for (min, max) in [(1, 1), (1, 10), (7, 20), (100, 1000), (5000, usize::MAX), (1, usize::MAX)]
                {
                    let lengths = stretches((0..len).into_par_iter().with_min_len(min).with_max_len(max));
                    assert_eq!(lengths.iter().sum::<usize>(), len);
                    let case = format!("{len} items, {min} to {max}: {lengths:?}");
                    assert!(lengths.iter().all(|n| *n <= max || *n < 2 * min), "{case}");
                    assert!(lengths.len() == 1 || lengths.iter().all(|n| *n >= min), "{case}");
                }
            }
        });
    }
}

#[test]
fn with_a_maximum_of_one_every_item_is_a_part() {
    assert_eq!(stretches((0..500).into_par_iter().with_max_len(1)).len(), 500);
    assert_eq!(stretches((0..500).into_par_iter().with_max_len(0)).len(), 500);
}

#[test]
fn a_loop_on_one_worker_is_one_stretch() {
    pool(1).install(|| {
        let inits = AtomicUsize::new(0);
        let init = || inits.fetch_add(1, Ordering::Relaxed);
        (0..1_000_000).into_par_iter().for_each_init(init, |_, _| ());
        assert_eq!(inits.load(Ordering::Relaxed), 1);
        assert_eq!(stretches((0..1_000_000).into_par_iter()).len(), 1);
    });
}

#[test]
fn values_are_made_once_per_stretch_not_per_block() {
    pool(2).install(|| {
        for indexed in [false, true] {
            let inits = AtomicUsize::new(0);
            let init = || inits.fetch_add(1, Ordering::Relaxed);
            let items = 100_000;
            let each = |_: &mut usize, n: usize| {
                if n.is_multiple_of(100) {
                    work(Duration::from_micros(20));
                }
            };
            let mapped = (0..items).into_par_iter().map_init(init, each);
            if indexed {
                mapped.collect_into_vec(&mut Vec::new());
            } else {
                mapped.for_each(drop);
            }
            // 20 ms of work are some 2,000 blocks. Stretches end where work changes hands, and, where the consumer
            // wants to know them in advance, by shares of the rest.
            let inits = inits.into_inner();
            assert!(inits <= 500, "indexed: {indexed}, {inits} times");
        }
    });
}

#[test]
fn few_heavy_items_are_shared_from_the_start() {
    pool(2).install(|| {
        for len in [2, 3, 4, 8] {
            let threads = Mutex::new(HashSet::new());
            // Both workers take part, or the loop would last far longer than this on one of them alone.
            let deadline = Instant::now() + Duration::from_secs(10);
            (0..len).into_par_iter().for_each(|_| {
                threads.lock().unwrap().insert(heist::current_thread_index());
                while threads.lock().unwrap().len() < 2 && Instant::now() < deadline {
                    std::thread::yield_now();
                }
            });
            assert_eq!(threads.into_inner().unwrap().len(), 2, "{len} items");
        }
    });
}

#[test]
fn a_heavy_corner_is_divided() {
    // Cheap items first, so that blocks have grown when the heavy ones come, all of them at one end.
    for heavy in [0..64usize, 99_936..100_000] {
        for collect in [false, true] {
            let is_divided = || {
                let shares = [const { AtomicUsize::new(0) }; 2];
                let is_shared = || shares.iter().all(|share| share.load(Ordering::Relaxed) >= 8);
                pool(2).install(|| {
                    let each = |n: usize| {
                        if heavy.contains(&n) {
                            shares[heist::current_thread_index().unwrap()].fetch_add(1, Ordering::Relaxed);
                            // Long enough for another thread to get a core, if there is a part for it.
                            let since = Instant::now();
                            while !is_shared() && since.elapsed() < Duration::from_millis(10) {
                                std::thread::yield_now();
                            }
                        }
                    };
                    let mapped = (0..100_000).into_par_iter().map(each);
                    if collect { drop(mapped.collect::<Vec<()>>()) } else { mapped.for_each(drop) }
                });
                assert_eq!(shares.iter().map(|share| share.load(Ordering::Relaxed)).sum::<usize>(), 64);
                is_shared()
            };
            // Not an equal share, and not every time: other programs may take the core away. But a corner that is not
            // divided never is.
            assert!((0..20).any(|_| is_divided()), "heavy at {heavy:?}, collect: {collect}");
        }
    }
}

#[test]
fn a_find_stops_the_others() {
    pool(3).install(|| {
        let calls = AtomicUsize::new(0);
        let len = 50_000_000usize;
        let found = (0..len).into_par_iter().find_any(|n| {
            calls.fetch_add(1, Ordering::Relaxed);
            *n % (len / 2) == 1000
        });
        assert!(found.is_some());
        assert!(calls.into_inner() < len / 2);
    });
}

#[test]
fn find_first_stops_what_cannot_win() {
    pool(2).install(|| {
        let len = 50_000_000usize;
        let calls = AtomicUsize::new(0);
        let count = |yes: bool| {
            calls.fetch_add(1, Ordering::Relaxed);
            yes
        };
        assert_eq!((0..len).into_par_iter().find_first(|n| count(*n >= 10)), Some(10));
        assert!(calls.swap(0, Ordering::Relaxed) < len / 2);
        assert_eq!((0..len).into_par_iter().rev().find_first(|n| count(*n <= len - 10)), Some(len - 10));
        assert!(calls.into_inner() < len / 2);
    });
}

#[test]
fn a_blown_fuse_stops_the_others() {
    let calls = AtomicUsize::new(0);
    let len = 10_000_000usize;
    let result = std::panic::catch_unwind(|| {
        pool(2).install(|| {
            (0..len).into_par_iter().panic_fuse().for_each(|n| {
                calls.fetch_add(1, Ordering::Relaxed);
                if n % (len / 2) == 500 {
                    std::panic::resume_unwind(Box::new(()));
                }
            });
        });
    });
    assert!(result.is_err());
    assert!(calls.into_inner() < len);
}

#[test]
fn loops_run_on_the_pool() {
    // Outside of a pool: on the pool's threads, unless there is nothing to divide.
    (0..2).into_par_iter().for_each(|_| assert!(heist::current_thread_index().is_some()));
    (0..100).into_par_iter().filter(|_| true).for_each(|_| assert!(heist::current_thread_index().is_some()));
    "some text".par_chars().for_each(|_| assert!(heist::current_thread_index().is_some()));
    (0..100).par_bridge().for_each(|_| assert!(heist::current_thread_index().is_some()));
    (0..1).into_par_iter().for_each(|_| assert_eq!(heist::current_thread_index(), None));
}

#[test]
fn loops_in_loops() {
    let total: usize = pool(2).install(|| {
        (0..100usize)
            .into_par_iter()
            .map(|n| (0..n * 10).into_par_iter().map(|m| (0..m % 7).into_par_iter().count()).sum::<usize>())
            .sum()
    });
    let expected: usize = (0..100usize).map(|n| (0..n * 10).map(|m| m % 7).sum::<usize>()).sum();
    assert_eq!(total, expected);
}

/// The same loop, a thousand times next to nothing, and then a long one: it is divided in that very run. Not every time: other programs may
/// take the core away.
#[test]
fn a_loop_that_was_tiny_and_is_long_now_is_divided() {
    let pool = pool(2);
    let is_long = AtomicBool::new(false);
    let threads = Mutex::new(HashSet::new());
    let run = || {
        (0..100).into_par_iter().for_each(|_| {
            if is_long.load(Ordering::Relaxed) {
                threads.lock().unwrap().insert(std::thread::current().id());
                work(Duration::from_micros(100));
            }
        });
    };
    assert!((0..20).any(|_| {
        is_long.store(false, Ordering::Relaxed);
        pool.install(|| (0..1000).for_each(|_| run()));
        is_long.store(true, Ordering::Relaxed);
        pool.install(run);
        threads.lock().unwrap().drain().count() > 1
    }));
}

/// As many items as workers may wait for each other, also if the same loop was next to nothing before.
#[test]
fn as_many_items_as_workers_can_meet() {
    type Step<'a> = Box<dyn Fn() + Send + Sync + 'a>;
    fn run_all(steps: &[Step<'_>]) {
        steps.par_iter().for_each(|step| step());
    }
    for workers in [2, 4, 8] {
        let pool = pool(workers);
        let nothing: Vec<Step<'_>> = (0..workers).map(|_| Box::new(|| ()) as Step<'_>).collect();
        let meet = std::sync::Barrier::new(workers);
        let meeting: Vec<Step<'_>> = (0..workers).map(|_| Box::new(|| _ = meet.wait()) as Step<'_>).collect();
        for _ in 0..20 {
            pool.install(|| (0..100).for_each(|_| run_all(&nothing)));
            pool.install(|| run_all(&meeting));
        }
    }
}
