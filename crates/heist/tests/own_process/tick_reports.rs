//! The handler of ticks' reports belongs to the whole process, so each case has one of its own.

#![cfg(feature = "tick")]

use crate::rig::child::{case, child, ends_well};
use crate::rig::gate::Gate;
use crate::rig::watchdog::watch;
use heist::ThreadPoolBuilder;
use heist::tick::{self, Next, Report};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// What a handler has captured is dropped when the next one comes, and may set one itself.
#[test]
fn a_handler_goes_outside_of_all_locks() {
    struct Last(std::sync::mpsc::Sender<()>);

    impl Drop for Last {
        fn drop(&mut self) {
            tick::on_report(|_| ());
            self.0.send(()).unwrap();
        }
    }

    if case().is_none() {
        return drop(ends_well(&mut child(module_path!(), "a_handler_goes_outside_of_all_locks", "drop")));
    }
    let _watch = watch!();
    let (send, dropped) = channel();
    let last = Last(send);
    tick::on_report(move |_| _ = &last);
    tick::on_report(|_| ());
    dropped.recv().unwrap();
}

/// While no thread may run, the program has said so itself: that a tick is not run is no news. That a run does not end is.
#[test]
fn a_pool_that_is_stopped_leaves_nothing_unserved() {
    if case().is_none() {
        let name = "a_pool_that_is_stopped_leaves_nothing_unserved";
        return drop(ends_well(&mut child(module_path!(), name, "stopped")));
    }
    let _watch = watch!();
    let (send, reports) = channel();
    tick::on_report(move |report| send.send(report.clone()).unwrap());
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let (begun, gate) = (Gate::new(), Gate::new());
    let (begin, blocker) = (begun.clone(), gate.clone());
    let ms = Duration::from_millis;
    let every = |period| tick::every(period).start_at(Instant::now());
    // Reported long after the other one would be.
    let long = every(ms(3_600_000)).watchdog(ms(500)).spawn_on(&pool, move |_| {
        begin.open();
        blocker.block();
        Next::Continue
    });
    begun.block();
    let short = every(ms(1)).watchdog(ms(20)).spawn_on(&pool, |_| Next::Continue);
    pool.set_num_threads(0).unwrap();
    let report = reports.recv().unwrap();
    assert!(matches!(report, Report::LongRun { .. }), "{report}");
    gate.open();
    drop(pool);
    long.wait().unwrap();
    short.wait().unwrap();
}
