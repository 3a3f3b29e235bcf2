//! Ticks in pools of every kind, and what the end of a pool does to them.

use crate::rig::fenced;
use crate::rig::gate::Gate;
use crate::rig::pool::pool;
use crate::rig::watchdog::watch;
use heist::tick::{self, Error, Next};
use heist::{ThreadPool, ThreadPoolBuilder};
use heist_sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

/// What every pool must be able to do.
fn serves_ticks(pool: &ThreadPool) {
    let (send, runs) = channel();
    let ticks: Vec<_> = [MS, 3 * MS]
        .into_iter()
        .map(|period| {
            let send = send.clone();
            tick::every(period).spawn_on(pool, move |_| {
                let _ = send.send(());
                Next::Continue
            })
        })
        .collect();
    let pinned = tick::every(2 * MS).pinned().spawn_on(pool, |_| Next::Continue);
    let paused = tick::every(MS).spawn_on(pool, |_| Next::Continue);
    paused.pause();
    for _ in 0..20 {
        runs.recv().unwrap();
    }
    // A job waits for one, and for a closure.
    let stops = tick::every(MS).spawn_on(pool, |_| Next::Stop);
    pool.install(|| stops.wait()).unwrap();
    let (done, ran) = channel();
    ticks[0].submit(move || done.send(()).unwrap()).unwrap();
    ran.recv().unwrap();
    pool.install(|| ticks[0].cancel_and_wait());
    while pinned.stats().ledger.run < 3 {
        std::thread::sleep(MS);
    }
    for tick in [&ticks[1], &pinned, &paused] {
        tick.cancel_and_wait();
        assert!(tick.stats().ledger.is_balanced());
    }
}

#[test]
fn pools_of_one_to_four_workers() {
    let _watch = watch!();
    for workers in 1..=4 {
        serves_ticks(&pool(workers));
    }
}

#[test]
fn pools_without_spare_threads() {
    let _watch = watch!();
    for workers in 1..=2 {
        serves_ticks(&ThreadPoolBuilder::new().num_threads(workers).max_threads(workers).build().unwrap());
        let started = ThreadPoolBuilder::new().num_threads(workers).spawn_handler(|thread| {
            std::thread::spawn(|| thread.run());
            Ok(())
        });
        serves_ticks(&started.build().unwrap());
    }
}

#[test]
fn pools_without_hints_and_with_guests() {
    let _watch = watch!();
    serves_ticks(&ThreadPoolBuilder::new().num_threads(2).os_hints(false).build().unwrap());
    serves_ticks(&ThreadPoolBuilder::new().num_threads(2).guests(true).build().unwrap());
}

#[test]
fn a_pool_of_the_calling_thread() {
    let _watch = watch!();
    // On a thread of its own: it belongs to the pool until it ends.
    let test = || {
        let pool = ThreadPoolBuilder::new().num_threads(2).use_current_thread().build().unwrap();
        let (send, runs) = channel();
        let tick = tick::every(MS).spawn_on(&pool, move |_| {
            let _ = send.send(());
            Next::Continue
        });
        for _ in 0..10 {
            runs.recv().unwrap();
        }
        tick.cancel_and_wait();
    };
    std::thread::spawn(test).join().unwrap();
}

/// The thread that has built the pool belongs to it, and waits outside of heist: it does not come to anything that only it may run.
#[test]
fn pinned_ticks_are_not_left_to_the_calling_thread() {
    let _watch = watch!();
    let test = || {
        let pool = ThreadPoolBuilder::new().num_threads(3).use_current_thread().build().unwrap();
        let (send, runs) = channel();
        let ticks = [0, 1, 2].map(|number| {
            let send = send.clone();
            tick::every(MS).pinned().spawn_on(&pool, move |_| {
                send.send(number).unwrap();
                Next::Stop
            })
        });
        let mut ran = ticks.each_ref().map(|_| runs.recv_timeout(Duration::from_secs(20)).ok());
        ran.sort_unstable();
        assert_eq!(ran, [Some(0), Some(1), Some(2)]);
    };
    std::thread::spawn(test).join().unwrap();
}

#[test]
fn in_fenced_mode() {
    fenced::rerun_fenced(module_path!(), &["pools_of", "pools_without_spare", "a_closed_pool", "the_end_of"]);
}

#[test]
fn a_closed_pool_takes_none() {
    let _watch = watch!();
    let pool = pool(1);
    let (send, receive) = channel();
    let tick = tick::every(HOUR).spawn_on(&pool, |_| Next::Continue);
    let (begun, gate) = (Gate::new(), Gate::new());
    let (tell, wait) = (begun.clone(), gate.clone());
    let cancelled = tick.clone();
    pool.spawn(move || {
        tell.open();
        wait.block();
        let spawned = tick::every(MS).try_spawn(|_| Next::Continue);
        send.send((spawned.map(drop), cancelled.reschedule())).unwrap();
    });
    begun.block();
    drop(pool);
    tick.wait().unwrap();
    gate.open();
    assert_eq!(receive.recv().unwrap(), (Err(Error::PoolClosed), Err(Error::PoolClosed)));
    assert!(tick.stats().ledger.is_balanced());
    assert!(tick.submit(|| ()).is_err());
    assert_eq!(tick::every(Duration::ZERO).try_spawn(|_| Next::Stop).map(drop), Err(Error::ZeroPeriod));
}

#[test]
fn the_end_of_a_pool_ends_its_ticks() {
    let _watch = watch!();
    for workers in 1..=2 {
        let pool = pool(workers);
        let closures = Arc::new(AtomicUsize::new(0));
        let waiting = tick::every(HOUR).spawn_on(&pool, |_| Next::Continue);
        let busy = tick::every(MS).spawn_on(&pool, |_| Next::Continue);
        let paused = tick::every(MS).spawn_on(&pool, |_| Next::Continue);
        paused.pause();
        let (begun, gate) = (Gate::new(), Gate::new());
        let (tell, wait) = (begun.clone(), gate.clone());
        let running = tick::every(HOUR).start_at(Instant::now()).spawn_on(&pool, move |_| {
            tell.open();
            wait.block();
            Next::Continue
        });
        begun.block();
        for tick in [&waiting, &busy, &paused, &running] {
            let closures = Arc::clone(&closures);
            tick.submit(move || {
                closures.fetch_add(1, Ordering::Relaxed);
            })
            .unwrap();
        }
        let ended = std::thread::spawn(move || pool.shutdown().unwrap());
        // The others do not wait for the one that runs, if there is a worker for them.
        if workers > 1 {
            for tick in [&waiting, &busy, &paused] {
                tick.wait().unwrap();
            }
        }
        gate.open();
        ended.join().unwrap();
        assert_eq!(closures.load(Ordering::Relaxed), 4, "what was accepted has run");
        for tick in [waiting, busy, paused, running] {
            tick.wait().unwrap();
            let ledger = tick.stats().ledger;
            assert!(ledger.is_balanced() && ledger.pending == 0, "{ledger:?}");
            assert!(tick.submit(|| ()).is_err());
        }
    }
}

#[test]
fn a_drop_of_the_pool_in_the_middle_of_everything() {
    let _watch = watch!();
    for round in 0..30 {
        let pool = pool(1 + round % 3);
        let ticks: Vec<_> =
            (1..20).map(|n| tick::every(n * MS / 4).spawn_on(&pool, |_| Next::Continue)).collect();
        std::thread::sleep(MS * (round as u32 % 4));
        drop(pool);
        for tick in ticks {
            tick.wait().unwrap();
            assert!(tick.stats().ledger.is_balanced());
        }
    }
}

#[test]
fn the_report_of_a_shutdown_names_who_is_in_a_tick() {
    let _watch = watch!();
    let pool = pool(1);
    let (begun, gate) = (Gate::new(), Gate::new());
    let (tell, wait) = (begun.clone(), gate.clone());
    let tick = tick::every(MS).spawn_on(&pool, move |_| {
        tell.open();
        wait.block();
        Next::Continue
    });
    begun.block();
    let report = pool.shutdown_within(10 * MS).unwrap();
    assert!(!report.is_complete);
    assert!(report.workers.iter().any(|thread| thread.state() == heist::ThreadState::Tick), "{report}");
    gate.open();
    tick.wait().unwrap();
}
