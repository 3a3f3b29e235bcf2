//! Every door into the pool inside of every other, with tasks among them: the sum that comes out is the product of how often each
//! door runs what is in it. And what holds for a wait inside of a task: locks, borrows, panics.
//!
//! Public bugs of this kind: futures-rs #2090 (`block_on` inside of `block_on` panics), materialize #13755 (`block_on` inside of a
//! future loses wakes), tokio's "Cannot start a runtime from within a runtime".

use crate::rig::fenced;
use crate::rig::gate::Gate;
use crate::rig::pool::pool;
use crate::rig::watchdog::watch;
use heist::prelude::*;
use heist::{ThreadPool, block_on, task};
use heist_sync::atomic::{AtomicUsize, Ordering};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

#[derive(Clone, Copy, Debug)]
enum Door {
    Join,
    Scope,
    ScopeTasks,
    ParIter,
    Fork,
    Install,
    InstallHere,
    Broadcast,
    Blocking,
    BlockOn,
    BlockOnElsewhere,
    Task,
    TaskElsewhere,
    Compute,
    SpawnBlocking,
    SpawnPinned,
}

use Door::*;

const ALL: [Door; 16] = [
    Join,
    Scope,
    ScopeTasks,
    ParIter,
    Fork,
    Install,
    InstallHere,
    Broadcast,
    Blocking,
    BlockOn,
    BlockOnElsewhere,
    Task,
    TaskElsewhere,
    Compute,
    SpawnBlocking,
    SpawnPinned,
];

/// Those behind which a future is polled or a wait begins, for the third dimension.
const DEEP: [Door; 9] =
    [Join, ScopeTasks, Install, BlockOn, BlockOnElsewhere, Task, Compute, SpawnBlocking, SpawnPinned];

/// The pools by number, and behind them the global one, where threads that belong to no pool end up.
struct World {
    pools: [ThreadPool; 2],
}

const GLOBAL: usize = 2;

/// The pools in which a thread is. They differ on the thread of a pinned future.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Whose thread it is: where it forks.
    jobs: usize,
    /// Where it spawns tasks.
    tasks: usize,
}

impl Place {
    fn of(pool: usize) -> Self {
        Self { jobs: pool, tasks: pool }
    }
}

type Inside = Arc<dyn Fn(Place) -> usize + Send + Sync>;

impl World {
    fn new(a: usize, b: usize) -> Arc<Self> {
        Arc::new(Self { pools: [pool(a), pool(b)] })
    }

    /// Goes through `door` from `here` and sums what `inside` returns; it is told the place that it runs in.
    fn enter(&self, door: Door, here: Place, inside: &Inside) -> usize {
        let (_, there) = self.expected(door, here);
        let sum = AtomicUsize::new(0);
        let add = || _ = sum.fetch_add(inside(there), Ordering::Relaxed);
        let owned = Arc::clone(inside);
        match door {
            Join => {
                let (a, b) = heist::join(|| inside(there), || inside(there));
                return a + b;
            }
            Scope => heist::scope(|s| {
                s.spawn(|_| add());
                add();
            }),
            ScopeTasks => heist::scope(|s| {
                s.spawn_task(async { add() });
                s.spawn_task(async {
                    task::yield_now().await;
                    add();
                });
                s.spawn(|s| s.spawn_task(async { add() }));
            }),
            ParIter => return (0..3).into_par_iter().map(|_| inside(there)).sum(),
            Fork => {
                let (a, b) = heist::fork(|f| f.join(|_| inside(there), |_| inside(there)));
                return a + b;
            }
            InstallHere if here.jobs == GLOBAL => return inside(there),
            Install | InstallHere => return self.pools[there.jobs].install(|| inside(there)),
            Broadcast => return heist::broadcast(|_| inside(there)).into_iter().sum(),
            Blocking => return heist::blocking(|| inside(there)),
            BlockOn => {
                return block_on(async {
                    task::yield_now().await;
                    inside(there)
                });
            }
            BlockOnElsewhere => {
                return self.pools[there.tasks].block_on(async { task::compute(move || owned(there)).await });
            }
            Task => return block_on(task::spawn(async move { owned(there) })).unwrap(),
            TaskElsewhere => {
                return block_on(self.pools[there.tasks].spawn_task(async move { owned(there) })).unwrap();
            }
            Compute => return block_on(task::compute(move || owned(there))),
            SpawnBlocking => return block_on(task::spawn_blocking(move || owned(there))).unwrap(),
            SpawnPinned => {
                let pinned = task::spawn_pinned(move || async move {
                    let local = Rc::new(owned(there));
                    task::yield_now().await;
                    *local
                });
                return block_on(pinned.unwrap()).unwrap();
            }
        }
        sum.into_inner()
    }

    fn other(here: usize) -> usize {
        if here == 0 { 1 } else { 0 }
    }

    /// How often `door` runs its inside, and where.
    fn expected(&self, door: Door, here: Place) -> (usize, Place) {
        let Place { jobs, tasks } = here;
        let threads =
            self.pools.get(jobs).map_or_else(heist::current_num_threads, ThreadPool::current_num_threads);
        match door {
            Join | Scope | Fork => (2, Place::of(jobs)),
            ScopeTasks | ParIter => (3, Place::of(jobs)),
            Broadcast => (threads, Place::of(jobs)),
            InstallHere | Blocking | BlockOn => (1, here),
            Install => (1, Place::of(Self::other(jobs))),
            Task | Compute => (1, Place::of(tasks)),
            TaskElsewhere | BlockOnElsewhere => (1, Place::of(Self::other(tasks))),
            SpawnBlocking | SpawnPinned => (1, Place { jobs: GLOBAL, tasks }),
        }
    }

    /// Goes through the doors, each inside of the one before it, from a job and from a task of pool 0.
    fn check(self: &Arc<Self>, doors: &[Door]) {
        let start = Place::of(0);
        let (mut product, mut here) = (1, start);
        for &door in doors {
            let (times, there) = self.expected(door, here);
            product *= times;
            here = there;
        }
        let (world, names) = (Arc::clone(self), doors.to_vec());
        let mut inside: Inside = Arc::new(move |here| {
            for (n, pool) in world.pools.iter().enumerate() {
                // Not by its index, which it may have lent.
                let is_here = pool.current_thread_has_pending_tasks().is_some();
                assert_eq!(is_here, n == here.jobs, "pool {n}: {names:?} end in {here:?}");
            }
            1
        });
        for &door in doors.iter().rev() {
            let world = Arc::clone(self);
            let inner = inside;
            inside = Arc::new(move |here| world.enter(door, here, &inner));
        }
        let got = self.pools[0].install(|| inside(start));
        assert_eq!(got, product, "{doors:?} from a job");
        let got = block_on(self.pools[0].spawn_task(async move { inside(start) })).unwrap();
        assert_eq!(got, product, "{doors:?} from a task");
    }
}

#[test]
fn every_door_in_every_other() {
    let _watch = watch!();
    for (a, b) in [(1, 1), (2, 1), (4, 2)] {
        let world = World::new(a, b);
        for outer in ALL {
            for inner in ALL {
                world.check(&[outer, inner]);
            }
        }
    }
}

#[test]
fn three_deep() {
    let _watch = watch!();
    let world = World::new(1, 2);
    for first in DEEP {
        for second in DEEP {
            for third in DEEP {
                world.check(&[first, second, third]);
            }
        }
    }
}

#[test]
fn from_two_threads_at_once() {
    let _watch = watch!();
    let world = World::new(2, 2);
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                for outer in ALL {
                    for inner in ALL {
                        world.check(&[outer, inner]);
                    }
                }
            });
        }
    });
}

/// The only worker waits for a task that nobody else could run.
#[test]
fn block_on_on_the_only_worker() {
    let _watch = watch!();
    let pool = pool(1);
    for _ in 0..200 {
        let sum = pool.install(|| block_on(task::spawn(async { 1 })).unwrap());
        assert_eq!(sum, 1);
        let in_task = pool.spawn_task(async { block_on(task::spawn(async { 2 })).unwrap() });
        assert_eq!(block_on(in_task).unwrap(), 2);
        // Three deep, and each of them asleep while the next one runs.
        let deep = pool.install(|| {
            block_on(async {
                task::spawn(async {
                    block_on(async {
                        task::spawn(async { block_on(task::spawn(async { 3 })).unwrap() }).await.unwrap()
                    })
                })
                .await
                .unwrap()
            })
        });
        assert_eq!(deep, 3);
    }
}

/// While `block_on` waits inside of a job, its index is lent: jobs run that nobody else could run.
#[test]
fn block_on_lends_the_index() {
    let _watch = watch!();
    let pool = pool(1);
    for _ in 0..50 {
        let gate = Gate::new();
        let opens = gate.clone();
        pool.install(|| {
            let index = heist::current_thread_index();
            heist::spawn(move || {
                assert_eq!(heist::current_thread_index(), Some(0));
                opens.open();
            });
            block_on(gate.clone());
            assert_eq!(heist::current_thread_index(), index, "a job keeps its index");
        });
        gate.block();
    }
}

/// A lock that is held across a join inside of a task: whoever runs on that thread meanwhile does not want it.
#[test]
fn a_lock_held_across_a_join_in_a_task() {
    let _watch = watch!();
    fn sum(n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        let (a, b) = heist::join(|| sum(n - 1), || sum(n - 2));
        a + b
    }
    for workers in [1, 2, 4] {
        let pool = pool(workers);
        let lock = Arc::new(Mutex::new(0));
        let tasks: Vec<_> = (0..60)
            .map(|n| {
                let lock = Arc::clone(&lock);
                let work = move || {
                    let mut total = lock.lock().unwrap();
                    *total += sum(12);
                    // A stranger that wants the lock, spawned under the lock.
                    let lock = Arc::clone(&lock);
                    heist::spawn(move || *lock.lock().unwrap() += 1);
                    assert_eq!(block_on(task::spawn(async { sum(6) })).unwrap(), 8);
                };
                pool.spawn_task(async move { if n % 2 == 0 { work() } else { task::compute(work).await } })
            })
            .collect();
        for task in tasks {
            block_on(task).unwrap();
        }
        pool.shutdown().unwrap();
        assert_eq!(*lock.lock().unwrap(), 60 * (144 + 1));
    }
}

#[test]
fn tasks_of_a_scope_borrow() {
    let _watch = watch!();
    for workers in [1, 2, 4] {
        let pool = pool(workers);
        let mut parts = vec![0; 500];
        let text = String::from("borrowed");
        pool.scope(|s| {
            for (i, part) in parts.iter_mut().enumerate() {
                let text = &text;
                s.spawn_task(async move {
                    for _ in 0..i % 3 {
                        task::yield_now().await;
                    }
                    *part = i + text.len();
                });
            }
        });
        assert!(parts.iter().enumerate().all(|(i, &part)| part == i + text.len()));
        // From a scope inside of a task, in the tasks' own order.
        let sum = pool.spawn_task(async {
            let mut sums = [0; 8];
            heist::scope_fifo(|s| {
                for sum in &mut sums {
                    s.spawn_task(async move { *sum = task::spawn(async { 5 }).await.unwrap() });
                }
            });
            sums.iter().sum::<i32>()
        });
        assert_eq!(block_on(sum).unwrap(), 40);
    }
}

/// Marks its drop in a number that must outlive it.
struct Borrows<'a>(&'a AtomicUsize);

impl Drop for Borrows<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The body panics: tasks that would never end are aborted, and all have gone before the scope has.
#[test]
fn a_scope_whose_body_panics() {
    let _watch = watch!();
    for workers in [1, 2, 4] {
        let pool = pool(workers);
        for _ in 0..20 {
            let dropped = AtomicUsize::new(0);
            let caught = catch_unwind(AssertUnwindSafe(|| {
                pool.scope(|s| {
                    for n in 0..100 {
                        let borrows = Borrows(&dropped);
                        s.spawn_task(async move {
                            let _borrows = borrows;
                            match n % 3 {
                                0 => std::future::pending::<()>().await,
                                1 => {}
                                _ => loop {
                                    task::yield_now().await;
                                },
                            }
                        });
                    }
                    panic!("the body");
                })
            }));
            assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"the body"));
            assert_eq!(dropped.load(Ordering::Relaxed), 100, "{workers} workers");
        }
    }
}

/// A job panics: tasks that would never end are aborted, whether they came before or after it.
#[test]
fn a_scope_whose_job_panics() {
    let _watch = watch!();
    for workers in [1, 2, 4] {
        let pool = pool(workers);
        let dropped = AtomicUsize::new(0);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            pool.scope(|s| {
                let endless = || {
                    let borrows = Borrows(&dropped);
                    async move {
                        let _borrows = borrows;
                        std::future::pending::<()>().await;
                    }
                };
                s.spawn_task(endless());
                s.spawn(|_| panic!("the job"));
                s.spawn_task(endless());
            })
        }));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"the job"));
        assert_eq!(dropped.load(Ordering::Relaxed), 2, "{workers} workers");
    }
}

/// A task panics: the scope goes on to its end and then panics with that.
#[test]
fn a_scope_whose_task_panics() {
    let _watch = watch!();
    for workers in [1, 2, 4] {
        let pool = pool(workers);
        for _ in 0..20 {
            let (dropped, ran) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let caught = catch_unwind(AssertUnwindSafe(|| {
                pool.scope(|s| {
                    for n in 0..50 {
                        let borrows = Borrows(&dropped);
                        let ran = &ran;
                        s.spawn_task(async move {
                            let _borrows = borrows;
                            task::yield_now().await;
                            assert!(n != 7, "task seven");
                        });
                        s.spawn(|_| _ = ran.fetch_add(1, Ordering::Relaxed));
                    }
                })
            }));
            let payload = caught.unwrap_err();
            assert_eq!(payload.downcast_ref(), Some(&"task seven"));
            assert_eq!(dropped.load(Ordering::Relaxed), 50, "{workers} workers");
            assert_eq!(ran.load(Ordering::Relaxed), 50, "jobs of the scope run to their end");
        }
    }
}

#[test]
fn in_fenced_mode() {
    let _watch = watch!();
    fenced::rerun_fenced(module_path!(), &["every_door", "block_on", "a_lock", "a_scope"]);
}
