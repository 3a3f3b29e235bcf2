//! Ticks in whole pools under shuttle: see `shuttle_pool.rs` for how to run and replay.
//!
//! Time passes by looking at the clock, and a wait with a time-out may end at any time.
#![cfg(heist_shuttle)]

#[path = "shuttle_rig/mod.rs"]
mod rig;

use heist::tick::{self, Handle, Next};
use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heist_sync::{Arc, thread};
use rig::{Ledger, explore, pool};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
/// So long that no model sees it.
const HOUR: Duration = Duration::from_secs(3600);

/// Finds out if two are inside at once.
#[derive(Clone, Default)]
struct Alone(Arc<AtomicBool>);

impl Alone {
    fn be(&self) {
        assert!(!self.0.swap(true, Ordering::Relaxed), "two at once");
        thread::yield_now();
        self.0.store(false, Ordering::Relaxed);
    }
}

#[track_caller]
fn is_over(tick: &Handle) {
    let ledger = tick.stats().ledger;
    assert!(ledger.is_balanced() && ledger.pending == 0, "{ledger:?}");
}

#[test]
fn two_ticks_that_stop_by_themselves() {
    explore(|| {
        let pool = pool(2);
        let ticks: Vec<_> = (0..2)
            .map(|_| {
                let mut runs = 0;
                tick::every(MS).spawn_on(&pool, move |_| {
                    runs += 1;
                    if runs == 3 { Next::Stop } else { Next::Continue }
                })
            })
            .collect();
        for tick in &ticks {
            tick.wait().unwrap();
            is_over(tick);
            assert_eq!(tick.stats().ledger.run, 3);
        }
        pool.shutdown().unwrap();
    });
}

#[test]
fn closures_from_two_threads_against_runs_and_a_cancel() {
    explore(|| {
        let (pool, alone) = (pool(2), Alone::default());
        let inside = alone.clone();
        let tick = tick::every(MS).steal_after(Duration::ZERO).spawn_on(&pool, move |_| {
            inside.be();
            Next::Continue
        });
        let (accepted, ran) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let submitters: Vec<_> = (0..2)
            .map(|_| {
                let (tick, alone, accepted, ran) =
                    (tick.clone(), alone.clone(), accepted.clone(), ran.clone());
                thread::spawn(move || {
                    for _ in 0..2 {
                        let (alone, ran) = (alone.clone(), ran.clone());
                        let closure = move || {
                            alone.be();
                            ran.fetch_add(1, Ordering::Relaxed);
                        };
                        accepted.fetch_add(usize::from(tick.submit(closure).is_ok()), Ordering::Relaxed);
                    }
                })
            })
            .collect();
        tick.cancel_and_wait();
        submitters.into_iter().for_each(|submitter| submitter.join().unwrap());
        assert_eq!(ran.load(Ordering::Relaxed), accepted.load(Ordering::Relaxed));
        is_over(&tick);
        pool.shutdown().unwrap();
    });
}

#[test]
fn an_earlier_time_against_a_pool_that_falls_asleep() {
    explore(|| {
        let (pool, ledger) = (pool(1), Ledger::new(2));
        let far = tick::every(HOUR).spawn_on(&pool, |_| Next::Continue);
        let (first, second) = (ledger.clone(), ledger.clone());
        far.submit(move || first.run(0)).unwrap();
        let stops = tick::every(HOUR).spawn_on(&pool, move |_| {
            second.run(1);
            Next::Stop
        });
        stops.set_period(MS).unwrap();
        stops.sprint(1);
        stops.wait().unwrap();
        far.cancel_and_wait();
        ledger.check();
        is_over(&far);
        pool.shutdown().unwrap();
    });
}

#[test]
fn the_end_of_a_pool_against_everything() {
    explore(|| {
        let pool = pool(2);
        let tick = tick::every(MS).spawn_on(&pool, |_| Next::Continue);
        let paused = tick::every(MS).spawn_on(&pool, |_| Next::Continue);
        paused.pause();
        let ran = Arc::new(AtomicUsize::new(0));
        let changes = {
            let (tick, ran) = (tick.clone(), ran.clone());
            thread::spawn(move || {
                tick.pause();
                let accepted = tick
                    .submit(move || {
                        ran.fetch_add(1, Ordering::Relaxed);
                    })
                    .is_ok();
                tick.resume();
                usize::from(accepted)
            })
        };
        drop(pool);
        let accepted = changes.join().unwrap();
        for tick in [tick, paused] {
            tick.wait().unwrap();
            is_over(&tick);
        }
        assert_eq!(ran.load(Ordering::Relaxed), accepted);
    });
}

#[test]
fn cancelled_and_rescheduled() {
    explore(|| {
        let pool = pool(2);
        let tick = tick::every(MS).spawn_on(&pool, |_| Next::Continue);
        let other = {
            let tick = tick.clone();
            thread::spawn(move || tick.cancel())
        };
        tick.cancel_and_wait();
        other.join().unwrap();
        tick.reschedule().unwrap();
        tick.sprint(2);
        tick.cancel_and_wait();
        is_over(&tick);
        pool.shutdown().unwrap();
    });
}
