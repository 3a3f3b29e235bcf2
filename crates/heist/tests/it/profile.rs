//! Profiles: what they do to the pool, and what they say about it.

use crate::profile_clock::{Alone, burdened, profiled, work};
use crate::rig::watchdog::watch;
use heist::profile::region;
use heist_pool::raw::forks::hot;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = heist::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn fork(first: u64, second: u64) {
    heist::join(|| work(first), || work(second));
}

const FIB: u64 = 15;
const FORKS_OF_FIB: u64 = 986;

fn one_worker() -> heist::ThreadPool {
    heist::ThreadPoolBuilder::new().num_threads(1).build().unwrap()
}

#[test]
fn forks_are_fast_again_afterwards() {
    let _dog = watch!();
    let _alone = Alone::here();
    one_worker().install(|| {
        let slow = |run: &dyn Fn()| {
            let before = hot().slow_pushes();
            run();
            hot().slow_pushes() - before
        };
        let plain = || assert_eq!(fib(FIB), 610);
        // Without `membarrier` all pushes take the slow path at all times.
        let fewest = if heist_sync::barrier::is_asymmetric() { 0 } else { FORKS_OF_FIB };
        let is_as_ever = || (fewest..fewest + 10).contains(&slow(&plain));
        assert!(is_as_ever());
        let measured = || assert_eq!(heist::profile(plain).1.forks(), FORKS_OF_FIB);
        let all = slow(&measured);
        assert!((FORKS_OF_FIB..FORKS_OF_FIB + 10).contains(&all), "{all}");
        // A request may have come meanwhile.
        assert!(is_as_ever());
        let panicked = || drop(catch_unwind(|| heist::profile(|| heist::join(|| panic!("first"), || ()))));
        panicked();
        assert!(is_as_ever());
    });
}

#[test]
fn a_panic_in_a_half_goes_on_and_leaves_the_rest_measured() {
    let _dog = watch!();
    let _alone = Alone::here();
    for workers in [1, 3] {
        let pool = heist::ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
        for panics_first in [true, false] {
            let half = |panics: bool, ns: u64| {
                heist::join(|| work(ns), || work(ns));
                assert!(!panics, "meant to be");
                work(ns);
            };
            let run = || {
                work(1_000);
                let both = || heist::join(|| half(panics_first, 10_000), || half(!panics_first, 30_000));
                assert!(catch_unwind(AssertUnwindSafe(both)).is_err());
                work(2_000);
            };
            let ((), profile) = pool.install(|| profiled(run));
            let both = if panics_first { 20_000 + 90_000 } else { 30_000 + 60_000 };
            assert_eq!(profile.figures().work_ns, 3_000 + both);
            assert_eq!(profile.forks(), 3);
            // What comes after is measured as if nothing had happened.
            let ((), after) = pool.install(|| profiled(|| fork(4_000, 9_000)));
            assert_eq!((after.figures().work_ns, after.figures().span_ns), (13_000, 9_000));
        }
    }
}

#[test]
fn a_profile_inside_of_another_is_a_part_of_it() {
    let _dog = watch!();
    let _alone = Alone::here();
    let both = || fork(30_000, 20_000);
    let (inner, outer) = profiled(|| {
        work(1_000);
        let ((), inner) = profiled(both);
        both();
        inner
    });
    assert_eq!((inner.figures().work_ns, inner.figures().span_ns), (50_000, 30_000));
    assert_eq!((outer.figures().work_ns, outer.figures().span_ns), (101_000, 61_000));
    assert_eq!((inner.forks(), outer.forks()), (1, 2));
}

#[test]
fn two_clocks_at_once_are_refused_with_a_reason() {
    let _dog = watch!();
    let _alone = Alone::here();
    let (refused, _) = profiled(|| catch_unwind(|| heist::profile(|| ())));
    let payload = refused.unwrap_err();
    assert!(payload.downcast_ref::<&str>().is_some_and(|text| text.contains("another clock")));
    // Neither is left on.
    let (seven, profile) = heist::profile(|| 7);
    assert_eq!((seven, profile.forks()), (7, 0));
}

#[test]
fn a_call_from_outside_is_measured_with_what_comes_before_and_after() {
    let _dog = watch!();
    let _alone = Alone::here();
    // As a guest of the global pool, or on one of its workers: here a thread that is in no pool, and one pool that takes no guests.
    let pool = heist::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let outside = std::thread::spawn(move || {
        profiled(|| {
            work(1_000);
            heist::join(|| work(20_000), || work(30_000));
            pool.install(|| {
                work(2_000);
                heist::join(|| work(10_000), || work(15_000))
            });
            heist::in_place_scope(|s| {
                s.spawn(|_| work(50_000));
                work(5_000);
            });
            work(3_000);
        })
    });
    let ((), profile) = outside.join().unwrap();
    let figures = profile.figures();
    assert_eq!(figures.work_ns, 1_000 + 50_000 + 27_000 + 55_000 + 3_000);
    assert_eq!(figures.span_ns, 1_000 + 30_000 + 17_000 + 50_000 + 3_000);
}

/// The pool's other work is neither measured nor disturbed.
#[test]
fn other_work_of_the_pool_is_no_part_of_it() {
    let _dog = watch!();
    let _alone = Alone::here();
    let pool = heist::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let (is_over, has_forked) = (AtomicBool::new(false), AtomicBool::new(false));
    pool.in_place_scope(|s| {
        s.spawn(|_| {
            while !is_over.load(Ordering::Relaxed) {
                heist::join(|| work(77), || work(88));
                assert_eq!(fib(10), 55);
                has_forked.store(true, Ordering::Relaxed);
            }
        });
        while !has_forked.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        for _ in 0..50 {
            let ((), profile) = pool.install(|| {
                profiled(|| {
                    heist::spawn(|| work(5_555));
                    heist::join(|| work(10_000), || heist::join(|| work(20_000), || work(15_000)));
                })
            });
            assert_eq!((profile.figures().work_ns, profile.figures().span_ns), (45_000, 20_000));
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_half_that_costs_more_to_hand_over_than_to_run_stays() {
    let _dog = watch!();
    let _alone = Alone::here();
    let span = |first: u64, second: u64| {
        let ((), profile) = burdened(|| fork(first, second));
        profile.figures().burdened_ns
    };
    assert_eq!(span(10_000, 10_000), 11_000, "handed over");
    assert_eq!(span(10_000, 400), 10_000, "the first takes longer");
    assert_eq!(span(300, 400), 700, "one after the other");
}

#[test]
fn regions_contain_what_is_forked_in_them() {
    let _dog = watch!();
    let _alone = Alone::here();
    let ((), profile) = profiled(|| {
        for _ in 0..2 {
            let _outer = region("outer");
            work(1_000);
            heist::join(|| work(20_000), || work(30_000));
            let _inner = region("inner");
            work(4_000);
        }
        let _never_ended_inside = std::mem::ManuallyDrop::new(region("lost"));
    });
    let parts = &profile.figures().parts;
    let part = |name: &str| {
        let part = parts.iter().find(|part| part.name == name).unwrap();
        (part.times, part.work_ns, part.span_ns)
    };
    assert_eq!(part("outer"), (2, 2 * 55_000, 2 * 35_000));
    assert_eq!(part("inner"), (2, 2 * 4_000, 2 * 4_000));
    assert_eq!(parts.len(), 2);
    // One that was begun before the profile, or without one, says nothing.
    let before = region("before");
    let ((), profile) = profiled(|| drop(before));
    assert_eq!(profile.figures().parts, []);
}

#[test]
fn what_blocks_is_on_the_path_and_no_work() {
    let _dog = watch!();
    let _alone = Alone::here();
    let ((), profile) = one_worker().install(|| {
        profiled(|| {
            work(10_000);
            heist::blocking(|| work(50_000));
            work(20_000);
        })
    });
    assert_eq!((profile.figures().work_ns, profile.figures().span_ns), (30_000, 80_000));
}

#[test]
fn it_says_what_it_is_and_where_it_was_forked() {
    let _dog = watch!();
    let _alone = Alone::here();
    let (_, profile) = profiled(|| {
        heist::join(|| work(10_000), || work(20_000));
        fib(3)
    });
    let figures = profile.figures();
    assert_eq!(figures.sites.len(), 2);
    let longest = figures.sites.iter().max_by_key(|site| site.work_ns).unwrap();
    assert_eq!((longest.forks, longest.work_ns), (1, 30_000));
    if cfg!(target_os = "linux") {
        let exe = std::env::current_exe().unwrap().canonicalize().unwrap();
        assert_eq!(longest.file.as_deref(), exe.to_str());
    }
    let text = profile.to_string();
    assert!(text.contains("work           30.0 us in 4 pieces of 7.50 us"), "{text}");
    let (_, fine) = profiled(|| fib(5));
    assert!(fine.to_string().contains("too fine to tell"), "{fine}");
}

#[test]
fn tasks_and_ticks_that_run_meanwhile_are_counted_apart() {
    let _dog = watch!();
    let _alone = Alone::here();
    let pool = heist::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let ((), profile) = profiled(|| {
        work(10_000);
        pool.block_on(async {
            heist::task::spawn(async {
                heist::join(|| work(20_000), || work(30_000));
            })
            .await
            .unwrap();
        });
        // A poll is counted at its end, and that of a task may come after whoever waits for the task goes on.
        pool.broadcast(|_| ());
    });
    let figures = profile.figures();
    assert!(figures.polls.count >= 1);
    assert!(figures.polls.ns >= 50_000 && figures.polls.longest_ns >= 50_000, "{:?}", figures.polls);
    assert!(figures.work_ns < 60_000, "a task is no part of who waits for it");
}
