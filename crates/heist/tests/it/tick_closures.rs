//! Closures that are submitted to a tick: in order, one at a time, and never beside a run.

use crate::rig::compute::compute;
use crate::rig::gate::Gate;
use crate::rig::pool::pool;
use crate::rig::watchdog::watch;
use heist::tick::{self, Handle, Next};
use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

/// Finds out if two are inside at once.
#[derive(Clone, Default)]
struct Alone(Arc<AtomicBool>);

impl Alone {
    fn be<R>(&self, f: impl FnOnce() -> R) -> R {
        assert!(!self.0.swap(true, Ordering::Acquire), "two at once");
        let result = f();
        self.0.store(false, Ordering::Release);
        result
    }
}

#[test]
fn in_order_and_never_beside_a_run() {
    let _watch = watch!();
    let pool = pool(2);
    let alone = Alone::default();
    let inside = alone.clone();
    let tick = tick::every(MS).steal_after(Duration::ZERO).spawn_on(&pool, move |_| {
        inside.be(|| compute(200));
        Next::Continue
    });
    let (send, receive) = channel();
    std::thread::scope(|threads| {
        for thread in 0..3 {
            let (tick, alone, send) = (&tick, alone.clone(), send.clone());
            threads.spawn(move || {
                for n in 0..300 {
                    let (alone, send) = (alone.clone(), send.clone());
                    tick.submit(move || alone.be(|| send.send((thread, n)).unwrap())).unwrap();
                }
            });
        }
    });
    drop(send);
    let mut next = [0; 3];
    for (thread, n) in receive {
        assert_eq!(n, next[thread], "thread {thread}");
        next[thread] += 1;
    }
    assert_eq!(next, [300; 3]);
    tick.cancel_and_wait();
    assert_eq!((tick.stats().totals.closures, tick.stats().totals.panics), (900, 0));
}

#[test]
fn a_cancel_runs_what_was_accepted() {
    let _watch = watch!();
    for is_paused in [false, true] {
        let pool = pool(1);
        let runs = Arc::new(AtomicUsize::new(0));
        let tick = tick::every(HOUR).spawn_on(&pool, |_| Next::Continue);
        if is_paused {
            tick.pause();
        }
        // The one worker is busy until all are there.
        let gate = Gate::new();
        let busy = gate.clone();
        tick.submit(move || busy.block()).unwrap();
        for _ in 0..10 {
            let runs = Arc::clone(&runs);
            tick.submit(move || {
                runs.fetch_add(1, Ordering::Relaxed);
            })
            .unwrap();
        }
        tick.cancel();
        let refused = tick.submit(|| ()).unwrap_err();
        refused.into_inner()();
        gate.open();
        tick.wait().unwrap();
        assert_eq!(runs.load(Ordering::Relaxed), 10);
        assert_eq!(tick.stats().ledger.run, 0);
    }
}

#[test]
fn before_a_late_run_comes_one_closure() {
    let _watch = watch!();
    let pool = pool(1);
    let (send, receive) = channel();
    let tell = send.clone();
    let tick = tick::every(MS).spawn_on(&pool, move |_| {
        // Longer than the period, so that each run is late.
        compute(1500);
        let _ = tell.send("run");
        Next::Continue
    });
    let (begun, gate) = (Gate::new(), Gate::new());
    let (tell, wait) = (begun.clone(), gate.clone());
    tick.submit(move || {
        tell.open();
        wait.block();
    })
    .unwrap();
    begun.block();
    while receive.try_recv().is_ok() {}
    for _ in 0..5 {
        let send = send.clone();
        tick.submit(move || send.send("closure").unwrap()).unwrap();
    }
    std::thread::sleep(3 * MS);
    gate.open();
    let order: Vec<_> = receive.iter().take(11).collect();
    // The one that had blocked counts for the first run.
    assert_eq!(order.iter().filter(|&&what| what == "closure").count(), 5, "{order:?}");
    assert!(order.windows(2).all(|two| two != ["run", "run"]), "{order:?}");
    tick.cancel_and_wait();
}

/// Closures that never end to come keep neither their own tick nor another one of the same worker from running.
#[test]
fn a_flood_of_closures_starves_nobody() {
    let _watch = watch!();
    let pool = pool(1);
    let flooded = tick::every(2 * MS).spawn_on(&pool, |_| Next::Continue);
    let other = tick::every(2 * MS).spawn_on(&pool, |_| Next::Continue);
    let queued = Arc::new(AtomicUsize::new(0));
    while flooded.stats().ledger.run < 20 || other.stats().ledger.run < 20 {
        std::thread::yield_now();
        if queued.load(Ordering::Relaxed) < 100 {
            queued.fetch_add(1, Ordering::Relaxed);
            let queued = Arc::clone(&queued);
            flooded
                .submit(move || {
                    compute(300);
                    queued.fetch_sub(1, Ordering::Relaxed);
                })
                .unwrap();
        }
    }
    flooded.cancel_and_wait();
    other.cancel_and_wait();
    assert!(flooded.stats().ledger.is_balanced() && other.stats().ledger.is_balanced());
}

/// Each of them is due, and would make room for the others.
#[test]
fn closures_of_paused_ticks_do_not_wait_for_each_other() {
    let _watch = watch!();
    let pool = pool(1);
    let ticks: Vec<_> = (0..3).map(|_| tick::every(HOUR).spawn_on(&pool, |_| Next::Continue)).collect();
    let (begun, gate) = (Gate::new(), Gate::new());
    let (tell, wait) = (begun.clone(), gate.clone());
    // The one worker is busy until all are there.
    pool.spawn(move || {
        tell.open();
        wait.block();
    });
    begun.block();
    let (send, receive) = channel();
    for n in 0..30 {
        let tick = &ticks[n % ticks.len()];
        tick.pause();
        let send = send.clone();
        tick.submit(move || send.send(()).unwrap()).unwrap();
    }
    drop(send);
    gate.open();
    assert_eq!(receive.iter().count(), 30);
    for tick in ticks {
        tick.cancel_and_wait();
    }
}

#[test]
fn a_panic_of_one_is_not_the_ticks() {
    let _watch = watch!();
    let (send, receive) = channel();
    let pool = heist::ThreadPoolBuilder::new()
        .num_threads(1)
        .panic_handler(move |payload| send.send(*payload.downcast_ref::<&str>().unwrap()).unwrap())
        .build()
        .unwrap();
    let tick = tick::every(MS).spawn_on(&pool, |_| Next::Continue);
    tick.submit(|| panic!("the closure's own")).unwrap();
    assert_eq!(receive.recv().unwrap(), "the closure's own");
    let (done, ran) = channel();
    tick.submit(move || done.send(()).unwrap()).unwrap();
    ran.recv().unwrap();
    tick.cancel_and_wait();
    assert_eq!(tick.stats().totals.panics, 0);
}

#[test]
fn a_closure_may_submit_and_cancel() {
    let _watch = watch!();
    let pool = pool(1);
    let tick = tick::every(HOUR).spawn_on(&pool, |_| Next::Continue);
    let (send, receive) = channel();
    let same = tick.clone();
    tick.submit(move || {
        let again = same.clone();
        same.submit(move || {
            again.cancel();
            send.send(again.submit(|| ()).is_err()).unwrap();
        })
        .unwrap();
    })
    .unwrap();
    assert!(receive.recv().unwrap());
    tick.wait().unwrap();
}

/// The handler runs where the closure ran, so it would wait for itself: it is told, and nothing hangs.
#[test]
fn a_panic_handler_that_waits_for_the_tick() {
    let _watch = watch!();
    let own = Arc::new(std::sync::OnceLock::<Handle>::new());
    let theirs = Arc::clone(&own);
    let handler = move |_| _ = theirs.get().unwrap().cancel_and_wait();
    let pool = heist::ThreadPoolBuilder::new().num_threads(1).panic_handler(handler).build().unwrap();
    let tick = tick::every(HOUR).spawn_on(&pool, |_| Next::Continue);
    own.set(tick.clone()).unwrap();
    tick.submit(|| panic!("for the handler")).unwrap();
    tick.wait().unwrap();
    assert!(tick.stats().ledger.is_balanced());
}
