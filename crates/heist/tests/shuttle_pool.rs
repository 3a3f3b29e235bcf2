//! Whole pools under shuttle: real workers, joins, scopes, spawns, waits and shutdowns, each model over thousands of random
//! schedules. A schedule that hangs is a deadlock and fails; one that never ends runs into the bound on steps and fails.
//!
//! ```text
//! RUSTFLAGS="--cfg heist_model --cfg heist_shuttle" cargo test -p heist --release --test shuttle_pool
//! HEIST_SHUTTLE_ITERATIONS=100000   schedules per model and scheduler (there are two)
//! HEIST_SHUTTLE_REPLAY=<schedule>   runs one model, named on the command line, with the schedule that a failure printed
//! ```
#![cfg(heist_shuttle)]

#[path = "shuttle_rig/mod.rs"]
mod rig;

use heist::{ThreadPool, ThreadPoolBuilder, blocking, join, scope, spawn};
use heist_sync::atomic::{AtomicBool, Ordering};
use heist_sync::{Arc, Condvar, Mutex, lock, thread};
use rig::{Ledger, explore, pool};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// One place per index; two jobs that run with the same index meet here.
struct PerIndex(Vec<AtomicBool>);

impl PerIndex {
    fn new(n: usize) -> Arc<Self> {
        Arc::new(Self((0..n).map(|_| AtomicBool::new(false)).collect()))
    }

    /// A leaf, that is work without a wait in it.
    fn leaf(&self) {
        if let Some(index) = heist::current_thread_index() {
            assert!(!self.0[index].swap(true, Ordering::SeqCst), "two jobs run with index {index}");
            thread::yield_now();
            assert_eq!(heist::current_thread_index(), Some(index), "the index changed inside of a leaf");
            self.0[index].store(false, Ordering::SeqCst);
        }
    }
}

/// A place to wait that is not heist's.
#[derive(Clone)]
struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    fn new() -> Self {
        Self(Arc::new((Mutex::new(false), Condvar::new())))
    }

    fn open(&self) {
        *lock(&self.0.0) = true;
        self.0.1.notify_all();
    }

    fn wait(&self) {
        let mut open = lock(&self.0.0);
        while !*open {
            open = self.0.1.wait(open).unwrap();
        }
    }
}

fn tree(depth: usize, node: usize, ledger: &Ledger, places: &PerIndex) -> usize {
    if depth == 0 {
        ledger.run(node);
        places.leaf();
        return 1;
    }
    let (a, b) =
        join(|| tree(depth - 1, node * 2, ledger, places), || tree(depth - 1, node * 2 + 1, ledger, places));
    a + b
}

fn joins(threads: usize, depth: usize) {
    let pool = pool(threads);
    let (ledger, places) = (Ledger::new(1 << depth), PerIndex::new(threads));
    assert_eq!(pool.install(|| tree(depth, 0, &ledger, &places)), 1 << depth);
    ledger.check();
    pool.shutdown().unwrap();
}

/// Bugs hunted: a half run twice or never, a wait that is not woken, an index held twice.
#[test]
fn joins_on_one_worker() {
    explore(|| joins(1, 2));
}

#[test]
fn joins_on_two_workers() {
    explore(|| joins(2, 3));
}

#[test]
fn joins_on_three_workers() {
    explore(|| joins(3, 3));
}

/// Bug hunted: a stack of four slots overflows and a half is lost.
#[test]
fn joins_deeper_than_the_stack() {
    explore(|| {
        fn chain(depth: usize, ledger: &Ledger) {
            if depth > 0 {
                join(|| chain(depth - 1, ledger), || ledger.run(depth - 1));
            }
        }
        let (pool, ledger) = (pool(2), Ledger::new(7));
        pool.install(|| chain(7, &ledger));
        ledger.check();
        pool.shutdown().unwrap();
    });
}

/// Bugs hunted: a panic of a half that loses the other half, or the stack's top.
#[test]
fn panics_in_either_half() {
    explore(|| {
        let (pool, ledger) = (pool(2), Ledger::new(5));
        pool.install(|| {
            for (first, second) in [(true, false), (false, true)] {
                let result = catch_unwind(AssertUnwindSafe(|| {
                    join(
                        || {
                            ledger.run(usize::from(first));
                            assert!(!first, "expected");
                        },
                        || {
                            ledger.run(2 + usize::from(first));
                            assert!(!second, "expected");
                        },
                    )
                }));
                assert!(result.is_err());
            }
            join(|| (), || ledger.run(4));
        });
        ledger.check();
        pool.shutdown().unwrap();
    });
}

/// Bugs hunted: a scope that returns before a job of a job is over, or never.
#[test]
fn scopes_with_nested_spawns() {
    explore(|| {
        let (pool, ledger) = (pool(2), Ledger::new(6));
        pool.scope(|s| {
            for i in 0..2 {
                let ledger = &ledger;
                s.spawn(move |s| {
                    ledger.run(3 * i);
                    s.spawn(move |_| ledger.run(3 * i + 1));
                    join(|| (), || ledger.run(3 * i + 2));
                });
            }
        });
        ledger.check();
        pool.shutdown().unwrap();
    });
}

/// Bug hunted: the wait of a scope outside of the pool.
#[test]
fn an_in_place_scope_from_outside() {
    explore(|| {
        let (pool, ledger) = (pool(1), Ledger::new(3));
        pool.in_place_scope(|s| {
            s.spawn(|_| ledger.run(0));
            s.spawn(|s| s.spawn(|_| ledger.run(1)));
            ledger.run(2);
        });
        ledger.check();
        pool.shutdown().unwrap();
    });
}

/// Bug hunted: shutdown that leaves accepted jobs behind (also those that other jobs spawn), or that never ends.
#[test]
fn shutdown_runs_what_was_accepted() {
    explore(|| {
        let (pool, ledger) = (pool(2), Ledger::new(4));
        for i in 0..2 {
            let ledger = ledger.clone();
            pool.spawn(move || {
                ledger.run(2 * i);
                spawn(move || ledger.run(2 * i + 1));
            });
        }
        pool.shutdown().unwrap();
        ledger.check();
    });
}

/// Bug hunted: a dropped pool whose threads never leave, or leave work behind.
#[test]
fn a_dropped_pool_ends() {
    explore(|| {
        let ledger = Ledger::new(3);
        let left = Arc::new((Mutex::new(0), Condvar::new()));
        let told = left.clone();
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .exit_handler(move |_| {
                *lock(&told.0) += 1;
                told.1.notify_all();
            })
            .build()
            .unwrap();
        for i in 0..2 {
            let ledger = ledger.clone();
            pool.spawn(move || ledger.run(i));
        }
        pool.install(|| ledger.run(2));
        drop(pool);
        let mut n = lock(&left.0);
        while *n < 2 {
            n = left.1.wait(n).unwrap();
        }
        ledger.check();
    });
}

/// Bug hunted: `blocking` on the only worker, whose index never comes to the thread that could end the block.
#[test]
fn blocking_on_the_only_worker() {
    explore(|| {
        let (pool, ledger, gate) = (pool(1), Ledger::new(2), Gate::new());
        pool.install(|| {
            let (opener, spawned) = (gate.clone(), ledger.clone());
            spawn(move || {
                spawned.run(0);
                opener.open();
            });
            blocking(|| gate.wait());
            ledger.run(1);
        });
        ledger.check();
        pool.shutdown().unwrap();
    });
}

/// Bug hunted: indices that are lost or doubled while two threads of two block, and others come for theirs.
#[test]
fn everybody_blocks() {
    explore(|| {
        let (pool, ledger, places) = (pool(2), Ledger::new(3), PerIndex::new(2));
        let gates = [Gate::new(), Gate::new()];
        for (i, gate) in gates.iter().enumerate() {
            let (gate, ledger, places) = (gate.clone(), ledger.clone(), places.clone());
            pool.spawn(move || {
                blocking(|| gate.wait());
                places.leaf();
                ledger.run(i);
            });
        }
        let (last, places) = (ledger.clone(), places.clone());
        pool.spawn(move || {
            gates.iter().for_each(Gate::open);
            places.leaf();
            last.run(2);
        });
        pool.shutdown().unwrap();
        ledger.check();
    });
}

/// Bug hunted: two pools that wait for each other, each with one worker.
#[test]
fn install_across_two_pools_both_ways() {
    explore(|| {
        let (a, b, ledger) = (Arc::new(pool(1)), Arc::new(pool(1)), Ledger::new(4));
        let other = thread::spawn({
            let (a, b, ledger) = (a.clone(), b.clone(), ledger.clone());
            move || b.install(|| a.install(|| join(|| ledger.run(0), || ledger.run(1))))
        });
        a.install(|| b.install(|| join(|| ledger.run(2), || ledger.run(3))));
        other.join().unwrap();
        ledger.check();
        for pool in [a, b] {
            Arc::into_inner(pool).unwrap().shutdown().unwrap();
        }
    });
}

/// Bug hunted: a wait that runs a stranger's job on top of a held lock (deadlock on the lock).
#[test]
fn a_lock_held_across_a_join() {
    explore(|| {
        let (pool, ledger) = (pool(2), Ledger::new(6));
        let shared = Arc::new(Mutex::new(0));
        let work = |i: usize| {
            let (shared, ledger) = (shared.clone(), ledger.clone());
            move || {
                let mut held = lock(&shared);
                join(|| ledger.run(2 * i), || ledger.run(2 * i + 1));
                *held += 1;
            }
        };
        let (first, second, third) = (work(0), work(1), work(2));
        pool.spawn(third);
        pool.join(first, second);
        pool.shutdown().unwrap();
        ledger.check();
        assert_eq!(*lock(&shared), 3);
    });
}

/// Bug hunted: a waiter that is woken to help and then neither helps nor gets its index back.
#[test]
fn waits_without_spare_threads() {
    explore(|| {
        let pool = ThreadPoolBuilder::new().num_threads(2).max_threads(2).build().unwrap();
        let (ledger, places) = (Ledger::new(8), PerIndex::new(2));
        assert_eq!(pool.install(|| tree(3, 0, &ledger, &places)), 8);
        ledger.check();
        pool.shutdown().unwrap();
    });
}

/// Bugs hunted: a guest that takes an index and never gives it back, or leaves with a thief in its stack (FORK-E7).
#[test]
fn guests_fork_beside_each_other() {
    explore(|| {
        let (pool, ledger) = (Arc::new(pool(2)), Ledger::new(8));
        let guest = |from: usize| {
            let (pool, ledger) = (pool.clone(), ledger.clone());
            move || {
                pool.fork(|f| {
                    f.join(
                        |f| f.join(|_| ledger.run(from), |_| ledger.run(from + 1)),
                        |f| f.join(|_| ledger.run(from + 2), |_| ledger.run(from + 3)),
                    )
                });
            }
        };
        let other = thread::spawn(guest(0));
        guest(4)();
        other.join().unwrap();
        ledger.check();
        // The thread-locals of both guests still name the pool; its threads have ended all the same.
        match Arc::into_inner(pool) {
            Some(pool) => pool.shutdown().unwrap(),
            None => panic!("a guest kept the handle"),
        }
    });
}

/// Bug hunted: a broadcast to an index that is lent, free, or on its way.
#[test]
fn broadcast_beside_joins() {
    explore(|| {
        let (pool, ledger, places) = (pool(2), Ledger::new(4), PerIndex::new(2));
        let hits = Ledger::new(2);
        let (counted, placed) = (ledger.clone(), places.clone());
        pool.spawn(move || {
            tree(2, 0, &counted, &placed);
        });
        let indices = pool.broadcast(|c| {
            hits.run(c.index());
            c.index()
        });
        assert_eq!(indices, [0, 1]);
        hits.check();
        pool.shutdown().unwrap();
        ledger.check();
    });
}

/// Bug hunted: a job that runs between a wait and its end on the same stack although it belongs to somebody else.
#[test]
fn a_wait_runs_only_its_own() {
    shuttle::thread_local! {
        static WAITING_FOR: std::cell::Cell<usize> = std::cell::Cell::new(0);
    }
    fn own<R>(tree: usize, f: impl FnOnce() -> R) -> R {
        let before = WAITING_FOR.with(|w| w.replace(tree));
        assert!(before == 0 || before == tree, "a job of tree {tree} runs inside of a wait of tree {before}");
        let result = f();
        WAITING_FOR.with(|w| w.set(before));
        result
    }
    fn grow(tree: usize, depth: usize) {
        own(tree, || {
            if depth > 0 {
                join(|| grow(tree, depth - 1), || grow(tree, depth - 1));
            }
        });
    }
    explore(|| {
        let pool = pool(2);
        scope_in(&pool, |s| {
            s.spawn(|_| grow(1, 2));
            s.spawn(|_| grow(2, 2));
        });
        pool.shutdown().unwrap();
    });
}

/// As above, and the trees yield in the middle: what is picked up there is explicit, and may be anything. But what *that* forks, on
/// the stack of a thief, is not for the wait that the thief's half belongs to.
///
/// Bug hunted: a waiter that takes a stranger's fork back from its thief (`fork_strangers_uncounted`).
#[test]
fn a_wait_runs_only_its_own_beside_yields() {
    shuttle::thread_local! {
        static WAITING_FOR: std::cell::Cell<usize> = std::cell::Cell::new(0);
    }
    fn within<R>(tree: usize, f: impl FnOnce() -> R) -> R {
        let before = WAITING_FOR.with(|w| w.replace(tree));
        let result = f();
        WAITING_FOR.with(|w| w.set(before));
        result
    }
    fn grow(tree: usize, depth: usize) {
        let before = WAITING_FOR.with(std::cell::Cell::get);
        assert!(before == 0 || before == tree, "a job of tree {tree} runs inside of a wait of tree {before}");
        within(tree, || {
            if depth > 0 {
                join(
                    || grow(tree, depth - 1),
                    || {
                        // Anything may run on top of this.
                        within(0, heist::yield_now);
                        grow(tree, depth - 1);
                    },
                );
            }
        });
    }
    explore(|| {
        let pool = pool(2);
        scope_in(&pool, |s| (1..5).for_each(|tree| s.spawn(move |_| grow(tree, 2))));
        pool.shutdown().unwrap();
    });
}

/// What a program keeps for each index, without a lock: whoever uses it relies on its index.
struct Scratches(Vec<Scratch>);

#[derive(Default)]
struct Scratch {
    /// std's: only those that use the place may see it, and not the scheduler.
    busy: std::sync::atomic::AtomicBool,
    uses: std::cell::Cell<usize>,
}

// SAFETY: `busy` says whether two threads are in one place; shuttle's threads take turns on one thread of the system.
unsafe impl Sync for Scratches {}
// SAFETY: as above.
unsafe impl Send for Scratches {}

impl Scratches {
    fn new(n: usize) -> Arc<Self> {
        Arc::new(Self((0..n).map(|_| Scratch::default()).collect()))
    }

    /// A stretch without a wait in it, with a number that was asked for earlier.
    fn use_at(&self, index: usize) {
        let scratch = &self.0[index];
        assert!(!scratch.busy.swap(true, Ordering::Relaxed), "two running jobs have kept index {index}");
        let uses = scratch.uses.get();
        (0..2).for_each(|_| thread::yield_now());
        scratch.uses.set(uses + 1);
        assert!(scratch.busy.swap(false, Ordering::Relaxed));
    }

    fn uses(&self) -> usize {
        self.0.iter().map(|scratch| scratch.uses.get()).sum()
    }
}

/// A job that asks for its index once and keeps the number: for `stretches` without a wait.
fn keep(stretches: usize, scratches: &Scratches) {
    let index = heist::current_thread_index().expect("a job has an index");
    (0..stretches).for_each(|_| scratches.use_at(index));
    assert_eq!(heist::current_thread_index(), Some(index), "the index changed inside of a leaf");
}

/// The same across a wait, which lends the permit: the second half is long, and may be stolen.
fn keep_across_a_join(scratches: &Scratches) {
    let index = heist::current_thread_index().expect("a job has an index");
    scratches.use_at(index);
    join(|| keep(1, scratches), || keep(6, scratches));
    (0..2).for_each(|_| scratches.use_at(index));
    assert_eq!(heist::current_thread_index(), Some(index), "the same before and after a wait");
}

/// Bugs hunted: an index that was asked for is used by two running threads, because its borrower is not stopped
/// (`permit_taken_though_observed`), or because nobody has written down who asked (`permit_observed_unseen`); one that changes in a
/// wait; a job that never gets its own back.
#[test]
fn an_index_that_is_kept_across_joins() {
    explore(|| {
        let (pool, scratches) = (pool(2), Scratches::new(2));
        pool.install(|| {
            // For those who borrow the permit of a waiting half: two ask and keep, and one asks for nothing.
            for i in 0..3 {
                let scratches = scratches.clone();
                spawn(move || match i {
                    0 => (0..20).for_each(|_| thread::yield_now()),
                    1 => keep(6, &scratches),
                    _ => keep_across_a_join(&scratches),
                });
            }
            keep_across_a_join(&scratches);
        });
        pool.shutdown().unwrap();
        assert_eq!(scratches.uses(), 6 + 2 * (3 + 1 + 6));
    });
}

/// The same in `blocking` and in a scope, and with three permits that go round.
#[test]
fn an_index_that_is_kept_across_other_waits() {
    explore(|| {
        let (pool, scratches) = (pool(2), Scratches::new(2));
        for _ in 0..3 {
            let scratches = scratches.clone();
            pool.spawn(move || {
                let index = heist::current_thread_index().expect("a job has an index");
                scratches.use_at(index);
                blocking(|| {
                    assert_eq!(heist::current_thread_index(), None);
                    thread::yield_now();
                });
                scratches.use_at(index);
                let inner = &*scratches;
                scope(|s| {
                    s.spawn(|_| inner.use_at(heist::current_thread_index().expect("a job has an index")))
                });
                scratches.use_at(index);
                assert_eq!(heist::current_thread_index(), Some(index));
            });
        }
        pool.shutdown().unwrap();
        assert_eq!(scratches.uses(), 3 * 4);
    });
}

/// Jobs that hold a lock across a join, more of them than permits, so that every permit may be in the hands of one that waits for
/// the lock. None asks for its index while it holds the lock; all do when it is free again.
///
/// Bugs hunted: a wait that is over and does not end, because its permit is in use by somebody who waits for the lock; a job that
/// goes on without a permit and never gets an index again, or somebody else's.
#[test]
fn locks_held_across_joins_by_everybody() {
    explore(|| {
        let (pool, ledger, places) = (pool(2), Ledger::new(8), PerIndex::new(2));
        let shared = Arc::new(Mutex::new(0));
        for i in 0..4 {
            let (shared, ledger, places) = (shared.clone(), ledger.clone(), places.clone());
            pool.spawn(move || {
                let mut held = lock(&shared);
                join(
                    || {
                        thread::yield_now();
                        ledger.run(2 * i);
                    },
                    || {
                        thread::yield_now();
                        ledger.run(2 * i + 1);
                    },
                );
                *held += 1;
                drop(held);
                assert!(heist::current_thread_index().is_some(), "a job has an index");
                places.leaf();
            });
        }
        pool.shutdown().unwrap();
        ledger.check();
        assert_eq!(*lock(&shared), 4);
    });
}

/// Two locks, the second inside of a half that somebody may have stolen, held across a scope and `blocking`.
#[test]
fn locks_held_across_nested_waits() {
    explore(|| {
        let (pool, ledger) = (pool(1), Ledger::new(6));
        let locks = Arc::new([Mutex::new(0), Mutex::new(0)]);
        for i in 0..2 {
            let (locks, ledger) = (locks.clone(), ledger.clone());
            pool.spawn(move || {
                let mut outer = lock(&locks[0]);
                join(
                    || {
                        let mut inner = lock(&locks[1]);
                        scope(|s| s.spawn(|_| ledger.run(3 * i)));
                        *inner += 1;
                    },
                    || {
                        blocking(thread::yield_now);
                        ledger.run(3 * i + 1);
                    },
                );
                *outer += 1;
                drop(outer);
                // What a thread without a permit spawns goes to others.
                spawn(move || ledger.run(3 * i + 2));
                heist::yield_now();
            });
        }
        pool.shutdown().unwrap();
        ledger.check();
        assert_eq!((*lock(&locks[0]), *lock(&locks[1])), (2, 2));
    });
}

fn scope_in<'s>(pool: &ThreadPool, f: impl FnOnce(&heist::Scope<'s>) + Send) {
    pool.install(|| scope(f));
}

/// Bug hunted: a pool whose last handle goes on one of its own threads.
#[test]
fn a_pool_dropped_by_its_own_job() {
    explore(|| {
        let (ledger, gate) = (Ledger::new(3), Gate::new());
        let pool = Arc::new(pool(1));
        let (inside, ran, done) = (pool.clone(), ledger.clone(), gate.clone());
        pool.spawn(move || {
            join(|| ran.run(0), || ran.run(1));
            drop(inside);
            spawn(move || {
                ran.run(2);
                done.open();
            });
        });
        drop(pool);
        gate.wait();
        ledger.check();
    });
}

/// Bugs hunted: the ways on after a wait while the borrower of the permit waits for a lock that the lender holds, and the reverse.
#[test]
fn blocking_under_a_lock() {
    explore(|| {
        let (pool, ledger) = (pool(1), Ledger::new(3));
        let shared = Arc::new(Mutex::new(()));
        for i in 0..2 {
            let (shared, ledger) = (shared.clone(), ledger.clone());
            pool.spawn(move || {
                let held = lock(&shared);
                blocking(thread::yield_now);
                ledger.run(i);
                drop(held);
            });
        }
        let (shared, last) = (shared.clone(), ledger.clone());
        pool.spawn(move || {
            drop(lock(&shared));
            last.run(2);
        });
        pool.shutdown().unwrap();
        ledger.check();
    });
}

/// Bug hunted: jobs of `spawn_fifo` and `scope_fifo` whose tickets and jobs do not add up.
#[test]
fn fifo_spawns() {
    explore(|| {
        let (pool, ledger) = (pool(2), Ledger::new(4));
        for i in 0..2 {
            let ledger = ledger.clone();
            pool.spawn_fifo(move || ledger.run(i));
        }
        pool.scope_fifo(|s| {
            s.spawn_fifo(|_| ledger.run(2));
            s.spawn_fifo(|_| ledger.run(3));
        });
        pool.shutdown().unwrap();
        ledger.check();
    });
}

/// Bug hunted: `yield_now` in the middle of a join, which may run anything on top of the stack.
#[test]
fn yielding_inside_of_joins() {
    explore(|| {
        let (pool, ledger) = (pool(2), Ledger::new(6));
        for i in 0..2 {
            let ledger = ledger.clone();
            pool.spawn(move || {
                join(
                    || {
                        heist::yield_now();
                        ledger.run(3 * i);
                    },
                    || join(|| ledger.run(3 * i + 1), || ledger.run(3 * i + 2)),
                );
            });
        }
        pool.shutdown().unwrap();
        ledger.check();
    });
}

/// The models are not idle talk: over their schedules halves are stolen, and indices are lent.
#[test]
fn schedules_steal_and_lend() {
    use std::sync::atomic::AtomicUsize;
    static STOLEN: AtomicUsize = AtomicUsize::new(0);
    static KEPT: AtomicUsize = AtomicUsize::new(0);
    static SPARES: AtomicUsize = AtomicUsize::new(0);
    explore(|| {
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .start_handler(|_| {
                SPARES.fetch_add(1, Ordering::Relaxed);
            })
            .build()
            .unwrap();
        pool.install(|| {
            heist::join_context(
                |_| (),
                |c| {
                    let count = if c.migrated() { &STOLEN } else { &KEPT };
                    count.fetch_add(1, Ordering::Relaxed);
                    // For whoever borrows the index of the waiting half.
                    spawn(|| ());
                    (0..20).for_each(|_| thread::yield_now());
                },
            )
        });
        pool.shutdown().unwrap();
    });
    let [stolen, kept, started] = [&STOLEN, &KEPT, &SPARES].map(|n| n.load(Ordering::Relaxed));
    println!("{stolen} stolen, {kept} kept, {started} threads started");
    assert!(stolen > 0 && kept > 0);
    assert!(started > 2 * (stolen + kept), "no wait has ever lent its index to a spare");
}
