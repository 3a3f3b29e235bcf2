//! A job whose wait is over goes on, although the permit that it lent is in use and its borrower comes to no job boundary. What it
//! then does without a permit works as with one, or waits for the borrower's end if it must; nothing is lost.
//!
//! Each test runs on one worker and more, against borrowers that sleep and borrowers that compute, after each kind of wait: a wait
//! that only ends when the borrower does is a hang, and the watchdog tells.

use crate::rig::compute::compute;
use crate::rig::count::Count;
use crate::rig::fenced;
use crate::rig::gate::Gate;
use crate::rig::ledger::Ledger;
use crate::rig::pool::pool;
use crate::rig::watchdog::watch;
use heist::{ThreadPool, Yield, current_thread_index};
use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// How the job lends its permit.
#[derive(Clone, Copy, Debug)]
enum After {
    Blocking,
    Install,
    BlockOn,
}

/// What the borrowers do until they are told to end.
#[derive(Clone, Copy, Debug)]
enum Borrowers {
    Sleep,
    Compute,
}

/// What the job without a permit can tell, and be told.
struct Held<'a> {
    pool: &'a ThreadPool,
    other: &'a ThreadPool,
    end: &'a End,
    running_borrowers: &'a AtomicUsize,
}

/// Lets the borrowers go to their ends.
#[derive(Default)]
struct End {
    is_over: AtomicBool,
    gate: Gate,
}

impl End {
    fn now(&self) {
        self.is_over.store(true, Ordering::Release);
        self.gate.open();
    }
}

/// Even if the job panics, so that its message is seen and not a hang.
struct EndAtLast<'a>(&'a End);

impl Drop for EndAtLast<'_> {
    fn drop(&mut self) {
        self.0.now();
    }
}

impl Held<'_> {
    /// What came before this was done without a permit.
    fn still_held(&self) {
        assert!(self.running_borrowers.load(Ordering::Acquire) > 0, "the borrowers were to be in their jobs");
    }

    /// The borrowers end while the caller does something that waits for it.
    fn end_soon(&self) {
        self.end.now();
    }
}

/// `job` runs without a permit: all of them are with borrowers, which end when `job` says so, or after it. Returns when all of them
/// have ended.
fn without_permit(n: usize, after: After, borrowers: Borrowers, job: impl Fn(&Held<'_>) + Send + Sync) {
    let (pool, other) = (pool(n), pool(1));
    let (lent, go_on) = (Gate::new(), Gate::new());
    let all_borrowed = Count::new(n);
    let (end, running_borrowers) = (End::default(), AtomicUsize::new(0));
    pool.in_place_scope(|s| {
        s.spawn(|_| {
            let wait = || {
                lent.open();
                go_on.block();
            };
            match after {
                After::Blocking => heist::blocking(wait),
                After::Install => other.install(wait),
                After::BlockOn => heist::block_on(async {
                    lent.open();
                    go_on.clone().await;
                }),
            }
            let _end = EndAtLast(&end);
            job(&Held { pool: &pool, other: &other, end: &end, running_borrowers: &running_borrowers });
        });
        lent.block();
        for _ in 0..n {
            s.spawn(|_| {
                running_borrowers.fetch_add(1, Ordering::AcqRel);
                all_borrowed.knock();
                match borrowers {
                    Borrowers::Sleep => end.gate.block(),
                    Borrowers::Compute => {
                        while !end.is_over.load(Ordering::Acquire) {
                            std::hint::spin_loop();
                        }
                    }
                }
                running_borrowers.fetch_sub(1, Ordering::AcqRel);
            });
        }
        all_borrowed.gate.block();
        go_on.open();
    });
    pool.shutdown().unwrap();
}

/// In every way that there is. More than one that computes would leave no core for the rest.
fn in_every_way(job: impl Fn(&Held<'_>) + Send + Sync) {
    for (n, borrowers) in [
        (1, Borrowers::Sleep),
        (2, Borrowers::Sleep),
        (4, Borrowers::Sleep),
        (1, Borrowers::Compute),
        (2, Borrowers::Compute),
    ] {
        for after in [After::Blocking, After::Install, After::BlockOn] {
            println!("{n} workers, after {after:?}, the borrowers {borrowers:?}");
            without_permit(n, after, borrowers, &job);
        }
    }
}

fn tree(ledger: &Ledger, first: usize, end: usize) {
    if end - first == 1 {
        return ledger.mark(first);
    }
    let half = first + (end - first) / 2;
    heist::join(|| tree(ledger, first, half), || tree(ledger, half, end));
}

#[test]
fn it_just_goes_on() {
    let _watch = watch!();
    in_every_way(|held| held.still_held());
}

#[test]
fn it_forks() {
    let _watch = watch!();
    in_every_way(|held| {
        let ledger = Ledger::new(1000);
        tree(&ledger, 0, 1000);
        held.still_held();
        ledger.check_all_once("forks");
        let ledger = Ledger::new(100);
        heist::fork(|f| f.join(|_| tree(&ledger, 0, 50), |_| tree(&ledger, 50, 100)));
        held.still_held();
        ledger.check_all_once("forks with a handle");
    });
}

#[test]
fn it_opens_scopes() {
    let _watch = watch!();
    in_every_way(|held| {
        let ledger = Ledger::new(400);
        heist::scope(|s| {
            for i in 0..20 {
                let ledger = &ledger;
                s.spawn(move |s| {
                    ledger.mark(i);
                    heist::scope(|s| (0..10).for_each(|j| s.spawn(move |_| ledger.mark(20 + i * 10 + j))));
                    s.spawn(move |_| ledger.mark(220 + i));
                });
            }
        });
        heist::scope_fifo(|s| {
            (240..300).for_each(|i| {
                s.spawn_fifo({
                    let ledger = &ledger;
                    move |_| ledger.mark(i)
                })
            })
        });
        heist::in_place_scope(|s| {
            (300..400).for_each(|i| {
                s.spawn({
                    let ledger = &ledger;
                    move |_| ledger.mark(i)
                })
            })
        });
        held.still_held();
        ledger.check_all_once("jobs of scopes");
    });
}

/// A loop, which forks and waits by what the iterators use.
#[test]
fn it_loops_in_parallel() {
    use heist::prelude::*;
    let _watch = watch!();
    in_every_way(|held| {
        let sum: usize = (0..20_000_usize).into_par_iter().map(|i| i % 7).sum();
        held.still_held();
        assert_eq!(sum, (0..20_000).map(|i| i % 7).sum::<usize>());
    });
}

/// Detached jobs need a permit, and get one when a borrower has ended.
#[test]
fn it_spawns() {
    let _watch = watch!();
    in_every_way(|held| {
        let ran = Arc::new(Ledger::new(100));
        let (all, early) = (Count::new(100), Arc::new(AtomicUsize::new(0)));
        for i in 0..100 {
            let (ran, all, early) = (Arc::clone(&ran), all.clone(), Arc::clone(&early));
            let job = move || {
                early.fetch_add(1, Ordering::AcqRel);
                ran.mark(i);
                all.knock();
            };
            if i % 2 == 0 { heist::spawn(job) } else { heist::spawn_fifo(job) }
        }
        // They would have been run by a wait that runs strangers.
        heist::join(|| compute(50), || compute(50));
        held.still_held();
        assert_eq!(early.load(Ordering::Acquire), 0, "a detached job has run while every permit was in use");
        held.end_soon();
        heist::blocking(|| all.gate.block());
        ran.check_all_once("detached jobs");
    });
}

/// With nothing of its own there is nothing to do for it: strangers are queued, but they need a permit.
#[test]
fn it_yields() {
    let _watch = watch!();
    in_every_way(|held| {
        let ran = Count::new(1);
        let knocks = ran.clone();
        held.pool.spawn(move || knocks.knock());
        for _ in 0..10 {
            assert_eq!(heist::yield_now(), Some(Yield::Idle));
            assert_eq!(heist::yield_local(), Some(Yield::Idle));
        }
        held.still_held();
        held.end_soon();
        heist::blocking(|| ran.gate.block());
    });
}

/// A job of its own scope is its own deque's, and may run there.
#[test]
fn it_yields_with_jobs_of_its_own() {
    let _watch = watch!();
    in_every_way(|held| {
        let ledger = Ledger::new(10);
        heist::scope(|s| {
            (0..10).for_each(|i| {
                s.spawn({
                    let ledger = &ledger;
                    move |_| ledger.mark(i)
                })
            });
            (0..20).for_each(|_| assert!(heist::yield_now().is_some()));
        });
        held.still_held();
        ledger.check_all_once("jobs of a scope");
    });
}

#[test]
fn it_broadcasts() {
    let _watch = watch!();
    in_every_way(|held| {
        let n = held.pool.current_num_threads();
        let ledger = Ledger::new(n);
        held.still_held();
        held.end_soon();
        let indices = heist::broadcast(|c| {
            assert_eq!(current_thread_index(), Some(c.index()));
            ledger.mark(c.index());
            c.index()
        });
        assert_eq!(indices, (0..n).collect::<Vec<_>>());
        ledger.check_all_once("calls");
    });
}

#[test]
fn it_blocks_again() {
    let _watch = watch!();
    in_every_way(|held| {
        for _ in 0..5 {
            heist::blocking(|| assert_eq!(current_thread_index(), None));
            heist::blocking(|| std::thread::sleep(Duration::from_millis(1)));
        }
        held.still_held();
    });
}

#[test]
fn it_waits_again() {
    let _watch = watch!();
    in_every_way(|held| {
        for _ in 0..3 {
            assert_eq!(held.other.install(|| heist::join(|| 1, || 2)), (1, 2));
            heist::block_on(heist::time::sleep(Duration::from_millis(1)));
            heist::scope(|s| s.spawn(|_| heist::blocking(|| std::thread::sleep(Duration::from_millis(1)))));
        }
        held.still_held();
    });
}

/// Panics find their way, and the thread is as good as before.
#[test]
fn it_panics_and_catches() {
    let _watch = watch!();
    in_every_way(|held| {
        let caught =
            std::panic::catch_unwind(|| heist::join(|| std::panic::resume_unwind(Box::new(7_u8)), || ()));
        assert_eq!(caught.unwrap_err().downcast_ref::<u8>(), Some(&7));
        assert_eq!(heist::join(|| 1, || 2), (1, 2));
        held.still_held();
    });
}

/// What it has queued by then, jobs and tasks, is run by others when a permit is free.
#[test]
fn it_ends() {
    let _watch = watch!();
    for n in [1, 2, 4] {
        for borrowers in [Borrowers::Sleep, Borrowers::Compute] {
            if matches!(borrowers, Borrowers::Compute) && n > 2 {
                continue;
            }
            for after in [After::Blocking, After::Install, After::BlockOn] {
                let (jobs, tasks) = (Arc::new(Ledger::new(50)), Arc::new(Ledger::new(400)));
                let all = Count::new(450);
                without_permit(n, after, borrowers, |_| {
                    for i in 0..50 {
                        let (jobs, all) = (Arc::clone(&jobs), all.clone());
                        heist::spawn(move || {
                            jobs.mark(i);
                            all.knock();
                        });
                    }
                    // More than a run queue holds.
                    for i in 0..400 {
                        let (tasks, all) = (Arc::clone(&tasks), all.clone());
                        drop(heist::task::spawn(async move {
                            tasks.mark(i);
                            all.knock();
                        }));
                    }
                });
                all.gate.block();
                jobs.check_all_once("jobs");
                tasks.check_all_once("tasks");
            }
        }
    }
}

/// It has never asked: it gets whichever permit is free first, and keeps that one.
#[test]
fn it_asks_for_its_index() {
    let _watch = watch!();
    in_every_way(|held| {
        let n = held.pool.current_num_threads();
        held.still_held();
        held.end_soon();
        let index = current_thread_index().expect("it waits for a permit");
        assert!(index < n);
        assert!(
            held.running_borrowers.load(Ordering::Acquire) < n,
            "all {n} permits were in use, and one of them twice"
        );
        heist::join(|| compute(10), || compute(300));
        assert_eq!(current_thread_index(), Some(index));
    });
}

#[test]
fn in_fenced_mode() {
    let _watch = watch!();
    fenced::rerun_fenced(module_path!(), &["it_forks", "it_opens", "it_spawns", "it_ends"]);
}
