//! The second half of a join whose first half has panicked is no part of that panic: it runs as if nothing had happened.

use heist::prelude::*;
use heist::{ThreadPool, ThreadPoolBuilder, join, join_context};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::panicking;

const ITEMS: usize = 100_000;

/// What asks whether the thread panics: a fused loop, and a guard such as that of a mutex.
#[derive(Default)]
struct Second {
    items: AtomicUsize,
    dropped_calmly: AtomicUsize,
}

struct Guard<'a>(&'a AtomicUsize);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if !panicking() {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Second {
    /// The guard inside is dropped at the end, the one outside with the half's result.
    fn run(&self) -> Guard<'_> {
        let _inside = Guard(&self.dropped_calmly);
        (0..ITEMS).into_par_iter().panic_fuse().for_each(|_| {
            self.items.fetch_add(1, Ordering::Relaxed);
        });
        Guard(&self.dropped_calmly)
    }

    #[track_caller]
    fn check(&self) {
        assert_eq!(self.items.load(Ordering::Relaxed), ITEMS, "items of the loop");
        assert_eq!(self.dropped_calmly.load(Ordering::Relaxed), 2, "guards dropped outside of a panic");
    }
}

fn check(pool: &ThreadPool, run: impl Fn(&Second) + Send + Sync) {
    for _ in 0..20 {
        let second = Second::default();
        let panic = catch_unwind(AssertUnwindSafe(|| pool.install(|| run(&second)))).unwrap_err();
        assert_eq!(*panic.downcast::<u32>().unwrap(), 7);
        second.check();
    }
}

fn pools() -> [ThreadPool; 2] {
    [1, 2].map(|threads| ThreadPoolBuilder::new().num_threads(threads).build().unwrap())
}

#[test]
fn the_second_half_of_a_join_runs_outside_of_the_panic() {
    for pool in pools() {
        check(&pool, |second| drop(join(|| panic_any(7u32), || second.run())));
        check(&pool, |second| drop(join_context(|_| panic_any(7u32), |_| second.run())));
    }
}

#[test]
fn the_second_half_of_a_fork_runs_outside_of_the_panic() {
    for pool in pools() {
        check(&pool, |second| {
            heist::fork(|f| drop(f.join(|_| panic_any(7u32), |_| second.run())));
        });
    }
}

/// The panic comes from below, through a join whose own second half has been over for long.
#[test]
fn a_panic_from_further_in_is_over_as_well() {
    for pool in pools() {
        check(&pool, |second| {
            let inner = || join(|| (), || panic_any(7u32));
            drop(join(inner, || second.run()));
        });
    }
}

/// A join in a destructor that runs because of a panic: its halves run inside that panic, as all destructors do, and a panic
/// of theirs that is caught in there does no harm.
#[test]
fn a_join_inside_a_panic_may_panic_and_be_caught() {
    struct Joins<'a>(&'a AtomicUsize);
    impl Drop for Joins<'_> {
        fn drop(&mut self) {
            let inner = catch_unwind(AssertUnwindSafe(|| {
                join(
                    || panic_any(8u32),
                    || {
                        self.0.fetch_add(1, Ordering::Relaxed);
                    },
                )
            }));
            assert_eq!(*inner.unwrap_err().downcast::<u32>().unwrap(), 8);
        }
    }
    for pool in pools() {
        let ran = AtomicUsize::new(0);
        let outer = catch_unwind(AssertUnwindSafe(|| {
            pool.install(|| {
                let _joins = Joins(&ran);
                panic_any(7u32);
            });
        }));
        assert_eq!(*outer.unwrap_err().downcast::<u32>().unwrap(), 7);
        assert_eq!(ran.into_inner(), 1);
    }
}

/// A value whose drop panics.
struct Armed;

impl Drop for Armed {
    fn drop(&mut self) {
        panic_any(9u32);
    }
}

/// The result that nobody gets must not replace the panic that is to arrive.
#[test]
fn a_result_whose_drop_panics_does_not_hide_the_panic_of_a_job() {
    for pool in pools() {
        let scoped = catch_unwind(AssertUnwindSafe(|| {
            drop(pool.scope(|s| {
                s.spawn(|_| panic_any(7u32));
                Armed
            }));
        }));
        assert_eq!(*scoped.unwrap_err().downcast::<u32>().unwrap(), 7);
    }
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let broadcast = catch_unwind(AssertUnwindSafe(|| {
        pool.broadcast(|c| if c.index() == 0 { panic_any(7u32) } else { Armed }).truncate(0);
    }));
    assert_eq!(*broadcast.unwrap_err().downcast::<u32>().unwrap(), 7);
}
