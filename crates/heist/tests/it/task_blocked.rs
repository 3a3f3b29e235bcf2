//! Promise 4: a blocked task freezes nobody. What is queued behind it, and what becomes ready meanwhile, runs while it still
//! blocks, and nobody had to say that it would.
//!
//! No test here measures a time: each blocker waits for something that only its neighbour can do, so a broken promise is a
//! deadlock, and the watchdog tells. Public bugs of this kind: tokio #4941 (the task in the LIFO slot cannot be stolen, so a
//! blocked neighbour freezes it), and every "blocking the executor" thread.

#![cfg(target_os = "linux")]

use crate::rig::byte;
use crate::rig::count::Count;
use crate::rig::fenced;
use crate::rig::gate::Gate;
use crate::rig::pool::{guest_pool, pool};
use crate::rig::watchdog::watch;
use heist::{ThreadPool, ThreadPoolBuilder, task, time};
use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How a thread is kept from going on until the gate opens.
#[derive(Clone, Copy, Debug)]
enum Blocks {
    /// Asleep in the kernel.
    Asleep,
    /// Asleep again and again, as one who polls.
    Napping,
    /// On a lock that somebody holds who waits for the gate.
    OnALock,
    Busy,
}

const BLOCKS: [Blocks; 4] = [Blocks::Asleep, Blocks::Napping, Blocks::OnALock, Blocks::Busy];

impl Blocks {
    fn until(self, gate: &Gate) {
        // A flag beside the gate, for those who do not wait at it.
        let is_open = Arc::new(AtomicBool::new(false));
        let lock = Arc::new(Mutex::new(()));
        let watcher = |held: Option<Arc<Mutex<()>>>| {
            let (gate, is_open, is_held) = (gate.clone(), Arc::clone(&is_open), Gate::new());
            let told = is_held.clone();
            std::thread::spawn(move || {
                let guard = held.as_ref().map(|lock| lock.lock().unwrap());
                told.open();
                gate.block();
                is_open.store(true, Ordering::Release);
                drop(guard);
            });
            is_held.block();
        };
        match self {
            Self::Asleep => gate.block(),
            Self::Napping => {
                watcher(None);
                while !is_open.load(Ordering::Acquire) {
                    std::thread::sleep(Duration::from_micros(300));
                }
            }
            Self::OnALock => {
                watcher(Some(Arc::clone(&lock)));
                drop(lock.lock().unwrap());
            }
            Self::Busy => {
                watcher(None);
                while !is_open.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
            }
        }
    }
}

/// Where the neighbour is while all workers are blocked.
#[derive(Clone, Copy, Debug)]
enum Waits {
    /// Spawned by each blocker: in its next place.
    Next,
    /// Several, spawned by each blocker: in its ring.
    Ring,
    /// More than a ring holds, spawned by each blocker: in the injector, too.
    Overflow,
    /// Spawned from outside.
    Injected,
    /// Asleep, woken from outside.
    Woken,
    /// Asleep, woken by each blocker.
    WokenByBlocker,
    /// On a timer that is set before the workers block.
    Timer,
    /// On a timer that is set when all workers have blocked.
    LateTimer,
    /// On a socket.
    Socket,
}

const WAITS: [Waits; 9] = [
    Waits::Next,
    Waits::Ring,
    Waits::Overflow,
    Waits::Injected,
    Waits::Woken,
    Waits::WokenByBlocker,
    Waits::Timer,
    Waits::LateTimer,
    Waits::Socket,
];

/// What of a blocker's may be the pool's: a task, or a job.
#[derive(Clone, Copy, Debug)]
enum As {
    Task,
    Job,
}

/// Every worker of the pool blocks until the neighbours have run.
fn check(workers: usize, blocks: Blocks, waits: Waits, blocker_as: As) {
    let pool = pool(workers);
    let per_blocker = match waits {
        Waits::Next => 1,
        Waits::Ring => 3,
        Waits::Overflow => 400,
        _ => 0,
    };
    let spawned_here = match waits {
        Waits::Next | Waits::Ring | Waits::Overflow => 0,
        _ => 1,
    };
    let ran = Count::new(workers * per_blocker + spawned_here);
    let all_block = Count::new(workers);
    let ended = Count::new(workers);
    let set = Gate::new();

    let neighbour = {
        let (ran, all_block, set) = (ran.clone(), all_block.gate.clone(), set.clone());
        let (mut near, far) = byte::ends();
        async move {
            set.open();
            match waits {
                Waits::Woken | Waits::WokenByBlocker => all_block.await,
                Waits::Timer => time::sleep(Duration::from_millis(3)).await,
                Waits::LateTimer => {
                    all_block.await;
                    time::sleep(Duration::from_millis(1)).await;
                }
                Waits::Socket => {
                    std::thread::spawn(move || {
                        all_block.block();
                        near.write_all(&[7]).unwrap();
                    });
                    assert_eq!(byte::read(far).await, 7);
                }
                Waits::Next | Waits::Ring | Waits::Overflow | Waits::Injected => {}
            }
            ran.knock();
        }
    };
    let neighbour = match (spawned_here, waits) {
        (0, _) => None,
        (_, Waits::Injected) => Some(neighbour),
        _ => {
            drop(pool.spawn_task(neighbour));
            set.block();
            None
        }
    };
    for _ in 0..workers {
        let (ran, all_block, ended) = (ran.clone(), all_block.clone(), ended.clone());
        let block = move || {
            for _ in 0..per_blocker {
                let ran = ran.clone();
                drop(task::spawn(async move { ran.knock() }));
            }
            match waits {
                // The last one wakes the sleeper, from within.
                Waits::WokenByBlocker | Waits::LateTimer => all_block.knock(),
                // From outside.
                _ => {
                    let all_block = all_block.clone();
                    std::thread::spawn(move || all_block.knock());
                }
            }
            blocks.until(&ran.gate);
            ended.knock();
        };
        match blocker_as {
            As::Task => drop(pool.spawn_task(async move { block() })),
            As::Job => pool.spawn(block),
        }
    }
    all_block.gate.block();
    if let Some(neighbour) = neighbour {
        drop(pool.spawn_task(neighbour));
    }
    ended.gate.block();
}

fn check_all(blocker_as: As) {
    for workers in [1, 2] {
        for blocks in BLOCKS {
            for waits in WAITS {
                println!("{workers} workers, blocked {blocks:?} as {blocker_as:?}, the neighbour {waits:?}");
                check(workers, blocks, waits, blocker_as);
            }
        }
    }
}

#[test]
fn tasks_behind_blocked_tasks() {
    let _watch = watch!();
    check_all(As::Task);
}

#[test]
fn tasks_behind_blocked_jobs() {
    let _watch = watch!();
    check_all(As::Job);
}

/// No two running threads have the same index, and none is out of range.
struct Indices {
    taken: Vec<AtomicBool>,
}

impl Indices {
    fn new(n: usize) -> Arc<Self> {
        Arc::new(Self { taken: (0..n).map(|_| AtomicBool::new(false)).collect() })
    }

    /// Runs `turn`, which does not wait in the pool, and so keeps its index.
    fn during(&self, turn: impl FnOnce()) {
        let index = heist::current_thread_index();
        if let Some(i) = index {
            assert!(i < self.taken.len(), "index {i} in a pool of {}", self.taken.len());
            assert!(!self.taken[i].swap(true, Ordering::AcqRel), "two threads run with index {i}");
        }
        turn();
        assert_eq!(heist::current_thread_index(), index, "the index has changed during a turn");
        if let Some(i) = index {
            self.taken[i].store(false, Ordering::Release);
        }
    }
}

const LINKS: usize = 24;

/// Link `n` blocks until link `n + 1` has ended.
fn link(
    n: usize,
    indices: Arc<Indices>,
    blocks: Blocks,
    done: Gate,
) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        indices.clone().during(|| {
            if n < LINKS {
                let next = Gate::new();
                drop(task::spawn(link(n + 1, indices, blocks, next.clone())));
                blocks.until(&next);
            }
        });
        done.open();
    })
}

/// Many more blocked tasks than workers, each of which needs the next.
#[test]
fn a_chain_of_blocked_tasks() {
    let _watch = watch!();
    for workers in [1, 2, 4] {
        // Busy ones would have to share two cores among all of them.
        for blocks in [Blocks::Asleep, Blocks::Napping, Blocks::OnALock] {
            let (pool, done) = (pool(workers), Gate::new());
            drop(pool.spawn_task(link(0, Indices::new(workers), blocks, done.clone())));
            done.block();
        }
    }
}

/// As many again as are needed are started, and they go when they are not.
#[test]
fn threads_beyond_the_parallelism_retire() {
    let _watch = watch!();
    let workers = 2;
    let (started, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (starting, ending) = (Arc::clone(&started), Arc::clone(&ended));
    let pool = ThreadPoolBuilder::new()
        .num_threads(workers)
        .start_handler(move |_| _ = starting.fetch_add(1, Ordering::AcqRel))
        .exit_handler(move |_| _ = ending.fetch_add(1, Ordering::AcqRel))
        .build()
        .unwrap();
    let done = Gate::new();
    drop(pool.spawn_task(link(0, Indices::new(workers), Blocks::Asleep, done.clone())));
    done.block();
    assert!(started.load(Ordering::Acquire) > LINKS, "every blocked link has its thread");
    while started.load(Ordering::Acquire) - ended.load(Ordering::Acquire) > workers {
        std::thread::sleep(Duration::from_millis(50));
    }
    // Those that are left still do.
    let (pool, done) = (pool, Gate::new());
    drop(pool.spawn_task(link(0, Indices::new(workers), Blocks::Asleep, done.clone())));
    done.block();
}

/// A blocker goes on and ends while those who overtook it still run: no index is used twice, and nobody is lost.
#[test]
fn blocked_again_and_again() {
    let _watch = watch!();
    for workers in [1, 2, 4] {
        let pool = pool(workers);
        let indices = Indices::new(workers);
        let ended = Count::new(400);
        for n in 0..400 {
            let (indices, ended) = (Arc::clone(&indices), ended.clone());
            let turn = async move {
                for _ in 0..4 {
                    indices.during(|| {
                        if n % 7 == 0 {
                            std::thread::sleep(Duration::from_millis(1));
                        }
                    });
                    task::yield_now().await;
                }
                ended.knock();
            };
            drop(pool.spawn_task(turn));
        }
        ended.gate.block();
    }
}

/// A thread from outside that has borrowed an index, and one that was made a worker, are overtaken like any other.
#[test]
fn behind_threads_from_outside() {
    let _watch = watch!();
    let wait_for_a_task = |pool: &ThreadPool| {
        let ran = Gate::new();
        let opens = ran.clone();
        drop(pool.spawn_task(async move { opens.open() }));
        ran.block();
    };
    for workers in [1, 2] {
        let guests = guest_pool(workers);
        guests.install(|| wait_for_a_task(&guests));
        // One that is the pool's only thread is overtaken by nobody: there is no other.
        if workers == 1 {
            continue;
        }
        std::thread::spawn(move || {
            let adopted = ThreadPoolBuilder::new().num_threads(workers).use_current_thread().build().unwrap();
            wait_for_a_task(&adopted);
            // The other worker is blocked by a job.
            let (blocked, go) = (Gate::new(), Gate::new());
            let (blocks, goes) = (blocked.clone(), go.clone());
            adopted.spawn(move || {
                blocks.open();
                goes.block();
            });
            blocked.block();
            wait_for_a_task(&adopted);
            go.open();
        })
        .join()
        .unwrap();
    }
}

#[test]
fn in_fenced_mode() {
    let _watch = watch!();
    fenced::rerun_fenced(module_path!(), &["tasks_behind", "a_chain", "again"]);
}
