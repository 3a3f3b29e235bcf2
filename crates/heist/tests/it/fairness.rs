//! Promise 1, the other half: what was accepted runs, not "some day if nothing newer comes".
//!
//! Public bugs of this kind: tokio #5720 (the injector starves behind slow local work), tokio #4941 (a last-in-first-out slot
//! that starves its neighbours), Go #38860.

use crate::rig::pool::pool;
use crate::rig::watchdog::watch;
use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

/// How many later jobs may run before an earlier one. Generous: it must only not grow without a bound.
const PATIENCE: usize = 1000;

/// A stream of jobs from outside, each there before its predecessor ends: the first of all must still run.
#[test]
fn injected_jobs_are_not_overtaken_for_ever() {
    let _watch = watch!();
    let pool = pool(1);
    let victim_ran = Arc::new(AtomicBool::new(false));
    let (open, gate) = channel::<()>();
    pool.spawn(move || {
        let _ = gate.recv();
    });
    let ran = Arc::clone(&victim_ran);
    pool.spawn(move || ran.store(true, Ordering::Relaxed));
    // Each job of the stream asks this thread for its successor, and ends when that is queued.
    let (ask, asked) = channel();
    let inject = || {
        let ask = ask.clone();
        pool.spawn(move || {
            let (queued, is_queued) = channel::<()>();
            if ask.send(queued).is_ok() {
                let _ = is_queued.recv();
            }
        });
    };
    inject();
    drop(open);
    let mut overtaken = 0;
    loop {
        let queued = asked.recv().expect("a job of the stream");
        if victim_ran.load(Ordering::Relaxed) || overtaken > PATIENCE {
            break;
        }
        inject();
        drop(queued);
        overtaken += 1;
    }
    assert!(overtaken <= PATIENCE, "an injected job was overtaken by {overtaken} later ones");
}

/// A job that spawns its successor keeps its worker busy for ever: what comes from outside must get its turn.
#[test]
fn local_work_does_not_starve_the_injector() {
    let _watch = watch!();
    for fifo in [false, true] {
        let pool = pool(1);
        let stop = Arc::new(AtomicBool::new(false));
        let turns = Arc::new(AtomicUsize::new(0));
        fn again(stop: Arc<AtomicBool>, turns: Arc<AtomicUsize>, fifo: bool) {
            if !stop.load(Ordering::Relaxed) {
                turns.fetch_add(1, Ordering::Relaxed);
                let next = move || again(stop, turns, fifo);
                if fifo { heist::spawn_fifo(next) } else { heist::spawn(next) }
            }
        }
        let (s, t) = (Arc::clone(&stop), Arc::clone(&turns));
        pool.spawn(move || again(s, t, fifo));
        while turns.load(Ordering::Relaxed) < 10 {
            std::thread::yield_now();
        }
        pool.install(|| stop.store(true, Ordering::Relaxed));
    }
}

/// A broadcast is for every index, also for one whose worker always has work of its own.
#[test]
fn local_work_does_not_starve_a_broadcast() {
    let _watch = watch!();
    let pool = pool(2);
    let stop = Arc::new(AtomicBool::new(false));
    fn again(stop: Arc<AtomicBool>) {
        if !stop.load(Ordering::Relaxed) {
            heist::spawn(move || again(stop));
        }
    }
    for _ in 0..4 {
        let stop = Arc::clone(&stop);
        pool.spawn(move || again(stop));
    }
    for _ in 0..20 {
        assert_eq!(pool.broadcast(|c| c.index()), [0, 1]);
    }
    stop.store(true, Ordering::Relaxed);
}

/// One worker runs `spawn_fifo` jobs and those of a fifo scope in the order in which they were made.
#[test]
fn fifo_means_first_in_first_out() {
    let _watch = watch!();
    let pool = pool(1);
    let order = Arc::new(Mutex::new(Vec::new()));
    pool.install(|| {
        for i in 0..100 {
            let order = Arc::clone(&order);
            heist::spawn_fifo(move || order.lock().unwrap().push(i));
        }
    });
    pool.scope_fifo(|s| {
        for i in 100..200 {
            let order = &order;
            s.spawn_fifo(move |_| order.lock().unwrap().push(i));
        }
    });
    pool.shutdown().unwrap();
    let order = order.lock().unwrap();
    let (detached, scoped): (Vec<i32>, Vec<i32>) = order.iter().partition(|&&i| i < 100);
    assert!(detached.is_sorted() && scoped.is_sorted(), "{order:?}");
    assert_eq!(order.len(), 200);
}

/// And a plain scope on one worker runs the newest first, as rayon does: its own children are the warmest.
#[test]
fn lifo_means_last_in_first_out() {
    let _watch = watch!();
    let pool = pool(1);
    let order = Mutex::new(Vec::new());
    pool.scope(|s| {
        for i in 0..100 {
            let order = &order;
            s.spawn(move |_| order.lock().unwrap().push(i));
        }
    });
    let order = order.into_inner().unwrap();
    assert!(order.is_sorted_by(|a, b| a > b), "{order:?}");
}
