//! `HEIST_SCHEDTRACE=1000`: a line about every pool, every so many milliseconds. The format is described in `docs/environment.md`; programs
//! may rely on it, so new fields are added at the end.

use crate::permits::Count;
use crate::pool::Pool;
use crate::worker::Doing;
use heist_sync::process::PerProcess;
use heist_sync::std_atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Starts the thread that prints, if the environment asks for it and it has not been started.
pub(crate) fn start() {
    static IS_STARTED: PerProcess<AtomicBool> = PerProcess::new(AtomicBool::new(false), AtomicBool::default);
    let Some(value) = std::env::var_os("HEIST_SCHEDTRACE").filter(|value| !value.is_empty() && value != "0")
    else {
        return;
    };
    if IS_STARTED.get().swap(true, Ordering::Relaxed) {
        return;
    }
    let Some(period) = value.to_str().and_then(|text| text.trim().parse().ok()).filter(|&ms: &u64| ms > 0)
    else {
        return heist_sync::warn(format_args!(
            "HEIST_SCHEDTRACE={value:?} is not a number of milliseconds; unset it or give one, for example 1000"
        ));
    };
    let print = Box::new(move || print_every(Duration::from_millis(period)));
    if let Err(error) = heist_sync::start_thread("heist-schedtrace", print) {
        heist_sync::warn(format_args!(
            "HEIST_SCHEDTRACE has no effect: its thread could not be started ({error})"
        ));
    }
}

fn print_every(period: Duration) {
    let begun = Instant::now();
    let mut next = period;
    loop {
        std::thread::sleep(next.saturating_sub(begun.elapsed()));
        next += period;
        for pool in crate::global::all() {
            heist_sync::warn(format_args!("{}", line(&pool, begun.elapsed())));
        }
    }
}

/// What goes on in the pool, `at` after the printing began.
fn line(pool: &Pool, at: Duration) -> String {
    let (table, permits) = (pool.threads().table(), pool.permits());
    let held = permits.words().iter().filter(|hold| hold.thread().is_some()).count();
    let searching = permits.count(Count::Searching);
    let lengths: Vec<_> = table.iter().map(|worker| worker.queued().to_string()).collect();
    format!(
        "sched {}ms pool {}: active={} running={} parked={} searching={searching} threads={} lent={} injected={} queues=[{}] \
         due_ticks={} steals={} wakes={} pid={}",
        at.as_millis(),
        pool.recorder().number(),
        pool.active(),
        held.saturating_sub(searching),
        permits.open().parked().len(),
        pool.threads().live(),
        table.iter().filter(|worker| worker.status().doing() == Doing::Wait).count(),
        pool.queues().injected(),
        lengths.join(" "),
        pool.due().how_many(),
        table.iter().map(|worker| worker.own().steals.get()).sum::<u64>(),
        table.iter().map(|worker| worker.own().wakes.get()).sum::<u64>() + permits.wakes_from_outside(),
        std::process::id(),
    )
}
