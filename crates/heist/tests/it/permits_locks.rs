//! Locks of every kind may be held across a join, whoever has the waiter's permit meanwhile: a job that has not asked for its index goes
//! on when its wait is over, and never waits for one who wants what it holds.
//!
//! A borrower that sleeps at a lock could be told from one that computes; one that spins cannot, which is why the spin lock is
//! here. Public bugs of this kind: rayon #592, aptos-core #19619, lighthouse #1562.

use crate::rig::compute::compute;
use crate::rig::fenced;
use crate::rig::pool::pool;
use crate::rig::watchdog::watch;
use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::cell::{RefCell, UnsafeCell};
use std::sync::{Arc, Mutex, OnceLock};

const SIZES: [usize; 3] = [2, 4, 16];

/// A lock whose waiters use their core all the time.
#[derive(Default)]
struct Spin {
    is_held: AtomicBool,
    value: UnsafeCell<usize>,
}

// SAFETY: the value is touched only between a swap of the flag to true (acquire) and its store to false (release).
unsafe impl Sync for Spin {}

impl Spin {
    /// `want` is called once if the lock is not free at once.
    fn with<R>(&self, want: impl FnOnce(), f: impl FnOnce(&mut usize) -> R) -> R {
        let mut want = Some(want);
        while self.is_held.swap(true, Ordering::Acquire) {
            if let Some(want) = want.take() {
                want();
            }
            // With 16 workers on two cores the holder needs one of them; this is still no sleep.
            std::thread::yield_now();
        }
        // SAFETY: the flag was free, and is ours until the store below.
        let result = f(unsafe { &mut *self.value.get() });
        self.is_held.store(false, Ordering::Release);
        result
    }
}

/// A small tree of forks whose leaves take long enough to be stolen now and then.
fn tree(levels: u32) -> usize {
    if levels == 0 {
        compute(2);
        return 1;
    }
    let (a, b) = heist::join(|| tree(levels - 1), || tree(levels - 1));
    a + b
}

/// Two halves, of which the second takes longer than a waiter spins before it lends.
fn long_fork(i: usize) -> usize {
    let us = if i.is_multiple_of(20) { 400 } else { 10 };
    let (a, b) = heist::join(|| 1, || (compute(us), 1).1);
    a + b
}

/// Calls `job` for every number below `n`, in a tree of forks.
fn for_each(n: usize, job: &(impl Fn(usize) + Sync)) {
    fn range(first: usize, end: usize, job: &(impl Fn(usize) + Sync)) {
        if end - first == 1 {
            return job(first);
        }
        let half = first + (end - first) / 2;
        heist::join(|| range(first, half, job), || range(half, end, job));
    }
    range(0, n, job);
}

/// The same job from a tree of forks and from a scope.
fn from_forks_and_scopes(n: usize, jobs: usize, job: &(impl Fn(usize) + Sync)) {
    let pool = pool(n);
    pool.install(|| for_each(jobs, job));
    pool.scope(|s| (0..jobs).for_each(|i| s.spawn(move |_| job(i))));
}

#[test]
fn a_mutex_held_by_two_thousand_jobs() {
    let _watch = watch!();
    for n in SIZES {
        let total = Mutex::new(0);
        from_forks_and_scopes(n, 1000, &|i| {
            let mut total = total.lock().unwrap();
            *total += tree(2) + long_fork(i);
        });
        assert_eq!(total.into_inner().unwrap(), 2000 * 6, "{n} workers");
    }
}

/// Each of two locks is wanted by those who wait under the other one's holder, always in the same order.
#[test]
fn two_mutexes_one_inside_of_the_other() {
    let _watch = watch!();
    for n in SIZES {
        let (outer, inner) = (Mutex::new(0), Mutex::new(0));
        from_forks_and_scopes(n, 300, &|i| {
            let mut outer = outer.lock().unwrap();
            let half = || {
                let mut inner = inner.lock().unwrap();
                *inner += long_fork(i);
            };
            heist::join(half, half);
            *outer += 1;
        });
        assert_eq!((outer.into_inner().unwrap(), inner.into_inner().unwrap()), (600, 600 * 4), "{n} workers");
    }
}

#[test]
fn a_once_lock_wanted_by_two_thousand_jobs() {
    let _watch = watch!();
    const CELLS: usize = 100;
    for n in SIZES {
        let cells: Vec<_> = (0..CELLS).map(|_| OnceLock::new()).collect();
        let (made, sum) = (AtomicUsize::new(0), AtomicUsize::new(0));
        from_forks_and_scopes(n, 1000, &|i| {
            let value = cells[i % CELLS].get_or_init(|| {
                made.fetch_add(1, Ordering::Relaxed);
                tree(2) + long_fork(0)
            });
            sum.fetch_add(*value, Ordering::Relaxed);
        });
        assert_eq!((made.into_inner(), sum.into_inner()), (CELLS, 2000 * 6), "{n} workers");
    }
}

#[test]
fn a_spin_lock_held_by_two_hundred_jobs() {
    let _watch = watch!();
    for n in SIZES {
        let lock = Spin::default();
        from_forks_and_scopes(n, 100, &|i| lock.with(|| (), |total| *total += tree(2) + long_fork(i)));
        assert_eq!(lock.with(|| (), |total| *total), 200 * 6, "{n} workers");
    }
}

/// Without luck: the second half is stolen for certain, and does not end before somebody wants the lock. With two workers that
/// one has the waiter's permit; with more they may be idle workers of their own right.
fn wanted_while_its_holder_waits(
    n: usize,
    want_and_hold: impl Fn(&(dyn Fn() + Sync), &dyn Fn()) + Send + Sync + 'static,
) {
    const WANTERS: usize = 3;
    let pool = pool(n);
    let lock = Arc::new(want_and_hold);
    let (wanted, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    pool.install(|| {
        let (stolen, queued) = (AtomicBool::new(false), AtomicBool::new(false));
        let spawn_wanter = || {
            let (lock, wanted, ended) = (Arc::clone(&lock), Arc::clone(&wanted), Arc::clone(&ended));
            heist::spawn(move || {
                let want = move || _ = wanted.fetch_add(1, Ordering::AcqRel);
                lock(&want, &|| ());
                ended.fetch_add(1, Ordering::AcqRel);
            });
        };
        let held = || {
            heist::join(
                || {
                    while !stolen.load(Ordering::Acquire) {
                        std::thread::yield_now();
                    }
                    (0..WANTERS).for_each(|_| spawn_wanter());
                    queued.store(true, Ordering::Release);
                },
                || {
                    stolen.store(true, Ordering::Release);
                    while !queued.load(Ordering::Acquire) || wanted.load(Ordering::Acquire) == 0 {
                        std::thread::yield_now();
                    }
                    compute(200);
                },
            );
        };
        lock(&|| (), &held);
    });
    while ended.load(Ordering::Acquire) < WANTERS {
        std::thread::yield_now();
    }
}

#[test]
fn a_spin_lock_is_wanted_while_its_holder_waits() {
    let _watch = watch!();
    for n in SIZES {
        for _ in 0..10 {
            let lock = Spin::default();
            wanted_while_its_holder_waits(n, move |want, held| lock.with(want, |_| held()));
        }
    }
}

#[test]
fn a_mutex_is_wanted_while_its_holder_waits() {
    let _watch = watch!();
    for n in SIZES {
        for _ in 0..10 {
            let lock = Mutex::new(());
            wanted_while_its_holder_waits(n, move |want, held| {
                let guard = lock.try_lock().unwrap_or_else(|_| {
                    want();
                    lock.lock().unwrap()
                });
                held();
                drop(guard);
            });
        }
    }
}

thread_local! {
    static SCRATCH: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// A thread that goes on without a permit forks as before, and nobody comes onto its stack.
#[test]
fn a_thread_local_borrowed_across_joins_is_never_re_entered() {
    let _watch = watch!();
    for n in SIZES {
        let lock = Spin::default();
        from_forks_and_scopes(n, 200, &|i| {
            SCRATCH.with(|scratch| {
                let mut scratch = scratch.try_borrow_mut().expect("no stranger on this stack");
                scratch.push(i);
                // Some wait for a lock that a waiter holds, so that borrowers are kept from their job's end.
                if i.is_multiple_of(10) {
                    lock.with(|| (), |total| *total += long_fork(i));
                } else {
                    heist::scope(|s| (0..3).for_each(|_| s.spawn(|_| _ = tree(1))));
                }
                tree(2);
                assert_eq!(scratch.pop(), Some(i));
            });
        });
        assert_eq!(lock.with(|| (), |total| *total), 40 * 2, "{n} workers");
    }
}

#[test]
fn in_fenced_mode() {
    let _watch = watch!();
    fenced::rerun_fenced(module_path!(), &["wanted_while_its_holder_waits"]);
}
