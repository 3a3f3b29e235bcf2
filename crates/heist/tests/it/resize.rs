//! How many threads may run at once is changed while they do: nothing is lost, nothing runs twice, and the law of indices holds.

use crate::rig::watchdog::watch;
use heist::prelude::*;
use heist::{ThreadPool, ThreadPoolBuilder};
use heist_sync::rand::Random;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

fn pool(active: usize, most: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(active).max_num_threads(most).build().unwrap()
}

/// Waits for `is_so`, and says what did not come about.
#[track_caller]
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::yield_now();
    }
}

fn spin(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[test]
fn numbers_that_cannot_be_had_are_refused_with_both_named() {
    let _watch = watch!();
    let pool = pool(1, 2);
    let error = pool.set_num_threads(3).unwrap_err().to_string();
    assert!(error.contains("set_num_threads(3)") && error.contains("the 2 threads"), "{error}");
    assert_eq!((pool.active_num_threads(), pool.current_num_threads()), (1, 2));
    let error = ThreadPoolBuilder::new().num_threads(3).max_num_threads(2).build().unwrap_err();
    assert!(format!("{error:?}").contains("max_num_threads(2)"), "{error:?}");
    let most = heist::max_num_threads();
    let error = ThreadPoolBuilder::new().num_threads(1).max_num_threads(most + 1).build().unwrap_err();
    assert!(format!("{error:?}").contains("more than a pool can have"), "{error:?}");
}

#[test]
fn a_pool_grows_to_its_most_and_runs_so_many_at_once() {
    let _watch = watch!();
    let pool = pool(1, 4);
    pool.set_num_threads(4).unwrap();
    // Each waits for all others.
    let here = AtomicUsize::new(0);
    pool.broadcast(|_| {
        here.fetch_add(1, Ordering::SeqCst);
        wait_until("all four run", || here.load(Ordering::SeqCst) == 4);
    });
    let indices = Mutex::new(Vec::new());
    pool.scope(|s| {
        for _ in 0..4 {
            s.spawn(|_| {
                indices.lock().unwrap().push(heist::current_thread_index().unwrap());
                wait_until("each has an index of its own", || indices.lock().unwrap().len() == 4);
            });
        }
    });
    let mut indices = indices.into_inner().unwrap();
    indices.sort_unstable();
    assert_eq!(indices, [0, 1, 2, 3]);
}

#[test]
fn fewer_run_after_the_next_job_boundary() {
    let _watch = watch!();
    let pool = pool(4, 4);
    for n in [3, 1, 2] {
        pool.set_num_threads(n).unwrap();
        assert_eq!(
            pool.broadcast(|c| (c.index(), c.num_threads())),
            (0..n).map(|i| (i, n)).collect::<Vec<_>>()
        );
        // What ran above that number has ended: these are all that run.
        wait_until("no more run at once than are active", || {
            let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            pool.scope(|s| {
                for _ in 0..32 {
                    s.spawn(|_| {
                        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        spin(Duration::from_micros(200));
                        now.fetch_sub(1, Ordering::SeqCst);
                    });
                }
            });
            most.into_inner() <= n
        });
    }
}

/// Not even what comes just after: a thread that is starting, looks for work, or ends a job at that moment takes nothing more.
#[test]
fn with_none_nothing_runs_that_is_queued_afterwards() {
    let _watch = watch!();
    for round in 0..60 {
        let pool = pool(2, 2);
        // New, with threads that search, and with threads that are busy.
        match round % 3 {
            0 => {}
            1 => drop(pool.join(|| spin(Duration::from_micros(20)), || spin(Duration::from_micros(20)))),
            _ => (0..8).for_each(|_| pool.spawn(|| spin(Duration::from_micros(50)))),
        }
        let early = Arc::new(AtomicUsize::new(0));
        let may_run = Arc::new(AtomicBool::new(false));
        let ended = Arc::new(AtomicUsize::new(0));
        pool.set_num_threads(0).unwrap();
        let note = || {
            let (early, may_run, ended) = (early.clone(), may_run.clone(), ended.clone());
            move || {
                early.fetch_add(usize::from(!may_run.load(Ordering::SeqCst)), Ordering::SeqCst);
                ended.fetch_add(1, Ordering::SeqCst);
            }
        };
        for _ in 0..20 {
            pool.spawn(note());
            let run = note();
            drop(pool.spawn_task(async move { run() }));
        }
        // Nothing happens, so there is nothing to wait for.
        std::thread::sleep(Duration::from_millis(2));
        may_run.store(true, Ordering::SeqCst);
        pool.set_num_threads(1 + round % 2).unwrap();
        wait_until("all have run", || ended.load(Ordering::SeqCst) == 40);
        assert_eq!(early.load(Ordering::SeqCst), 0, "round {round}");
    }
}

#[test]
fn with_none_nothing_runs_until_there_are_some() {
    let _watch = watch!();
    let pool = pool(2, 2);
    pool.set_num_threads(0).unwrap();
    assert_eq!(pool.broadcast(|c| c.index()), [] as [usize; 0]);
    let (send, receive) = mpsc::channel();
    let from_job = send.clone();
    pool.spawn(move || from_job.send("job").unwrap());
    let from_task = send.clone();
    let task = heist::task::spawn_in(&pool, async move { from_task.send("task").unwrap() });
    let ran_early = std::thread::scope(|s| {
        s.spawn(|| pool.install(|| send.send("install").unwrap()));
        let ran_early = receive.recv_timeout(Duration::from_millis(100));
        pool.set_num_threads(1).unwrap();
        let mut all: Vec<_> =
            (0..3).map(|_| receive.recv_timeout(Duration::from_secs(20)).unwrap()).collect();
        all.sort_unstable();
        assert_eq!(all, ["install", "job", "task"]);
        ran_early
    });
    assert!(ran_early.is_err(), "{ran_early:?} ran");
    drop(task);
}

#[test]
fn shutdown_and_drop_run_what_was_accepted_with_none_active() {
    let _watch = watch!();
    for is_shutdown in [false, true] {
        let pool = pool(2, 2);
        pool.set_num_threads(0).unwrap();
        let ran = Arc::new(AtomicUsize::new(0));
        for _ in 0..10 {
            let ran = Arc::clone(&ran);
            pool.spawn(move || {
                ran.fetch_add(1, Ordering::SeqCst);
            });
        }
        if is_shutdown {
            pool.shutdown().unwrap();
        } else {
            drop(pool);
        }
        wait_until("all jobs have run", || ran.load(Ordering::SeqCst) == 10);
    }
}

#[test]
fn a_job_that_has_asked_keeps_its_index_across_waits_while_it_is_not_active() {
    let _watch = watch!();
    let pool = pool(2, 2);
    for _ in 0..50 {
        pool.set_num_threads(2).unwrap();
        let indices = pool.broadcast(|c| {
            let before = heist::current_thread_index();
            if c.index() == 0 {
                pool.set_num_threads(1).unwrap();
            }
            heist::join(|| spin(Duration::from_micros(20)), || spin(Duration::from_micros(20)));
            heist::blocking(std::thread::yield_now);
            assert_eq!(heist::current_thread_index(), before);
            before.unwrap()
        });
        assert_eq!(indices, [0, 1]);
    }
}

#[test]
fn a_loop_in_the_middle_uses_fewer_threads_and_more_again() {
    let _watch = watch!();
    let pool = pool(2, 2);
    let (stop, ran) = (AtomicBool::new(false), AtomicUsize::new(0));
    // How many threads are inside of an item, sampled by the items themselves.
    let (now, alone, together) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|s| {
        s.spawn(|| {
            pool.install(|| {
                (0..usize::MAX / 2)
                    .into_par_iter()
                    .take_any_while(|_| !stop.load(Ordering::Relaxed))
                    .for_each(|_| {
                        let others = now.fetch_add(1, Ordering::SeqCst);
                        spin(Duration::from_micros(20));
                        let at_end = now.fetch_sub(1, Ordering::SeqCst);
                        let is_alone = others == 0 && at_end == 1;
                        if is_alone { &alone } else { &together }.fetch_add(1, Ordering::Relaxed);
                        ran.fetch_add(1, Ordering::Relaxed);
                    });
            });
        });
        let _stop = Stop(&stop);
        for round in 0..3 {
            pool.set_num_threads(2).unwrap();
            let before = together.load(Ordering::Relaxed);
            wait_until("both run items", || together.load(Ordering::Relaxed) > before + 100);
            pool.set_num_threads(1).unwrap();
            wait_until("one runs items most of the time", || {
                let (a, t) = (alone.load(Ordering::Relaxed), together.load(Ordering::Relaxed));
                let begun = ran.load(Ordering::Relaxed);
                wait_until("items run", || ran.load(Ordering::Relaxed) > begun + 500);
                let (a, t) = (alone.load(Ordering::Relaxed) - a, together.load(Ordering::Relaxed) - t);
                a > 4 * t
            });
            pool.set_num_threads(0).unwrap();
            wait_until("nothing runs", || {
                let before = ran.load(Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(30));
                ran.load(Ordering::Relaxed) == before
            });
            assert!(ran.load(Ordering::Relaxed) > 100 * round);
        }
        pool.set_num_threads(2).unwrap();
    });
}

/// A thread that has stood aside does not go on beside as many as there are permits.
#[test]
fn as_many_run_as_there_are_permits_when_there_are_more_again() {
    let _watch = watch!();
    let pool = pool(2, 2);
    let stop = AtomicBool::new(false);
    let (now, ran, crowded) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|s| {
        s.spawn(|| {
            pool.install(|| {
                (0..4_000_000).into_par_iter().for_each(|_| {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let others = now.fetch_add(1, Ordering::SeqCst);
                    spin(Duration::from_micros(20));
                    now.fetch_sub(1, Ordering::SeqCst);
                    crowded.fetch_add(usize::from(others >= 2), Ordering::Relaxed);
                    ran.fetch_add(1, Ordering::Relaxed);
                });
            });
        });
        let _stop = Stop(&stop);
        for _ in 0..5 {
            for active in [1, 2] {
                let (items, before) = (ran.load(Ordering::Relaxed), crowded.load(Ordering::Relaxed));
                pool.set_num_threads(active).unwrap();
                wait_until("items run", || ran.load(Ordering::Relaxed) > items + 5_000);
                let crowded = crowded.load(Ordering::Relaxed) - before;
                assert!(
                    crowded < 2_500,
                    "three ran at once in {crowded} of 5,000 items, with {active} permits"
                );
            }
        }
    });
}

/// Ends the loop also if an assertion fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_lock_held_around_a_loop_that_the_others_wait_for_is_released() {
    let _watch = watch!();
    let pool = pool(2, 2);
    for _ in 0..5 {
        pool.set_num_threads(2).unwrap();
        let (lock, is_locked) = (Mutex::new(()), AtomicBool::new(false));
        pool.scope(|s| {
            s.spawn(|_| {
                let _guard = lock.lock().unwrap();
                is_locked.store(true, Ordering::SeqCst);
                (0..2_000).into_par_iter().for_each(|_| spin(Duration::from_micros(10)));
            });
            s.spawn(|_| {
                wait_until("the lock is held", || is_locked.load(Ordering::SeqCst));
                pool.set_num_threads(1).unwrap();
                // One of the two has a permit that is not active. Whichever it is, both come to their end.
                while lock.try_lock().is_err() {
                    std::hint::spin_loop();
                }
            });
        });
    }
}

/// The rest of a loop that nobody takes is run in turns, each inside of the last: there must be few of them, or the stack ends.
#[test]
fn a_loop_that_nobody_takes_goes_on_in_few_turns() {
    let _watch = watch!();
    let pool = pool(2, 2);
    let (is_over, ran, parts) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|s| {
        let stop = Stop(&is_over);
        // The one that stays active is busy to the end.
        s.spawn(|| {
            pool.broadcast(|c| match c.index() {
                0 => wait_until("the end", || is_over.load(Ordering::Relaxed)),
                _ => {
                    let goes_on = |_: &usize| !is_over.load(Ordering::Relaxed);
                    let part = || {
                        parts.fetch_add(1, Ordering::Relaxed);
                    };
                    let items = (0..usize::MAX / 2).into_par_iter().take_any_while(goes_on);
                    let parts = items.fold(part, |(), _| {
                        ran.fetch_add(1, Ordering::Relaxed);
                        spin(Duration::from_micros(20));
                    });
                    parts.for_each(drop);
                }
            });
        });
        wait_until("the loop has begun", || ran.load(Ordering::Relaxed) > 100);
        pool.set_num_threads(1).unwrap();
        let before = ran.load(Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(1500));
        wait_until("the loop goes on", || ran.load(Ordering::Relaxed) > before);
        drop(stop);
    });
    let parts = parts.into_inner();
    assert!(parts < 40, "{parts} parts");
}

#[test]
fn where_thread_and_permit_are_one_all_start_and_those_not_active_sleep() {
    let _watch = watch!();
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .max_num_threads(3)
        .spawn_handler(|thread| {
            std::thread::spawn(|| thread.run());
            Ok(())
        })
        .build()
        .unwrap();
    for n in [3, 1, 2, 0, 3].into_iter().cycle().take(200) {
        pool.set_num_threads(n).unwrap();
        assert_eq!(pool.broadcast(|c| c.index()), (0..n).collect::<Vec<_>>());
        if n > 0 {
            let sum: u64 = pool.install(|| (0..10_000u64).into_par_iter().map(|i| i + 1).sum());
            assert_eq!(sum, 50_005_000);
        }
    }
}

#[test]
fn ticks_of_an_index_that_is_not_active_run_elsewhere_also_if_they_are_pinned() {
    let _watch = watch!();
    use heist::tick::{self, Next};
    let pool = pool(2, 2);
    let runs: Vec<_> = (0..4).map(|_| Arc::new(AtomicUsize::new(0))).collect();
    let handles: Vec<_> = runs
        .iter()
        .enumerate()
        .map(|(n, runs)| {
            let runs = Arc::clone(runs);
            let every = tick::every(Duration::from_millis(2));
            let every = if n % 2 == 0 { every.pinned() } else { every };
            every.spawn_on(&pool, move |_| {
                runs.fetch_add(1, Ordering::Relaxed);
                Next::Continue
            })
        })
        .collect();
    let all_run = |what: &str| {
        let before: Vec<_> = runs.iter().map(|runs| runs.load(Ordering::Relaxed)).collect();
        wait_until(what, || {
            runs.iter().zip(&before).all(|(now, before)| now.load(Ordering::Relaxed) > before + 5)
        });
    };
    for _ in 0..3 {
        all_run("all ticks run with two");
        pool.set_num_threads(1).unwrap();
        all_run("all ticks run with one");
        pool.set_num_threads(0).unwrap();
        pool.set_num_threads(2).unwrap();
    }
    for handle in handles {
        handle.cancel_and_wait();
    }
}

/// Jobs, loops, tasks, timers, ticks and guests while the number goes up and down at random. `HEIST_RESIZES` says how often. How late what
/// waits is after a stop is measured by the benchmark (`resize`).
#[test]
fn a_storm_loses_nothing_and_no_index_is_used_by_two() {
    let _watch = watch!();
    const MOST: usize = 8;
    let times: usize = std::env::var("HEIST_RESIZES").map_or(1_000, |times| times.parse().expect("a number"));
    let pool = ThreadPoolBuilder::new().num_threads(2).max_num_threads(MOST).guests(true).build().unwrap();
    let in_use: [AtomicBool; MOST] = Default::default();
    let with_index = |f: &dyn Fn()| {
        let index = heist::current_thread_index().expect("a job has an index");
        assert!(!in_use[index].swap(true, Ordering::SeqCst), "index {index} is used by two");
        f();
        assert_eq!(heist::current_thread_index(), Some(index));
        assert!(in_use[index].swap(false, Ordering::SeqCst));
    };
    let is_over = AtomicBool::new(false);
    let ran = [const { AtomicUsize::new(0) }; 4];
    let ticked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&ticked);
    let tick = heist::tick::every(Duration::from_millis(1)).spawn_on(&pool, move |cx| {
        counted.fetch_add(cx.count() as usize, Ordering::SeqCst);
        heist::tick::Next::Continue
    });
    let goes_on = || !is_over.load(Ordering::Relaxed);
    std::thread::scope(|s| {
        let _over = Stop(&is_over);
        // Scopes of jobs that ask for their index and keep it over a join.
        s.spawn(|| {
            while goes_on() {
                let before = ran[0].load(Ordering::SeqCst);
                pool.scope(|s| {
                    for _ in 0..50 {
                        s.spawn(|_| {
                            with_index(&|| spin(Duration::from_micros(3)));
                            heist::join(|| spin(Duration::from_micros(5)), || spin(Duration::from_micros(5)));
                            ran[0].fetch_add(1, Ordering::SeqCst);
                        });
                    }
                });
                assert_eq!(ran[0].load(Ordering::SeqCst), before + 50);
            }
        });
        // Loops, by guests if there is a permit.
        for _ in 0..2 {
            s.spawn(|| {
                while goes_on() {
                    let n: usize = pool.install(|| (0..20_000usize).into_par_iter().map(|i| i % 7).sum());
                    assert_eq!(n, (0..20_000).map(|i| i % 7).sum::<usize>());
                    ran[1].fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        // Tasks with timers.
        s.spawn(|| {
            while goes_on() {
                let tasks: Vec<_> = (0..20)
                    .map(|n| {
                        heist::task::spawn_in(&pool, async move {
                            heist::time::sleep(Duration::from_micros(100 * n)).await;
                            n
                        })
                    })
                    .collect();
                let sum: u64 = tasks.into_iter().map(|task| heist::block_on(task).unwrap()).sum();
                assert_eq!(sum, 190);
                ran[2].fetch_add(1, Ordering::SeqCst);
            }
        });
        // Broadcasts.
        s.spawn(|| {
            while goes_on() {
                let indices = pool.broadcast(|c| c.index());
                assert_eq!(indices, (0..indices.len()).collect::<Vec<_>>());
                ran[3].fetch_add(1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        let mut random = Random::new(7);
        for time in 0..times {
            let n = random.below(MOST + 1);
            pool.set_num_threads(n).unwrap();
            assert_eq!(pool.active_num_threads(), n);
            // A stop is short, and now and then as long as it may be.
            let us = match (n, time % 50) {
                (0, 0..5) => 100_000,
                (0, _) => 500,
                _ => random.below(3_000) as u64,
            };
            std::thread::sleep(Duration::from_micros(us));
        }
        for n in [0, 1] {
            pool.set_num_threads(n).unwrap();
            std::thread::sleep(Duration::from_millis(100));
        }
        // Each kind goes on with one.
        let before = ran.each_ref().map(|ran| ran.load(Ordering::SeqCst));
        wait_until("each kind goes on", || {
            ran.iter().zip(before).all(|(now, before)| now.load(Ordering::SeqCst) > before)
        });
    });
    let before = ticked.load(Ordering::SeqCst);
    wait_until("the tick goes on", || ticked.load(Ordering::SeqCst) > before);
    tick.cancel_and_wait();
    pool.set_num_threads(MOST).unwrap();
    assert_eq!(pool.broadcast(|c| c.index()), (0..MOST).collect::<Vec<_>>());
}
