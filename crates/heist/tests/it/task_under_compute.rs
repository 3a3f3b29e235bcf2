//! Promise 5: ready tasks run while fork-join saturates every worker, and never on a computing thread's stack.
//!
//! No test here measures a time: the computation ends only when the task has run, so a broken promise is a computation without
//! an end, and the watchdog tells. The threads' marks say whose stack it was.

#![cfg(target_os = "linux")]

use crate::rig::byte;
use crate::rig::fenced;
use crate::rig::gate::Gate;
use crate::rig::pool::pool;
use crate::rig::watchdog::watch;
use heist::{ThreadPool, task, time};
use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::cell::Cell;
use std::future::Future;
use std::io::Write;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::task::{Context, Poll};
use std::time::Duration;

/// Whose frames are on a thread's stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owner {
    Nobody,
    Computation,
    /// By number.
    Task(usize),
}

thread_local! {
    static STACK: Cell<Owner> = const { Cell::new(Owner::Nobody) };
}

/// Runs `f` on a stack that must have been empty, or its own.
fn on_own_stack<R>(owner: Owner, f: impl FnOnce() -> R) -> R {
    let before = STACK.get();
    assert!(before == Owner::Nobody || before == owner, "{owner:?} runs on a stack of {before:?}");
    STACK.set(owner);
    let result = f();
    assert_eq!(STACK.replace(before), owner, "a stranger has left its mark");
    result
}

/// Marks the stack during each turn of a future.
struct Marked<F> {
    id: usize,
    future: Pin<Box<F>>,
}

impl<F: Future> Future for Marked<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        on_own_stack(Owner::Task(self.id), || self.future.as_mut().poll(cx))
    }
}

fn marked<F: Future>(id: usize, future: F) -> Marked<F> {
    Marked { id, future: Box::pin(future) }
}

/// A tree of forks, all of which belong to `owner`.
fn tree(owner: Owner, levels: u32) -> u64 {
    on_own_stack(owner, || {
        if levels == 0 {
            return 1;
        }
        let (a, b) = heist::join(|| tree(owner, levels - 1), || tree(owner, levels - 1));
        a + b
    })
}

/// Keeps all workers busy with forks until it is told to stop.
struct Saturated {
    pool: Arc<ThreadPool>,
    stop: Arc<AtomicBool>,
    over: Gate,
}

impl Saturated {
    fn new(workers: usize) -> Self {
        let pool = Arc::new(pool(workers));
        let stop = Arc::new(AtomicBool::new(false));
        let (over, all_compute) = (Gate::new(), Gate::new());
        let computing = Arc::new(AtomicUsize::new(0));
        let (job_pool, job_stop, job_over) = (Arc::clone(&pool), Arc::clone(&stop), over.clone());
        let tell = all_compute.clone();
        std::thread::spawn(move || {
            job_pool.scope(|s| {
                for _ in 0..workers {
                    s.spawn(|_| {
                        if computing.fetch_add(1, Ordering::AcqRel) + 1 == workers {
                            tell.open();
                        }
                        while !job_stop.load(Ordering::Acquire) {
                            assert_eq!(tree(Owner::Computation, 10), 1 << 10);
                        }
                    });
                }
            });
            job_over.open();
        });
        all_compute.block();
        Self { pool, stop, over }
    }

    /// Lets the computation end when the task has.
    fn until(self, task: impl Future<Output = ()> + Send + 'static) {
        let stop = Arc::clone(&self.stop);
        let task = self.pool.spawn_task(marked(0, async move {
            task.await;
            stop.store(true, Ordering::Release);
        }));
        self.over.block();
        self.pool.block_on(task).expect("the task is on its own stack");
    }
}

const SIZES: [usize; 3] = [1, 2, 4];

#[test]
fn a_task_from_outside() {
    let _watch = watch!();
    for workers in SIZES {
        Saturated::new(workers).until(async {});
    }
}

#[test]
fn a_task_that_gives_way_many_times() {
    let _watch = watch!();
    for workers in SIZES {
        Saturated::new(workers).until(async {
            for _ in 0..500 {
                task::yield_now().await;
            }
        });
    }
}

#[test]
fn a_task_woken_from_outside() {
    let _watch = watch!();
    for workers in SIZES {
        let busy = Saturated::new(workers);
        let (waits, go) = (Gate::new(), Gate::new());
        let (waiting, passed) = (waits.clone(), go.clone());
        std::thread::spawn(move || {
            waits.block();
            go.open();
        });
        busy.until(async move {
            waiting.open();
            passed.await;
        });
    }
}

#[test]
fn timers() {
    let _watch = watch!();
    for workers in SIZES {
        Saturated::new(workers).until(async {
            for us in [1, 100, 3_000] {
                time::sleep(Duration::from_micros(us)).await;
            }
        });
        // Set before anything computes.
        let pool = Arc::new(pool(workers));
        let stop = Arc::new(AtomicBool::new(false));
        let stops = Arc::clone(&stop);
        let timer = pool.spawn_task(marked(0, async move {
            time::sleep(Duration::from_millis(5)).await;
            stops.store(true, Ordering::Release);
        }));
        pool.scope(|s| {
            for _ in 0..workers {
                s.spawn(|_| {
                    while !stop.load(Ordering::Acquire) {
                        tree(Owner::Computation, 8);
                    }
                });
            }
        });
        pool.block_on(timer).expect("the task is on its own stack");
    }
}

#[test]
fn sockets() {
    let _watch = watch!();
    for workers in SIZES {
        let busy = Saturated::new(workers);
        let (mut near, far) = byte::ends();
        let waits = Gate::new();
        let waiting = waits.clone();
        std::thread::spawn(move || {
            waits.block();
            near.write_all(&[7]).unwrap();
        });
        busy.until(async move {
            waiting.open();
            assert_eq!(byte::read(far).await, 7);
        });
    }
}

/// The computation itself makes the tasks, one in each leaf of a tree, and goes on until all have run.
#[test]
fn tasks_spawned_by_the_computation() {
    let _watch = watch!();
    for workers in SIZES {
        let pool = pool(workers);
        let ran = Arc::new(AtomicUsize::new(0));
        fn leaves(levels: u32, ran: &Arc<AtomicUsize>) {
            on_own_stack(Owner::Computation, || {
                if levels == 0 {
                    let ran = Arc::clone(ran);
                    let task = marked(1, async move {
                        task::yield_now().await;
                        ran.fetch_add(1, Ordering::AcqRel);
                    });
                    return drop(task::spawn(task));
                }
                heist::join(|| leaves(levels - 1, ran), || leaves(levels - 1, ran));
            });
        }
        pool.install(|| {
            leaves(11, &ran);
            while ran.load(Ordering::Acquire) < 1 << 11 {
                tree(Owner::Computation, 8);
            }
        });
    }
}

/// Tasks fork, jobs fork, and everything waits for something: each thread's stack has one owner at a time.
#[test]
fn nobody_enters_a_foreign_stack() {
    let _watch = watch!();
    for workers in SIZES {
        let busy = Saturated::new(workers);
        // Tasks that fork need an index, so they end after the computation, if it never leaves one to them before.
        let (send, receive) = channel();
        let pool = Arc::clone(&busy.pool);
        busy.until(async move {
            let tasks: Vec<_> = (1..100)
                .map(|id| {
                    task::spawn(marked(id, async move {
                        for levels in [2, 7] {
                            assert_eq!(tree(Owner::Task(id), levels), 1 << levels);
                            task::yield_now().await;
                            // A wait in the middle of a turn, with a stranger's task to wait for.
                            let other =
                                task::spawn(marked(
                                    1000 + id,
                                    async move { tree(Owner::Task(1000 + id), 3) },
                                ));
                            assert_eq!(heist::block_on(other).expect("on its own stack"), 8);
                        }
                    }))
                })
                .collect();
            for _ in 0..100 {
                task::yield_now().await;
            }
            send.send(tasks).unwrap();
        });
        for task in receive.recv().unwrap() {
            pool.block_on(task).expect("on its own stack");
        }
    }
}

#[test]
fn in_fenced_mode() {
    let _watch = watch!();
    fenced::rerun_fenced(module_path!(), &["a_task", "timers", "sockets", "nobody"]);
}
