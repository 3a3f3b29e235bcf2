//! The life of a tick: every change of its state, in every state.

use crate::rig::gate::Gate;
use crate::rig::pool::pool;
use crate::rig::watchdog::watch;
use heist::ThreadPool;
use heist::tick::{self, Error, Handle, Next, Overrun};
use heist_sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);
/// Longer than any test lasts.
const HOUR: Duration = Duration::from_secs(3600);

/// A tick that tells of each run.
fn telling(pool: &ThreadPool, period: Duration) -> (Handle, Receiver<u64>) {
    let (send, receive) = channel();
    let tick = tick::every(period).spawn_on(pool, move |cx| {
        // Nobody may listen any more.
        let _ = send.send(cx.count());
        Next::Continue
    });
    (tick, receive)
}

/// A tick that is inside of its first run until the gate opens.
fn stuck(pool: &ThreadPool) -> (Handle, Gate) {
    let (gate, begun) = (Gate::new(), Gate::new());
    let (theirs, tell) = (gate.clone(), begun.clone());
    let tick = tick::every(HOUR).start_at(Instant::now()).spawn_on(pool, move |_| {
        tell.open();
        theirs.block();
        Next::Continue
    });
    begun.block();
    (tick, gate)
}

#[track_caller]
fn balanced(tick: &Handle) -> tick::Ledger {
    let ledger = tick.stats().ledger;
    assert!(ledger.is_balanced(), "{ledger:?}");
    ledger
}

#[test]
fn it_runs_at_its_period_and_never_early() {
    let _watch = watch!();
    let pool = pool(2);
    let first = Instant::now() + 5 * MS;
    let (send, receive) = channel();
    let tick =
        tick::every(3 * MS).start_at(first).overrun(Overrun::Burst(u32::MAX)).spawn_on(&pool, move |cx| {
            assert!(Instant::now() >= cx.scheduled(), "early");
            send.send(cx.scheduled()).unwrap();
            if cx.scheduled() >= first + 29 * MS { Next::Stop } else { Next::Continue }
        });
    tick.wait().unwrap();
    let runs: Vec<Instant> = receive.try_iter().collect();
    assert_eq!(runs.len(), 11, "each of them is caught up");
    for (n, at) in runs.iter().enumerate() {
        let expected = first + 3 * MS * n as u32;
        let off = at.saturating_duration_since(expected).max(expected.saturating_duration_since(*at));
        assert!(off < Duration::from_micros(1), "run {n} is off by {off:?}");
    }
    assert_eq!(balanced(&tick).run, 11);
}

#[test]
fn a_run_says_when_the_next_one_is() {
    let _watch = watch!();
    let pool = pool(1);
    let (send, receive) = channel();
    let tick = tick::every(HOUR).start_at(Instant::now()).spawn_on(&pool, move |cx| {
        send.send(cx.scheduled()).unwrap();
        Next::At(cx.scheduled() + 2 * MS)
    });
    let (first, second) = (receive.recv().unwrap(), receive.recv().unwrap());
    assert!(second - first >= 2 * MS - Duration::from_micros(1));
    tick.cancel_and_wait();
    balanced(&tick);
}

#[test]
fn missed_periods_are_skipped_with_a_count() {
    let _watch = watch!();
    let pool = pool(1);
    let (tick, counts) = telling(&pool, MS);
    counts.recv().unwrap();
    let (begun, end) = (Gate::new(), Gate::new());
    let (tell, gate) = (begun.clone(), end.clone());
    tick.submit(move || {
        tell.open();
        gate.block();
    })
    .unwrap();
    begun.block();
    std::thread::sleep(10 * MS);
    end.open();
    let most = counts.iter().find(|&count| count >= 9);
    assert!(most.is_some());
    tick.cancel_and_wait();
    assert!(balanced(&tick).skipped >= 8);
}

#[test]
fn cancelled_while_it_waits() {
    let _watch = watch!();
    let pool = pool(2);
    let (tick, _runs) = telling(&pool, HOUR);
    assert!(tick.cancel_and_wait());
    assert!(!tick.cancel());
    let ledger = balanced(&tick);
    assert_eq!((ledger.run, ledger.cancelled, ledger.pending), (0, 1, 0));
    assert!(tick.wait().is_ok());
}

#[test]
fn cancelled_while_it_is_paused() {
    let _watch = watch!();
    let pool = pool(2);
    let (tick, _runs) = telling(&pool, HOUR);
    tick.pause();
    assert!(tick.cancel_and_wait());
    assert_eq!(balanced(&tick).cancelled, 1);
}

#[test]
fn cancelled_while_it_runs() {
    let _watch = watch!();
    let pool = pool(2);
    let (tick, gate) = stuck(&pool);
    assert!(tick.cancel());
    assert!(tick.stats().ledger.is_balanced());
    let waits = std::thread::spawn({
        let tick = tick.clone();
        move || tick.wait()
    });
    gate.open();
    waits.join().unwrap().unwrap();
    assert_eq!((balanced(&tick).run, balanced(&tick).pending), (1, 0));
}

#[test]
fn cancelled_by_its_own_run() {
    let _watch = watch!();
    let pool = pool(1);
    let (send, receive) = channel::<Handle>();
    let tick = tick::every(MS).spawn_on(&pool, move |_| {
        if let Ok(me) = receive.recv() {
            assert!(me.cancel());
        }
        Next::Continue
    });
    send.send(tick.clone()).unwrap();
    tick.wait().unwrap();
    assert_eq!(balanced(&tick).run, 1);
}

#[test]
fn a_tick_that_waits_for_itself_is_told() {
    let _watch = watch!();
    let pool = pool(1);
    let (send, receive) = channel::<Handle>();
    let tick = tick::every(MS).name("waits for itself").spawn_on(&pool, move |_| {
        receive.recv().unwrap().cancel_and_wait();
        Next::Continue
    });
    send.send(tick.clone()).unwrap();
    assert!(tick.wait().is_err(), "it has panicked, though it was cancelled before");
    assert_eq!(tick.stats().totals.panics, 1);
}

#[test]
fn rescheduled_after_a_cancel() {
    let _watch = watch!();
    let pool = pool(2);
    let (tick, runs) = telling(&pool, MS);
    assert_eq!(tick.reschedule(), Err(Error::NotCancelled));
    for _ in 0..20 {
        runs.recv().unwrap();
        tick.cancel_and_wait();
        while runs.try_recv().is_ok() {}
        tick.reschedule().unwrap();
    }
    runs.recv().unwrap();
    tick.cancel_and_wait();
    assert_eq!(balanced(&tick).cancelled, 21);
}

#[test]
fn a_stopped_one_is_not_rescheduled() {
    let _watch = watch!();
    let pool = pool(1);
    let tick = tick::every(MS).spawn_on(&pool, |_| Next::Stop);
    tick.wait().unwrap();
    assert_eq!(tick.reschedule(), Err(Error::NotCancelled));
}

/// The thread that waits for the far time is told.
#[test]
fn a_shorter_period_counts_at_once() {
    let _watch = watch!();
    for workers in 1..=2 {
        let pool = pool(workers);
        let (tick, runs) = telling(&pool, HOUR);
        tick.set_period(MS).unwrap();
        for _ in 0..3 {
            runs.recv().unwrap();
        }
        assert_eq!(tick.set_period(Duration::ZERO), Err(Error::ZeroPeriod));
        tick.set_period(HOUR).unwrap();
        tick.cancel_and_wait();
        balanced(&tick);
    }
}

#[test]
fn a_paused_one_runs_only_steps() {
    let _watch = watch!();
    let pool = pool(2);
    let (tick, runs) = telling(&pool, MS);
    runs.recv().unwrap();
    tick.pause();
    // One may have begun before.
    let (flushed, flush) = channel();
    tick.submit(move || flushed.send(()).unwrap()).unwrap();
    flush.recv().unwrap();
    while runs.try_recv().is_ok() {}
    let before = balanced(&tick).run;
    assert!(tick.step(3));
    for _ in 0..3 {
        runs.recv().unwrap();
    }
    std::thread::sleep(10 * MS);
    assert_eq!(balanced(&tick).run, before + 3);
    assert!(runs.try_recv().is_err());
    tick.resume();
    runs.recv().unwrap();
    assert!(!tick.step(1));
    tick.cancel_and_wait();
}

#[test]
fn a_sprint_is_as_fast_as_it_can_be() {
    let _watch = watch!();
    let pool = pool(2);
    let (tick, runs) = telling(&pool, HOUR);
    tick.pause();
    tick.sprint(1000);
    for _ in 0..1000 {
        runs.recv().unwrap();
    }
    tick.cancel_and_wait();
    assert_eq!(balanced(&tick).run, 1000);
}

#[test]
fn dropping_the_handle_detaches_it() {
    let _watch = watch!();
    let pool = pool(1);
    let (tick, runs) = telling(&pool, MS);
    drop(tick);
    for _ in 0..5 {
        runs.recv().unwrap();
    }
    pool.shutdown().unwrap();
    // Ends because the closure is dropped with the tick.
    runs.into_iter().for_each(drop);
}

/// Says when it is dropped.
struct Dropped(Sender<()>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.send(()).unwrap();
    }
}

#[test]
fn a_paused_one_goes_with_its_last_handle() {
    let _watch = watch!();
    let pool = pool(1);
    let (send, receive) = channel();
    let dropped = Dropped(send);
    let tick = tick::every(HOUR).spawn_on(&pool, move |_| {
        let _ = &dropped;
        Next::Continue
    });
    tick.pause();
    let second = tick.clone();
    drop(tick);
    assert!(receive.try_recv().is_err());
    drop(second);
    receive.recv().unwrap();
    pool.shutdown().unwrap();
}

#[test]
fn a_job_waits_for_a_tick() {
    let _watch = watch!();
    for workers in 1..=2 {
        let pool = pool(workers);
        let tick = tick::every(MS).spawn_on(&pool, {
            let mut runs = 0;
            move |_| {
                runs += 1;
                if runs == 5 { Next::Stop } else { Next::Continue }
            }
        });
        pool.install(|| tick.wait()).unwrap();
        assert_eq!(balanced(&tick).run, 5);
    }
}

/// Each wait is for the end of the life in which it began, also if the tick lives again before the waiter is awake.
#[test]
fn a_wait_ends_with_the_life_in_which_it_began() {
    let _watch = watch!();
    let pool = pool(2);
    let tick = tick::every(HOUR).spawn_on(&pool, |_| Next::Continue);
    std::thread::scope(|threads| {
        let canceller = threads.spawn(|| {
            for _ in 0..2_000 {
                tick.cancel_and_wait();
            }
        });
        while !canceller.is_finished() {
            let _ = tick.reschedule();
        }
    });
    tick.cancel_and_wait();
    tick.reschedule().unwrap();
    std::thread::scope(|threads| {
        let (begin, begun) = channel();
        let waiter = threads.spawn({
            let tick = &tick;
            move || {
                begin.send(()).unwrap();
                tick.wait()
            }
        });
        begun.recv().unwrap();
        // Whenever the wait has begun, the life that it is in ends soon.
        while !waiter.is_finished() {
            tick.cancel_and_wait();
            tick.reschedule().unwrap();
        }
        waiter.join().unwrap().unwrap();
    });
    balanced(&tick);
}

#[test]
fn many_threads_wait_for_one_end() {
    let _watch = watch!();
    let pool = pool(2);
    let (tick, gate) = stuck(&pool);
    std::thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| tick.wait().unwrap());
        }
        tick.cancel();
        gate.open();
    });
}

#[test]
fn everything_works_inside_of_a_tick() {
    use heist::prelude::*;
    let _watch = watch!();
    let pool = pool(2);
    let (send, receive) = channel();
    let spawned = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&spawned);
    let tick = tick::every(MS).spawn_on(&pool, move |_| {
        let (a, b) = heist::join(|| 1, || 2);
        let sum: i32 = (0..1000).into_par_iter().sum();
        heist::scope(|s| {
            s.spawn(|_| {
                count.fetch_add(1, Ordering::Relaxed);
            })
        });
        let task = heist::task::spawn(async { 4 });
        let inner = tick::every(MS).spawn(|_| Next::Stop);
        send.send((a + b, sum, heist::block_on(task).unwrap(), inner)).unwrap();
        Next::Continue
    });
    for _ in 0..20 {
        let (three, sum, four, inner) = receive.recv().unwrap();
        assert_eq!((three, sum, four), (3, 499_500, 4));
        inner.wait().unwrap();
    }
    tick.cancel_and_wait();
    assert!(spawned.load(Ordering::Relaxed) >= 20);
    pool.shutdown().unwrap();
}

/// Tells when it is dropped.
struct Kept(Sender<()>);

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

/// A closure that holds the handle of its own tick would keep both for ever.
#[test]
fn closures_go_with_their_pool() {
    let _watch = watch!();
    let pool = pool(1);
    let dropped: Vec<_> = [false, true]
        .map(|is_cancelled| {
            let (send, dropped) = channel();
            let (kept, own) = (Kept(send), Arc::new(std::sync::OnceLock::<Handle>::new()));
            let theirs = Arc::clone(&own);
            let tick = tick::every(HOUR).spawn_on(&pool, move |_| {
                let _both = (&kept, theirs.get());
                Next::Continue
            });
            own.set(tick.clone()).unwrap();
            if is_cancelled {
                tick.cancel_and_wait();
                tick.reschedule().unwrap();
                tick.cancel_and_wait();
            }
            dropped
        })
        .into();
    assert!(
        dropped.iter().all(|dropped| dropped.try_recv().is_err()),
        "one runs, and one may be rescheduled"
    );
    pool.shutdown().unwrap();
    for dropped in dropped {
        dropped.recv().unwrap();
    }
}

#[test]
fn a_panic_after_the_cancel_is_told() {
    let _watch = watch!();
    crate::rig::reports::hush();
    let pool = pool(1);
    let (gate, begun) = (Gate::new(), Gate::new());
    let (theirs, tell) = (gate.clone(), begun.clone());
    let tick = tick::every(HOUR).start_at(Instant::now()).spawn_on(&pool, move |_| -> Next {
        tell.open();
        theirs.block();
        panic!("too late")
    });
    begun.block();
    assert!(tick.cancel());
    gate.open();
    assert_eq!(tick.wait().unwrap_err().message(), "too late");
    assert_eq!(tick.reschedule(), Err(Error::NotCancelled));
    balanced(&tick);
}

/// On a machine with one node; `nodes.rs` has the others.
#[test]
fn where_all_is_near_any_node_is() {
    let _watch = watch!();
    if heist_os::topology::several_nodes().is_some() {
        return println!("skipped: there are several nodes here");
    }
    let pool = pool(2);
    let tick = tick::every(MS).near(99).spawn_on(&pool, |_| Next::Stop);
    tick.wait().unwrap();
}
