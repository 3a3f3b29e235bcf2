//! Models of one tick for loom: whoever takes it against whoever changes it. Each says which bug it hunts; `check/planted.sh` plants those
//! bugs and expects these to fail.
//!
//! The pools here have no threads: the models take what is due themselves, as a worker does.

use super::schedule::Schedule;
use super::{Cell, End, Spec};
use crate::context::Next;
use crate::stats::Recorder;
use heist_policy::tick::Overrun;
use heist_pool::raw::pool::{Config, Pool};
use heist_sync::cell::UnsafeCell;
use heist_sync::{StdArc as Arc, thread};
use loom::model::Builder;
use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering};

const PERIOD_NS: u64 = u64::MAX / 4;

fn check(model: impl Fn(bool) + Send + Sync + Copy + 'static) {
    for is_first in [true, false] {
        let mut builder = Builder::new();
        builder.preemption_bound = builder.preemption_bound.max(Some(3));
        builder.max_branches = 10_000;
        builder.check(move || model(is_first));
    }
}

/// Both orders of starting.
fn race(is_first: bool, one: impl FnOnce() + Send + 'static, other: impl FnOnce() + Send + 'static) {
    let (here, there): (Box<dyn FnOnce()>, Box<dyn FnOnce() + Send>) =
        if is_first { (Box::new(one), Box::new(other)) } else { (Box::new(other), Box::new(one)) };
    let there = thread::spawn(there);
    here();
    there.join().unwrap();
}

/// What runs and closures touch: loom sees if two do at once.
#[derive(Clone)]
struct Touched(Arc<(UnsafeCell<u32>, AtomicUsize)>);

// SAFETY: loom checks every access to the cell.
unsafe impl Send for Touched {}

impl Touched {
    fn new() -> Self {
        Self(Arc::new((UnsafeCell::new(0), AtomicUsize::new(0))))
    }

    fn touch(&self) {
        // SAFETY: loom checks it.
        self.0.0.with_mut(|p| unsafe { *p += 1 });
        self.0.1.fetch_add(1, Ordering::Relaxed);
    }

    fn times(&self) -> usize {
        self.0.1.load(Ordering::Relaxed)
    }
}

/// A tick that is due, in a pool of two indices without threads.
fn tick() -> (Arc<Pool>, Arc<Cell>, Touched) {
    let pool = Pool::new(Config { parallelism: 2, foreign_threads: true, ..Config::default() });
    let touched = Touched::new();
    let theirs = touched.clone();
    let spec = Spec {
        name: None,
        site: Location::caller(),
        steal_after: None,
        is_pinned: false,
        near: None,
        stops_on_panic: true,
        watchdog: None,
    };
    let body = move |_: &mut crate::Context| {
        theirs.touch();
        Next::Continue
    };
    let schedule = Schedule::new(PERIOD_NS, Overrun::Skip, 0);
    let cell = Cell::spawn(&pool, spec, schedule, Recorder::new(false, 0), Box::new(body)).unwrap();
    (pool, cell, touched)
}

/// As a worker at its loop's bottom: runs what is due, once.
fn serve(pool: &Pool, index: u16) -> bool {
    let Some((tick, taken)) = pool.due().take(pool, Some(index), pool.queues().ticks().now_ns()) else {
        return false;
    };
    tick.run(&taken);
    true
}

/// What is left is run. `is_queued`: whether the tick waits for another time then.
fn settle(pool: &Pool, cell: &Cell, is_queued: bool) {
    while serve(pool, 0) {}
    assert!(cell.stats().ledger.is_balanced());
    assert_eq!(pool.driver().has_ticks(), is_queued, "it is counted exactly while it has a token");
}

/// Bugs hunted: a cancel that finds the queue empty takes the tick for over, and a thread has it (`tick_cancel_ignores_the_taker`); a run that
/// begins after the cancel; a tick that is never over.
#[test]
fn a_cancel_against_a_run() {
    check(|is_first| {
        let (pool, cell, touched) = tick();
        let (workers, cancelled) = (pool.clone(), cell.clone());
        race(is_first, move || drop(serve(&workers, 0)), move || assert!(cancelled.cancel()));
        settle(&pool, &cell, false);
        assert_eq!(cell.ended(0), Some(End::Cancelled));
        let ledger = cell.stats().ledger;
        assert_eq!((ledger.run as usize, ledger.pending), (touched.times(), 0));
    });
}

/// Bug hunted: two workers have the tick at once, one as its own and one as a thief, or both as thieves (`tick_thief_leaves_it`).
fn two_workers(is_first: bool, one: u16, other: u16) {
    let (pool, cell, touched) = tick();
    let (here, there) = (pool.clone(), pool.clone());
    race(is_first, move || drop(serve(&here, one)), move || drop(serve(&there, other)));
    settle(&pool, &cell, true);
    assert_eq!((touched.times(), cell.stats().ledger.run), (1, 1));
    assert_eq!(cell.ended(0), None);
    cell.cancel();
    settle(&pool, &cell, false);
    assert_eq!(Arc::strong_count(&cell), 1, "no queue has it any more");
}

#[test]
fn a_thief_against_the_owner() {
    check(|is_first| two_workers(is_first, 0, 1));
}

#[test]
fn two_thieves() {
    check(|is_first| two_workers(is_first, 1, 1));
}

/// Bugs hunted: a closure that was accepted and never runs (`tick_end_forgets_closures`), runs twice, or beside a run.
#[test]
fn a_submit_against_a_cancel() {
    check(|is_first| {
        let (pool, cell, touched) = tick();
        let (accepted, theirs) = (Arc::new(AtomicUsize::new(0)), touched.clone());
        let (submitted, told) = (cell.clone(), accepted.clone());
        let cancelled = cell.clone();
        race(
            is_first,
            move || {
                let is_ok = submitted.submit(move || theirs.touch()).is_ok();
                told.store(usize::from(is_ok), Ordering::Relaxed);
            },
            move || assert!(cancelled.cancel()),
        );
        settle(&pool, &cell, false);
        assert_eq!(cell.ended(0), Some(End::Cancelled));
        assert_eq!(touched.times(), accepted.load(Ordering::Relaxed), "what was accepted has run");
    });
}

/// Bug hunted: a closure runs beside a run, or is left behind by a thread that has just decided that nothing is left to do.
#[test]
fn a_submit_against_a_run() {
    check(|is_first| {
        let (pool, cell, touched) = tick();
        let (workers, submitted, theirs) = (pool.clone(), cell.clone(), touched.clone());
        race(
            is_first,
            move || drop(serve(&workers, 0)),
            move || assert!(submitted.submit(move || theirs.touch()).is_ok()),
        );
        settle(&pool, &cell, true);
        assert_eq!(touched.times(), 2);
        cell.cancel();
        settle(&pool, &cell, false);
    });
}

/// Bug hunted: a tick that is paused while a thread takes it keeps or loses its token.
#[test]
fn a_pause_and_a_resume_against_a_run() {
    check(|is_first| {
        let (pool, cell, touched) = tick();
        let (workers, held) = (pool.clone(), cell.clone());
        race(
            is_first,
            move || drop(serve(&workers, 0)),
            move || {
                held.change(|schedule, _| schedule.pause());
                held.change(|schedule, now_ns| schedule.sprint(1, now_ns));
            },
        );
        settle(&pool, &cell, false);
        assert!((1..=2).contains(&touched.times()), "{} runs", touched.times());
        cell.cancel();
        settle(&pool, &cell, false);
    });
}
