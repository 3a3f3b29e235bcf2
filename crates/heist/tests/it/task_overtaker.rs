//! Tasks that run without a permit, because every holder of one computes: they fork in place, while the holders go on computing, and
//! have no index.

use crate::rig::watchdog::watch;
use heist::prelude::*;
use heist::{ThreadPool, ThreadPoolBuilder, current_thread_index};
use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::sync::mpsc::channel;

/// What a task calls to use the pool, and whether no part of it had an index.
type Door = fn() -> bool;

fn has_none() -> bool {
    current_thread_index().is_none()
}

const DOORS: [(&str, Door); 6] = [
    ("join", || heist::join(has_none, has_none) == (true, true)),
    ("fork", || heist::fork(|f| f.join(|_| has_none(), |_| has_none())) == (true, true)),
    ("scope", || {
        let mut fine = [false; 3];
        heist::scope(|s| {
            for place in &mut fine {
                s.spawn(move |_| *place = has_none());
            }
        });
        fine == [true; 3]
    }),
    ("par_iter", || (0..1000).into_par_iter().all(|_| has_none())),
    ("blocking", || heist::blocking(has_none) && has_none()),
    ("yield_now", || {
        heist::yield_now();
        has_none()
    }),
];

/// Every worker computes, in a job or in a poll, until this is dropped.
struct Computing {
    is_over: Arc<AtomicBool>,
}

impl Computing {
    fn on(pool: &ThreadPool, in_polls: bool) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (begin, begun) = channel();
        for _ in 0..pool.current_num_threads() {
            let (begin, is_over) = (begin.clone(), Arc::clone(&is_over));
            let compute = move || {
                begin.send(()).unwrap();
                while !is_over.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
            };
            if in_polls {
                drop(pool.spawn_task(async move { compute() }));
            } else {
                pool.spawn(compute);
            }
        }
        (0..pool.current_num_threads()).for_each(|_| begun.recv().unwrap());
        Self { is_over }
    }
}

impl Drop for Computing {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
    }
}

#[test]
fn a_task_without_a_permit_forks_in_place() {
    let _watch = watch!();
    for n in [1, 2] {
        for in_polls in [false, true] {
            let pool = ThreadPoolBuilder::new().num_threads(n).build().unwrap();
            let computing = Computing::on(&pool, in_polls);
            for (name, door) in DOORS {
                let task = pool.spawn_task(async move { (has_none(), door()) });
                let what = format!("{name}, {n} workers, in polls: {in_polls}");
                assert_eq!(pool.block_on(task).unwrap(), (true, true), "{what}");
            }
            drop(computing);
            // There are permits again, a moment later.
            while pool.block_on(pool.spawn_task(async { has_none() })).unwrap() {
                std::thread::yield_now();
            }
        }
    }
}

/// Once nobody computes, tasks are the holders' again: a thread without a permit that found more and more of them would be one too many.
#[test]
fn tasks_that_go_on_are_left_to_the_holders_once_nobody_computes() {
    let _watch = watch!();
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let (without, with) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let computing = Computing::on(&pool, false);
    // So many that no thread runs out of them, wherever they are.
    let tasks: Vec<_> = (0..500)
        .map(|_| {
            let (is_over, without, with) = (Arc::clone(&is_over), Arc::clone(&without), Arc::clone(&with));
            pool.spawn_task(async move {
                while !is_over.load(Ordering::Relaxed) {
                    if has_none() { &without } else { &with }.fetch_add(1, Ordering::Relaxed);
                    heist::task::yield_now().await;
                }
            })
        })
        .collect();
    let wait_for = |polls: &AtomicUsize, more: usize| {
        let before = polls.load(Ordering::Relaxed);
        while polls.load(Ordering::Relaxed) < before + more {
            std::thread::yield_now();
        }
    };
    wait_for(&without, 10_000);
    drop(computing);
    // Again and again all of many in a row have a permit. Not always: a holder that the system gives no core for a while seems to compute.
    let mut rows = 0;
    while rows < 10 {
        let before = without.load(Ordering::Relaxed);
        wait_for(&with, 10_000);
        rows += usize::from(without.load(Ordering::Relaxed) == before);
    }
    is_over.store(true, Ordering::Relaxed);
    for task in tasks {
        pool.block_on(task).unwrap();
    }
}
