//! Tasks in whole pools under shuttle: see `shuttle_pool.rs` for how to run and replay.
//!
//! There is no monitor in these pools, so no turn may block.
#![cfg(heist_shuttle)]

#[path = "shuttle_rig/mod.rs"]
mod rig;

use heist::{SpawnTask, join, scope, task};
use heist_sync::atomic::{AtomicUsize, Ordering};
use heist_sync::{Arc, Mutex, lock, thread};
use rig::{Ledger, explore, pool};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Pends until somebody has opened it.
#[derive(Clone, Default)]
struct Door(Arc<Mutex<(bool, Option<Waker>)>>);

impl Door {
    fn open(&self) {
        let mut door = lock(&self.0);
        door.0 = true;
        let waker = door.1.take();
        drop(door);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Future for Door {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut door = lock(&self.0);
        if door.0 {
            return Poll::Ready(());
        }
        door.1 = Some(cx.waker().clone());
        Poll::Pending
    }
}

/// Counts its drops.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn tasks_spawn_tasks_and_await_them() {
    explore(|| {
        let (pool, ledger) = (pool(2), Ledger::new(4));
        let inner = ledger.clone();
        let outer = pool.spawn_task(async move {
            let tasks: Vec<_> = (1..4)
                .map(|n| {
                    let ledger = inner.clone();
                    task::spawn(async move { ledger.run(n) })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
            inner.run(0);
        });
        pool.block_on(outer).unwrap();
        ledger.check();
        pool.shutdown().unwrap();
    });
}

#[test]
fn a_wake_from_outside_against_a_pool_that_falls_asleep() {
    explore(|| {
        let (pool, door) = (pool(1), Door::default());
        let task = pool.spawn_task(door.clone());
        let opener = thread::spawn(move || door.open());
        pool.block_on(task).unwrap();
        opener.join().unwrap();
        pool.shutdown().unwrap();
    });
}

#[test]
fn a_wake_against_the_end_of_the_pool() {
    explore(|| {
        let (pool, door, drops) = (pool(1), Door::default(), Arc::new(AtomicUsize::new(0)));
        let (future, dropped) = (door.clone(), Dropped(drops.clone()));
        let task = pool.spawn_task(async move {
            future.await;
            drop(dropped);
        });
        let opener = thread::spawn(move || door.open());
        drop(pool);
        // On this thread: the pool may be gone.
        heist_async::block_on(task).unwrap();
        opener.join().unwrap();
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn an_abort_against_a_wake() {
    explore(|| {
        let (pool, door, drops) = (pool(2), Door::default(), Arc::new(AtomicUsize::new(0)));
        let (future, dropped) = (door.clone(), Dropped(drops.clone()));
        let task = pool.spawn_task(async move {
            future.await;
            drop(dropped);
        });
        let abort = task.abort_handle();
        let opener = thread::spawn(move || door.open());
        let aborter = thread::spawn(move || abort.abort());
        if let Err(error) = pool.block_on(task) {
            assert!(error.is_cancelled());
        }
        opener.join().unwrap();
        aborter.join().unwrap();
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        pool.shutdown().unwrap();
    });
}

#[test]
fn tasks_beside_jobs() {
    explore(|| {
        let (pool, ledger) = (pool(2), Ledger::new(4));
        let jobs = ledger.clone();
        let task = pool.spawn_task(async move {
            join(|| jobs.run(0), || jobs.run(1));
            task::yield_now().await;
            jobs.run(2);
        });
        pool.install(|| ledger.run(3));
        pool.block_on(task).unwrap();
        ledger.check();
        pool.shutdown().unwrap();
    });
}

#[test]
fn a_scope_waits_for_its_tasks() {
    explore(|| {
        let (pool, count) = (pool(2), AtomicUsize::new(0));
        let count = &count;
        pool.install(|| {
            scope(|s| {
                for _ in 0..2 {
                    s.spawn_task(async move {
                        task::yield_now().await;
                        count.fetch_add(1, Ordering::Relaxed);
                    });
                }
            });
        });
        assert_eq!(count.load(Ordering::Relaxed), 2);
        pool.shutdown().unwrap();
    });
}
