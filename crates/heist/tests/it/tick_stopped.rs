//! Ticks of a pool that runs nothing for a while: they count as paused.

use crate::rig::watchdog::watch;
use heist::tick::{self, Handle, Ledger, Next, Overrun};
use heist::time::ManualClock;
use heist::{ThreadPool, ThreadPoolBuilder};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

fn pool(clock: &ManualClock) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(2).clock(clock).build().unwrap()
}

/// Counts of periods and times in milliseconds, of all runs so far.
#[derive(Clone, Default)]
struct Runs(Arc<Mutex<Vec<(u64, u128)>>>);

impl Runs {
    fn take(&self) -> Vec<(u64, u128)> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// A tick that is due every 20 ms from the clock's begin on.
fn every_20_ms(pool: &ThreadPool, clock: &ManualClock, overrun: Overrun) -> (Handle, Runs) {
    let (runs, theirs, begin) = (Runs::default(), clock.clone(), clock.now() - clock.elapsed());
    let noted = runs.clone();
    let tick = tick::every(20 * MS).start_at(begin).overrun(overrun).spawn_on(pool, move |cx| {
        assert!(cx.lateness().is_zero(), "{:?}", cx.lateness());
        noted.0.lock().unwrap().push((cx.count(), theirs.elapsed().as_millis()));
        Next::Continue
    });
    (tick, runs)
}

#[track_caller]
fn ledger(tick: &Handle) -> Ledger {
    let ledger = tick.stats().ledger;
    assert!(ledger.is_balanced() && ledger.skipped == 0, "{ledger:?}");
    ledger
}

#[test]
fn what_would_have_run_meanwhile_is_neither_skipped_nor_made_up_for() {
    let _watch = watch!();
    for overrun in [Overrun::Skip, Overrun::Burst(100), Overrun::Delay] {
        let clock = ManualClock::new();
        let pool = pool(&clock);
        let (tick, runs) = every_20_ms(&pool, &clock, overrun);
        clock.advance(50 * MS);
        assert_eq!(runs.take(), [(1, 0), (1, 20), (1, 40)], "{overrun:?}");
        pool.set_num_threads(0).unwrap();
        clock.advance(300 * MS);
        assert_eq!(runs.take(), [], "{overrun:?}");
        pool.set_num_threads(1).unwrap();
        clock.advance(50 * MS);
        assert_eq!(runs.take(), [(1, 360), (1, 380), (1, 400)], "{overrun:?}");
        let Ledger { scheduled, run, pending, .. } = ledger(&tick);
        assert_eq!((scheduled, run, pending), (7, 6, 1), "{overrun:?}");
    }
}

#[test]
fn it_is_changed_meanwhile() {
    let _watch = watch!();
    let clock = ManualClock::new();
    let pool = pool(&clock);
    let tick_of = || every_20_ms(&pool, &clock, Overrun::Skip);
    let [cancelled, rescheduled, paused, resumed, stepped, sprinted, faster, asked] =
        [(); 8].map(|()| tick_of());
    // The first runs are due now.
    clock.advance(Duration::ZERO);
    resumed.0.pause();
    stepped.0.pause();
    clock.advance(10 * MS);
    pool.set_num_threads(0).unwrap();
    clock.advance(45 * MS);
    assert!(cancelled.0.cancel() && rescheduled.0.cancel());
    cancelled.0.wait().unwrap();
    rescheduled.0.reschedule().unwrap();
    paused.0.pause();
    resumed.0.resume();
    assert!(stepped.0.step(2));
    sprinted.0.sprint(3);
    faster.0.set_period(7 * MS).unwrap();
    let (send, receive) = channel();
    for i in 0..3 {
        let send = send.clone();
        asked.0.submit(move || send.send(i).unwrap()).unwrap();
    }
    let spawned = tick_of();
    clock.advance(45 * MS);
    assert!(receive.try_recv().is_err(), "nothing runs");
    // At 100 ms.
    pool.set_num_threads(2).unwrap();
    clock.advance(Duration::ZERO);
    assert_eq!(receive.try_iter().collect::<Vec<_>>(), [0, 1, 2]);
    clock.advance(25 * MS);
    assert_eq!(cancelled.1.take(), [(1, 0)]);
    assert_eq!(paused.1.take(), [(1, 0)]);
    assert_eq!(resumed.1.take(), [(1, 0), (1, 100), (1, 120)]);
    assert_eq!(stepped.1.take(), [(1, 0), (1, 100), (1, 120)]);
    assert_eq!(sprinted.1.take(), [(1, 0), (1, 100), (1, 100), (1, 100), (1, 120)]);
    assert_eq!(asked.1.take(), [(1, 0), (1, 100), (1, 120)]);
    assert_eq!(spawned.1.take(), [(1, 100), (1, 120)]);
    // The new period counts from the last run on, at 0, and what has become due since, at 55, is passed over.
    assert_eq!(faster.1.take(), [(1, 0), (1, 104), (1, 111), (1, 118), (1, 125)]);
    let runs = rescheduled.1.take();
    assert!(
        runs[0] == (1, 0) && runs.len() > 1 && runs[1..].iter().all(|&(n, at)| n == 1 && at >= 100),
        "{runs:?}"
    );
    for (tick, _) in
        [&cancelled, &rescheduled, &paused, &resumed, &stepped, &sprinted, &faster, &asked, &spawned]
    {
        ledger(tick);
    }
    assert_eq!(ledger(&cancelled.0).cancelled, 1);
}

/// Waits for the next run, which tells how many periods it stands for and when it was due.
fn next(runs: &Receiver<(u64, Instant)>) -> (u64, Instant) {
    runs.recv_timeout(Duration::from_secs(30)).unwrap()
}

#[test]
fn the_same_by_the_systems_clock() {
    let _watch = watch!();
    let pool = crate::rig::pool::pool(2);
    let (send, runs) = channel();
    let tick = tick::every(250 * MS).start_at(Instant::now()).spawn_on(&pool, move |cx| {
        send.send((cx.count(), cx.scheduled())).unwrap();
        Next::Continue
    });
    next(&runs);
    pool.set_num_threads(0).unwrap();
    std::thread::sleep(600 * MS);
    while runs.try_recv().is_ok() {}
    let resumed = Instant::now();
    pool.set_num_threads(2).unwrap();
    let (count, due) = next(&runs);
    assert_eq!(count, 1);
    assert!(due >= resumed, "nothing is late for it");
    tick.cancel_and_wait();
    assert!(tick.stats().ledger.is_balanced());
}
