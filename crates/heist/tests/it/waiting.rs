//! Promise 3: waiting never runs a stranger. A wait runs only what it needs to end, so locks, cells and thread-local state may
//! be held across a join.
//!
//! Public bugs of this kind: rayon #592 (a worker that waits steals unrelated work while it holds a lock), aptos-core #19619
//! and lighthouse #1562 (the same in the wild).

use crate::rig::fenced;
use crate::rig::pool::pool;
use crate::rig::watchdog::watch;
use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::cell::{Cell, RefCell};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

const SIZES: [usize; 4] = [1, 2, 4, 16];

/// Keeps a core busy: work that cannot be taken for a sleep.
fn compute(for_us: u64) {
    let until = Instant::now() + Duration::from_micros(for_us);
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

/// A small tree of forks whose leaves take long enough to be stolen now and then.
fn tree(levels: u32) -> u64 {
    if levels == 0 {
        compute(2);
        return 1;
    }
    let (a, b) = heist::join(|| tree(levels - 1), || tree(levels - 1));
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

/// How a stranger comes to lie where a waiter could take it.
#[derive(Clone, Copy, Debug)]
enum Comes {
    /// Spawned by the waiter: on top of its own queue.
    Spawned,
    /// Spawned by the waiter into a scope around its own job.
    IntoOuterScope,
    /// Queued from outside of the pool.
    Injected,
    /// Forked by another busy worker: at the bottom of that one's stack.
    ForkedElsewhere,
}

/// What is held across the wait, and wanted by the stranger.
struct Held {
    name: &'static str,
    /// Runs the wait with it.
    across: fn(&Wanted, &(dyn Fn() + Sync)),
    /// What the stranger does.
    want: fn(&Wanted),
}

#[derive(Default)]
struct Wanted {
    lock: Mutex<()>,
    once: OnceLock<()>,
}

const HELD: [Held; 3] = [
    Held {
        name: "a mutex",
        across: |wanted, wait| {
            let _held = wanted.lock.lock().unwrap();
            wait();
        },
        want: |wanted| drop(wanted.lock.lock().unwrap()),
    },
    Held {
        name: "a lock's initialiser",
        across: |wanted, wait| {
            wanted.once.get_or_init(wait);
        },
        want: |wanted| {
            // Begun already, so this waits.
            wanted.once.get_or_init(|| unreachable!("the initialiser runs"));
        },
    },
    Held {
        name: "thread-local scratch space",
        across: |_, wait| {
            SCRATCH.with(|scratch| {
                let _held = scratch.borrow_mut();
                wait();
            });
        },
        want: |_| SCRATCH.with(|scratch| drop(scratch.try_borrow_mut().expect("nobody below on this stack"))),
    },
];

/// Waits in a join whose second half is on another thread, and stays there for a while after `strangers` were queued.
fn wait_while(strangers: impl FnOnce() + Send) {
    let (stolen, queued) = (AtomicBool::new(false), AtomicBool::new(false));
    let alone = heist::current_num_threads() == 1;
    heist::join(
        || {
            while !alone && !stolen.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            strangers();
            queued.store(true, Ordering::Release);
        },
        || {
            stolen.store(true, Ordering::Release);
            while !queued.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            // Longer than a waiter spins before it gives its place away.
            compute(400);
        },
    );
}

/// rayon #592 without luck: the second half is stolen for certain, then strangers come that want what the waiter holds, and
/// then it waits. (Run against rayon, the four tests below hang or find the scratch space borrowed.)
fn meet_strangers(n: usize, comes: Comes, held: &Held) {
    let pool = pool(n);
    let wanted = Arc::new(Wanted::default());
    let met = Arc::new(AtomicUsize::new(0));
    let stranger = || {
        let (wanted, met, want) = (Arc::clone(&wanted), Arc::clone(&met), held.want);
        move || {
            want(&wanted);
            met.fetch_add(1, Ordering::AcqRel);
        }
    };
    const STRANGERS: usize = 3;
    let come = AtomicBool::new(false);
    // The other worker, for strangers that lie on its stack.
    let fork_when_told = || {
        while !come.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        // Longer than the half that is waited for, so that only thieves can take the strangers meanwhile.
        let busy = || compute(1500);
        heist::join(|| heist::join(|| heist::join(busy, stranger()), stranger()), stranger());
    };
    let (ask, asked) = channel::<()>();
    let ask = Mutex::new(ask);
    let (answer, answered) = channel::<()>();
    let answered = Mutex::new(answered);
    std::thread::scope(|outside| {
        let (pool, stranger) = (&pool, &stranger);
        outside.spawn(move || {
            while asked.recv().is_ok() {
                (0..STRANGERS).for_each(|_| pool.spawn(stranger()));
                answer.send(()).unwrap();
            }
        });
        pool.scope(|s| {
            if matches!(comes, Comes::ForkedElsewhere) {
                s.spawn(|_| fork_when_told());
            }
            s.spawn(|s| {
                let wait = || {
                    wait_while(|| match comes {
                        Comes::Spawned => (0..STRANGERS).for_each(|_| heist::spawn(stranger())),
                        Comes::IntoOuterScope => (0..STRANGERS).for_each(|_| {
                            let stranger = stranger();
                            s.spawn(move |_| stranger());
                        }),
                        Comes::Injected => {
                            ask.lock().unwrap().send(()).unwrap();
                            answered.lock().unwrap().recv().unwrap();
                        }
                        Comes::ForkedElsewhere => come.store(true, Ordering::Release),
                    });
                };
                (held.across)(&wanted, &wait);
            });
        });
        drop(ask);
    });
    while met.load(Ordering::Acquire) < STRANGERS {
        std::thread::yield_now();
    }
}

fn meet_all(comes: Comes, sizes: &[usize]) {
    for &n in sizes {
        for held in &HELD {
            println!("{n} workers, {comes:?}, {} is held", held.name);
            (0..15).for_each(|_| meet_strangers(n, comes, held));
        }
    }
}

#[test]
fn strangers_on_the_own_queue() {
    let _watch = watch!();
    meet_all(Comes::Spawned, &SIZES);
}

#[test]
fn strangers_of_an_outer_scope() {
    let _watch = watch!();
    meet_all(Comes::IntoOuterScope, &SIZES);
}

#[test]
fn strangers_from_outside() {
    let _watch = watch!();
    meet_all(Comes::Injected, &SIZES);
}

/// Three workers: one waits, one has the half that is waited for, one has the strangers.
#[test]
fn strangers_on_another_workers_stack() {
    let _watch = watch!();
    meet_all(Comes::ForkedElsewhere, &[3, 4, 16]);
}

/// rayon #592 in bulk: each job forks while it holds the lock that all want. Needs luck to catch a stranger; the tests above do
/// not.
#[test]
fn mutex_held_across_join() {
    let _watch = watch!();
    for n in SIZES {
        let pool = pool(n);
        let total = Mutex::new(0);
        pool.install(|| {
            for_each(2000, &|_| {
                let mut total = total.lock().unwrap();
                *total += tree(3);
            });
        });
        assert_eq!(total.into_inner().unwrap(), 2000 * 8, "{n} workers");
    }
}

/// The same with scopes: each job waits for jobs that it spawned.
#[test]
fn mutex_held_across_scope() {
    let _watch = watch!();
    for n in SIZES {
        let pool = pool(n);
        let total = Mutex::new(0);
        pool.scope(|s| {
            for _ in 0..500 {
                s.spawn(|_| {
                    let mut total = total.lock().unwrap();
                    let inner = AtomicUsize::new(0);
                    heist::scope(|s| {
                        for _ in 0..4 {
                            s.spawn(|_| {
                                compute(5);
                                inner.fetch_add(1, Ordering::Relaxed);
                            });
                        }
                    });
                    *total += inner.into_inner();
                });
            }
        });
        assert_eq!(total.into_inner().unwrap(), 500 * 4, "{n} workers");
    }
}

/// lighthouse #1562: a lazily made value whose initialiser is parallel.
#[test]
fn once_lock_with_parallel_initialiser() {
    let _watch = watch!();
    for n in SIZES {
        let pool = pool(n);
        for _ in 0..50 {
            let cell = OnceLock::new();
            let made = AtomicUsize::new(0);
            let sum = AtomicUsize::new(0);
            pool.install(|| {
                for_each(64, &|_| {
                    let value = cell.get_or_init(|| {
                        made.fetch_add(1, Ordering::Relaxed);
                        tree(5)
                    });
                    sum.fetch_add(*value as usize, Ordering::Relaxed);
                });
            });
            assert_eq!((made.into_inner(), sum.into_inner()), (1, 64 * 32), "{n} workers");
        }
    }
}

/// As many jobs as there are workers wait for a message that only a job queued behind them sends.
#[test]
fn blocked_jobs_let_the_sender_run() {
    let _watch = watch!();
    for n in SIZES {
        let pool = pool(n);
        for _ in 0..20 {
            let (send, receive) = channel();
            let receive = Mutex::new(receive);
            let got = AtomicUsize::new(0);
            pool.in_place_scope(|s| {
                for _ in 0..n.max(2) {
                    s.spawn(|_| {
                        let message: usize = heist::blocking(|| receive.lock().unwrap().recv().unwrap());
                        got.fetch_add(message, Ordering::Relaxed);
                    });
                }
                s.spawn(move |_| (0..n.max(2)).for_each(|_| send.send(1).unwrap()));
            });
            assert_eq!(got.into_inner(), n.max(2));
        }
    }
}

/// A detached job lies on top of the waiter's own queue and wants the lock that the waiter holds.
#[test]
fn detached_spawn_inside_a_half() {
    let _watch = watch!();
    for n in SIZES {
        let pool = pool(n);
        let rounds = 200;
        let lock = Arc::new(Mutex::new(0));
        for round in 0..rounds {
            pool.install(|| {
                let mut held = lock.lock().unwrap();
                let stranger = || {
                    let lock = Arc::clone(&lock);
                    heist::spawn(move || *lock.lock().unwrap() += 1);
                };
                let spin = if round % 10 == 0 { 400 } else { 1 };
                heist::join(
                    || {
                        stranger();
                        compute(spin / 2);
                    },
                    || {
                        stranger();
                        compute(spin);
                    },
                );
                *held += 1;
            });
        }
        pool.shutdown().unwrap();
        assert_eq!(*lock.lock().unwrap(), 3 * rounds, "{n} workers");
    }
}

/// The same with a job of the outer scope: for an inner wait it is a stranger too.
#[test]
fn outer_scope_spawn_inside_a_half() {
    let _watch = watch!();
    for n in SIZES {
        let pool = pool(n);
        let rounds = 200;
        let lock = Mutex::new(0);
        for round in 0..rounds {
            let spin = if round % 10 == 0 { 400 } else { 1 };
            pool.scope(|outer| {
                outer.spawn(|outer| {
                    let mut held = lock.lock().unwrap();
                    heist::join(
                        || {
                            outer.spawn(|_| *lock.lock().unwrap() += 1);
                            compute(spin / 2);
                        },
                        || {
                            outer.spawn(|_| *lock.lock().unwrap() += 1);
                            compute(spin);
                        },
                    );
                    heist::scope(|inner| {
                        outer.spawn(|_| *lock.lock().unwrap() += 1);
                        inner.spawn(|_| compute(spin));
                        outer.spawn(|_| *lock.lock().unwrap() += 1);
                    });
                    *held += 1;
                });
            });
        }
        assert_eq!(lock.into_inner().unwrap(), 5 * rounds, "{n} workers");
    }
}

thread_local! {
    static SCRATCH: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// The jobs on this thread's stack, by their path from the root.
    static RUNNING: RefCell<Vec<Path>> = const { RefCell::new(Vec::new()) };
}

/// rayon's documented trap: thread-local scratch space, borrowed across a join, is found borrowed by a stolen job.
#[test]
fn thread_local_cell_borrowed_across_join() {
    let _watch = watch!();
    for n in SIZES {
        let pool = pool(n);
        pool.install(|| {
            for_each(2000, &|i| {
                SCRATCH.with(|scratch| {
                    let mut scratch = scratch.try_borrow_mut().expect("no stranger on this stack");
                    scratch.push(i as u64);
                    tree(3);
                    assert_eq!(scratch.pop(), Some(i as u64));
                });
            });
        });
    }
}

/// Of sibling jobs that each wait, one stack holds one.
#[test]
fn siblings_never_nest() {
    let _watch = watch!();
    for n in SIZES {
        let pool = pool(n);
        let deepest = AtomicUsize::new(0);
        let job = || {
            let depth = DEPTH.get() + 1;
            DEPTH.set(depth);
            deepest.fetch_max(depth, Ordering::Relaxed);
            tree(4);
            heist::scope(|s| (0..3).for_each(|_| s.spawn(|_| compute(3))));
            DEPTH.set(depth - 1);
        };
        pool.install(|| for_each(500, &|_| job()));
        pool.scope(|s| (0..500).for_each(|_| s.spawn(|_| job())));
        pool.scope_fifo(|s| (0..500).for_each(|_| s.spawn_fifo(|_| job())));
        assert_eq!(deepest.into_inner(), 1, "{n} workers");
    }
}

/// Where a job is in the tree of all jobs: two bits for each level.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Path {
    bits: u64,
    level: u32,
}

impl Path {
    const ROOT: Self = Self { bits: 0, level: 0 };

    fn child(self, n: u64) -> Self {
        assert!(n < 4 && self.level < 32);
        Self { bits: self.bits << 2 | n, level: self.level + 1 }
    }

    fn is_ancestor_of(self, other: Self) -> bool {
        self.level < other.level && other.bits >> (2 * (other.level - self.level)) == self.bits
    }

    /// Runs `f` as this job. Whatever lies below on the stack must be an ancestor.
    fn run(self, f: impl FnOnce(Self)) {
        let below = RUNNING.with_borrow_mut(|running| {
            let below = running.last().copied();
            running.push(self);
            below
        });
        assert!(below.is_none_or(|b| b.is_ancestor_of(self)), "{self:?} runs on the stack of {below:?}");
        f(self);
        assert_eq!(RUNNING.with_borrow_mut(Vec::pop), Some(self));
    }
}

#[test]
fn paths_know_their_ancestors() {
    let a = Path::ROOT.child(1).child(2);
    assert!(
        Path::ROOT.is_ancestor_of(a) && Path::ROOT.child(1).is_ancestor_of(a) && a.is_ancestor_of(a.child(3))
    );
    assert!(
        !a.is_ancestor_of(a)
            && !a.is_ancestor_of(Path::ROOT.child(1))
            && !Path::ROOT.child(2).is_ancestor_of(a)
    );
    assert!(!Path::ROOT.child(1).child(3).is_ancestor_of(a.child(3)));
}

/// A tree of joins and scopes in turns, whose branches are of very different weight, so that much is stolen.
fn mixed(path: Path, levels: u32) {
    path.run(|path| {
        let weight = (path.bits.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58) as u32;
        if levels == 0 {
            return compute(u64::from(weight) / 2);
        }
        let next = |n| mixed(path.child(n), levels - 1);
        match weight % 5 {
            0 | 1 => {
                heist::join(|| next(0), || next(1));
            }
            2 => heist::scope(|s| {
                for n in 0..3 {
                    s.spawn(move |_| next(n));
                }
            }),
            3 => {
                // The shape of a scope inside of a join inside of a scope.
                heist::scope(|s| {
                    s.spawn(|_| next(0));
                    heist::join(|| heist::scope(|s| s.spawn(|_| next(1))), || next(2));
                });
            }
            _ => heist::fork(|f| {
                f.join(|_| next(0), |_| next(1));
            }),
        }
    });
}

/// Whatever lies below a job on its thread's stack is its ancestor: the stack is never deeper than the program's own nesting,
/// however much is stolen. (rayon's stacks grow with each steal of a waiter.)
#[test]
fn below_a_job_is_its_ancestor() {
    let _watch = watch!();
    for n in SIZES {
        let pool = pool(n);
        for _ in 0..4 {
            pool.install(|| mixed(Path::ROOT, 9));
        }
    }
}

/// Joins only, with long leaves: waiters take back from their thieves what those forked.
#[test]
fn leapfrogging_takes_only_descendants() {
    fn node(path: Path, levels: u32) {
        path.run(|path| {
            if levels == 0 {
                return compute(20);
            }
            // The second half is the heavy one: it is stolen, and its owner has to help with it.
            heist::join(|| node(path.child(0), levels.saturating_sub(3)), || node(path.child(1), levels - 1));
        });
    }
    let _watch = watch!();
    for n in SIZES {
        let pool = pool(n);
        for _ in 0..10 {
            pool.install(|| node(Path::ROOT, 12));
        }
    }
}

/// Scopes in scopes, each with a lock over its wait.
#[test]
fn nested_scopes_with_locks() {
    fn level(locks: &[Mutex<usize>], depth: usize) -> usize {
        let Some(lock) = locks.get(depth) else { return 1 };
        let sum = AtomicUsize::new(0);
        heist::scope(|s| {
            for _ in 0..3 {
                s.spawn(|_| {
                    let mut held = lock.lock().unwrap();
                    *held += 1;
                    sum.fetch_add(level(locks, depth + 1), Ordering::Relaxed);
                });
            }
        });
        sum.into_inner()
    }
    let _watch = watch!();
    for n in SIZES {
        let pool = pool(n);
        let locks: Vec<_> = (0..6).map(|_| Mutex::new(0)).collect();
        assert_eq!(pool.install(|| level(&locks, 0)), 3usize.pow(6), "{n} workers");
    }
}

#[test]
fn in_fenced_mode() {
    let _watch = watch!();
    fenced::rerun_fenced(
        module_path!(),
        &["mutex_held", "below_a_job", "leapfrogging", "inside_a_half", "strangers"],
    );
}
