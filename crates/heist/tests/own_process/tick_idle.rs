//! Promise 6 for ticks: ticks that are paused, or an hour away, cost nothing. No thread wakes up, the monitor included.
//!
//! In a process of its own, because it counts the context switches of all its threads.

#![cfg(all(target_os = "linux", feature = "tick"))]

use crate::rig::child::{case, child, ends_well};
use crate::rig::count::Count;
use crate::rig::gate::Gate;
use crate::rig::pool::pool;
use crate::rig::usage::{settled, usage};
use crate::rig::watchdog::watch;
use heist::ThreadPoolBuilder;
use heist::tick::{self, Next};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

fn nothing_happens(when: &str) {
    let before = settled();
    // A window, not a wait: nothing may happen in it.
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(before, usage(), "{when}");
}

#[test]
fn what_is_paused_costs_nothing() {
    if case().is_none() {
        return drop(ends_well(&mut child(module_path!(), "what_is_paused_costs_nothing", "paused")));
    }
    let _watch = watch!();
    let pool = pool(2);
    let spawn = |_| tick::every(Duration::from_millis(5)).spawn_on(&pool, |_| Next::Continue);
    let ticks: Vec<_> = (0..1000).map(spawn).collect();
    ticks.iter().for_each(tick::Handle::pause);
    nothing_happens("all are paused");
    ticks.iter().for_each(tick::Handle::resume);
    let next = ticks[0].stats().ledger.run + 1;
    while ticks[0].stats().ledger.run < next {
        std::thread::yield_now();
    }
}

/// Where no spare thread can be had, nobody can wait for the tick, and the monitor is patient until it is due.
#[test]
fn what_is_far_away_costs_nothing_behind_threads_that_block() {
    const NAME: &str = "what_is_far_away_costs_nothing_behind_threads_that_block";
    if case().is_none() {
        return drop(ends_well(&mut child(module_path!(), NAME, "far away")));
    }
    let _watch = watch!();
    let pool = ThreadPoolBuilder::new().num_threads(2).max_threads(2).build().unwrap();
    let tick =
        tick::every(HOUR).start_at(std::time::Instant::now() + HOUR).spawn_on(&pool, |_| Next::Continue);
    let (begun, gate) = (Count::new(2), Gate::new());
    for _ in 0..2 {
        let (begun, gate) = (begun.clone(), gate.clone());
        pool.spawn(move || {
            begun.knock();
            gate.block();
        });
    }
    begun.gate.block();
    nothing_happens("all threads block");
    gate.open();
    tick.cancel_and_wait();
}
