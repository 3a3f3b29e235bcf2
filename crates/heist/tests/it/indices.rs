//! Indices: at most one running thread has each, a job keeps its own, and a broadcast reaches every one.
//!
//! rayon programs keep scratch space per `current_thread_index()`, so this is law here although threads come and go behind the
//! indices. Public bugs of this kind: tokio #8372 (a worker counted twice), Go #45867 (an idle P beside work).

use crate::rig::fenced;
use crate::rig::pool::{guest_pool, pool};
use crate::rig::watchdog::watch;
use heist::{ThreadPool, ThreadPoolBuilder, current_num_threads, current_thread_index};
use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::cell::UnsafeCell;
use std::collections::HashMap;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

const SIZES: [usize; 4] = [1, 2, 4, 16];

fn compute(for_us: u64) {
    let until = Instant::now() + Duration::from_micros(for_us);
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

/// Scratch space per index, as a rayon program would have it, that notices a second user.
struct Scratch {
    in_use: Vec<AtomicBool>,
    cells: Vec<UnsafeCell<u64>>,
    without: AtomicUsize,
}

// SAFETY: a cell is touched only between a swap of its flag from false to true (acquire) and the store back (release).
unsafe impl Sync for Scratch {}

impl Scratch {
    fn new(n: usize) -> Self {
        Self {
            in_use: (0..n).map(|_| AtomicBool::new(false)).collect(),
            cells: (0..n).map(|_| UnsafeCell::new(0)).collect(),
            without: AtomicUsize::new(0),
        }
    }

    /// Works with the scratch space of this thread's index for a while.
    fn work(&self, for_us: u64) {
        assert_eq!(current_num_threads(), self.cells.len());
        let Some(index) = current_thread_index() else {
            self.without.fetch_add(1, Ordering::Relaxed);
            return compute(for_us);
        };
        assert!(index < self.cells.len(), "index {index} of {}", self.cells.len());
        assert!(!self.in_use[index].swap(true, Ordering::Acquire), "two running jobs have index {index}");
        // SAFETY: the flag was free, and is ours until the store below.
        unsafe { *self.cells[index].get() += 1 };
        compute(for_us);
        assert_eq!(current_thread_index(), Some(index), "a job keeps its index");
        self.in_use[index].store(false, Ordering::Release);
    }

    fn total(&mut self) -> u64 {
        let with: u64 = self.cells.iter_mut().map(|cell| *cell.get_mut()).sum();
        with + *self.without.get_mut() as u64
    }
}

/// The same index after a wait as before, or none: the documented case is that its borrower sleeps.
fn keeps_index<R>(f: impl FnOnce() -> R) -> R {
    let before = current_thread_index();
    let result = f();
    let after = current_thread_index();
    assert!(after == before || after.is_none(), "a job had {before:?} before a wait and {after:?} after");
    result
}

fn nested(scratch: &Scratch, levels: u32, leaf_us: u64) {
    if levels == 0 {
        return scratch.work(leaf_us);
    }
    keeps_index(|| {
        heist::join(|| nested(scratch, levels - 1, leaf_us), || nested(scratch, levels - 1, leaf_us))
    });
}

#[test]
fn nested_loops_have_their_scratch_space_alone() {
    let _watch = watch!();
    for n in SIZES {
        let pool = pool(n);
        let mut scratch = Scratch::new(n);
        for _ in 0..10 {
            pool.install(|| nested(&scratch, 10, 1));
            pool.scope(|s| {
                for _ in 0..20 {
                    s.spawn(|_| {
                        keeps_index(|| heist::scope(|s| (0..5).for_each(|_| s.spawn(|_| scratch.work(1)))))
                    });
                }
            });
        }
        assert_eq!(scratch.total(), 10 * (1024 + 100), "{n} workers");
    }
}

/// Leaves longer than a waiter spins: indices are lent to spares and come back.
#[test]
fn lent_indices_are_exclusive() {
    let _watch = watch!();
    for n in SIZES {
        let pool = pool(n);
        let mut scratch = Scratch::new(n);
        pool.scope(|s| {
            for i in 0..40 {
                let scratch = &scratch;
                s.spawn(move |_| {
                    scratch.work(20);
                    keeps_index(|| heist::join(|| scratch.work(10), || scratch.work(200 + 10 * i)));
                    scratch.work(20);
                });
            }
        });
        assert_eq!(scratch.total(), 40 * 4, "{n} workers");
    }
}

/// Inside of `blocking` a job has no index, and another thread works with it; after it the index is back.
#[test]
fn blocking_lends_the_index() {
    let _watch = watch!();
    for n in SIZES {
        let pool = pool(n);
        let mut scratch = Scratch::new(n);
        for _ in 0..5 {
            pool.scope(|s| {
                for i in 0..30 {
                    let scratch = &scratch;
                    s.spawn(move |_| {
                        scratch.work(5);
                        keeps_index(|| {
                            heist::blocking(|| {
                                assert_eq!(current_thread_index(), None);
                                assert_eq!(current_num_threads(), n);
                                std::thread::sleep(Duration::from_micros(10 * i));
                            });
                        });
                        scratch.work(5);
                    });
                }
            });
        }
        assert_eq!(scratch.total(), 5 * 60, "{n} workers");
    }
}

/// Jobs that compute all the time never lose their index: only a borrower that sleeps keeps one.
#[test]
fn an_index_comes_back_from_a_borrower_that_computes() {
    let _watch = watch!();
    for n in [1, 2, 4] {
        let pool = pool(n);
        let (back, lost) = (AtomicUsize::new(0), AtomicUsize::new(0));
        pool.scope(|s| {
            for _ in 0..60 {
                s.spawn(|_| {
                    let before = current_thread_index();
                    heist::join(|| compute(5), || compute(400));
                    match current_thread_index() {
                        after if after == before => back.fetch_add(1, Ordering::Relaxed),
                        None => lost.fetch_add(1, Ordering::Relaxed),
                        other => panic!("{before:?} became {other:?}"),
                    };
                });
            }
        });
        let (back, lost) = (back.into_inner(), lost.into_inner());
        assert_eq!(back + lost, 60);
        // A borrower can be seen asleep for a moment on one of the pool's own locks; it must be the exception.
        assert!(lost <= 6, "{lost} of 60 jobs went on without their index, {n} workers");
    }
}

/// Every index once, whoever is behind it.
fn check_broadcast(pool: &ThreadPool) {
    let n = pool.current_num_threads();
    let calls: Vec<_> = (0..n).map(|_| AtomicUsize::new(0)).collect();
    let indices = pool.broadcast(|c| {
        assert_eq!(c.num_threads(), n);
        assert_eq!(current_thread_index(), Some(c.index()), "a broadcast runs with the index that it is for");
        calls[c.index()].fetch_add(1, Ordering::Relaxed);
        c.index()
    });
    assert_eq!(indices, (0..n).collect::<Vec<_>>());
    assert!(calls.into_iter().all(|calls| calls.into_inner() == 1));
}

#[test]
fn broadcast_while_workers_are_busy() {
    let _watch = watch!();
    for n in SIZES {
        let pool = pool(n);
        pool.in_place_scope(|s| {
            for _ in 0..10 * n {
                s.spawn(|_| compute(100));
            }
            for _ in 0..10 {
                check_broadcast(&pool);
            }
        });
    }
}

/// All workers wait in a join, the other halves block until the broadcast is over: it runs on spares, with the lent indices.
#[test]
fn broadcast_while_workers_wait() {
    let _watch = watch!();
    for n in [2, 4, 16] {
        let pool = pool(n);
        for _ in 0..5 {
            let (open, gate) = channel::<()>();
            let gate = Arc::new(Mutex::new(gate));
            let started = AtomicUsize::new(0);
            pool.in_place_scope(|s| {
                for _ in 0..n {
                    let gate = Arc::clone(&gate);
                    let started = &started;
                    s.spawn(move |_| {
                        heist::join(
                            || (),
                            || {
                                started.fetch_add(1, Ordering::AcqRel);
                                heist::blocking(|| {
                                    let _ = gate.lock().unwrap().recv();
                                });
                            },
                        );
                    });
                }
                while started.load(Ordering::Acquire) < n {
                    std::thread::yield_now();
                }
                check_broadcast(&pool);
                drop(open);
            });
        }
    }
}

#[test]
fn broadcast_while_workers_block() {
    let _watch = watch!();
    for n in SIZES {
        let pool = pool(n);
        for _ in 0..5 {
            let (open, gate) = channel::<()>();
            let gate = Arc::new(Mutex::new(gate));
            let started = AtomicUsize::new(0);
            pool.in_place_scope(|s| {
                for _ in 0..n {
                    let gate = Arc::clone(&gate);
                    let started = &started;
                    s.spawn(move |_| {
                        heist::blocking(|| {
                            started.fetch_add(1, Ordering::AcqRel);
                            let _ = gate.lock().unwrap().recv();
                        });
                    });
                }
                while started.load(Ordering::Acquire) < n {
                    std::thread::yield_now();
                }
                check_broadcast(&pool);
                drop(open);
            });
        }
    }
}

/// Broadcasts from several threads and from the workers themselves, all at once.
#[test]
fn broadcasts_meet_each_other() {
    let _watch = watch!();
    for n in SIZES {
        let pool = pool(n);
        std::thread::scope(|threads| {
            for _ in 0..3 {
                threads.spawn(|| (0..20).for_each(|_| check_broadcast(&pool)));
            }
            threads.spawn(|| {
                pool.scope(|s| {
                    for _ in 0..20 {
                        s.spawn(|_| {
                            check_broadcast(&pool);
                            heist::scope(|s| {
                                s.spawn_broadcast(|_, c| assert_eq!(current_thread_index(), Some(c.index())))
                            });
                        });
                    }
                });
            });
        });
    }
}

/// Names and handlers hold for spare threads too: every thread that ever runs a job has been through the start handler.
#[test]
fn spares_have_names_and_handlers() {
    let _watch = watch!();
    for n in [1, 2, 4] {
        let started: Arc<Mutex<HashMap<ThreadId, usize>>> = Arc::default();
        let ended = Arc::new(Mutex::new(Vec::new()));
        let (on_start, on_exit) = (Arc::clone(&started), Arc::clone(&ended));
        let pool = ThreadPoolBuilder::new()
            .num_threads(n)
            .thread_name(|i| format!("worker-{i}"))
            .start_handler(move |i| {
                let before = on_start.lock().unwrap().insert(std::thread::current().id(), i);
                assert_eq!(before, None);
            })
            .exit_handler(move |i| on_exit.lock().unwrap().push((std::thread::current().id(), i)))
            .build()
            .unwrap();
        let ran = Mutex::new(HashMap::new());
        let note = || {
            let thread = std::thread::current();
            ran.lock().unwrap().insert(thread.id(), thread.name().map(str::to_string));
        };
        // As many jobs block as there are workers, so that what comes after them needs spares.
        let (open, gate) = channel::<()>();
        let gate = Mutex::new(gate);
        let blocked = AtomicUsize::new(0);
        pool.in_place_scope(|s| {
            for _ in 0..n {
                s.spawn(|_| {
                    note();
                    heist::blocking(|| {
                        blocked.fetch_add(1, Ordering::AcqRel);
                        let _ = gate.lock().unwrap().recv();
                    });
                });
            }
            while blocked.load(Ordering::Acquire) < n {
                std::thread::yield_now();
            }
            pool.scope(|s| (0..8 * n).for_each(|_| s.spawn(|_| note())));
            drop(open);
        });
        pool.shutdown().unwrap();
        let (ran, started, ended) =
            (ran.into_inner().unwrap(), started.lock().unwrap(), ended.lock().unwrap());
        assert!(ran.len() > n, "spares have run: {} threads", ran.len());
        for (id, name) in ran {
            let index = started.get(&id).expect("a start handler for each thread");
            assert!(*index < n);
            assert_eq!(name, Some(format!("worker-{index}")));
        }
        assert_eq!(started.len(), ended.len());
        assert!(
            ended.iter().all(|(id, i)| started.get(id) == Some(i)),
            "the exit handler gets the same index"
        );
    }
}

/// `max_threads` bounds all threads, those that sleep in waits included.
#[test]
fn max_threads_bounds_the_spares() {
    let _watch = watch!();
    let threads = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let (up, down, high) = (Arc::clone(&threads), Arc::clone(&threads), Arc::clone(&most));
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .max_threads(5)
        .start_handler(move |_| {
            high.fetch_max(up.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        })
        .exit_handler(move |_| {
            down.fetch_sub(1, Ordering::SeqCst);
        })
        .build()
        .unwrap();
    pool.scope(|s| {
        for _ in 0..40 {
            s.spawn(|_| {
                heist::join(|| (), || heist::blocking(|| std::thread::sleep(Duration::from_millis(1))));
            });
        }
    });
    pool.shutdown().unwrap();
    assert!((3..=5).contains(&most.load(Ordering::SeqCst)), "{} threads", most.load(Ordering::SeqCst));
}

/// Outside of a pool there is no index; in a pool each handle only knows its own.
#[test]
fn an_index_belongs_to_its_pool() {
    let _watch = watch!();
    let (a, b) = (pool(2), pool(3));
    assert_eq!(current_thread_index(), None);
    assert_eq!(a.current_thread_index(), None);
    a.install(|| {
        assert!(a.current_thread_index().is_some_and(|i| i < 2));
        assert_eq!(b.current_thread_index(), None);
        b.install(|| {
            assert_eq!(a.current_thread_index(), None);
            assert_eq!(current_thread_index(), b.current_thread_index());
            assert_eq!(current_num_threads(), 3);
        });
        assert!(a.current_thread_index().is_some_and(|i| i < 2));
    });
    // The body of a scope in place stays on its thread.
    a.in_place_scope(|_| assert_eq!(current_thread_index(), None));
}

/// `heist::fork` from outside borrows an index for the caller's own thread, or queues; either way the work has an index.
#[test]
fn guests_have_an_index_alone() {
    let _watch = watch!();
    for n in SIZES {
        let pool = guest_pool(n);
        let mut scratch = Scratch::new(n);
        std::thread::scope(|threads| {
            for _ in 0..3 {
                threads.spawn(|| {
                    for _ in 0..50 {
                        pool.fork(|f| {
                            scratch.work(2);
                            keeps_index(|| f.join(|_| scratch.work(2), |_| scratch.work(5)));
                        });
                        assert_eq!(current_thread_index(), None);
                    }
                });
            }
        });
        assert_eq!(scratch.total(), 3 * 50 * 3, "{n} workers");
    }
}

#[test]
fn in_fenced_mode() {
    let _watch = watch!();
    fenced::rerun_fenced(module_path!(), &["nested_loops", "lent_indices", "blocking_lends", "guests_have"]);
}
