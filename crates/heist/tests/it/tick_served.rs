//! Who runs a tick: another worker if its own is late, a thread without a permit if all compute, and nobody else for a pinned one.

use crate::rig::compute::compute;
use crate::rig::count::Count;
use crate::rig::gate::Gate;
use crate::rig::pool::pool;
use crate::rig::reports::reports;
use crate::rig::watchdog::watch;
use heist::ThreadPool;
use heist::tick::{self, Handle, Next, Report};
use heist_sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

fn telling(pool: &ThreadPool, period: Duration) -> (Handle, Receiver<Option<usize>>) {
    let (send, receive) = channel();
    let tick = tick::every(period).spawn_on(pool, move |_| {
        let _ = send.send(heist::current_thread_index());
        Next::Continue
    });
    (tick, receive)
}

/// A worker that does not get out of a tick: the other one takes those behind it.
#[test]
fn others_take_what_is_behind_a_stuck_tick() {
    let _watch = watch!();
    let pool = pool(2);
    let ticks: Vec<_> = (0..8).map(|_| telling(&pool, 5 * MS)).collect();
    for (_, runs) in &ticks {
        runs.recv().unwrap();
    }
    let begun = Gate::new();
    let goes_on = Arc::new(AtomicBool::new(true));
    let (tell, is_stuck) = (begun.clone(), Arc::clone(&goes_on));
    // It computes: one that sleeps would lose its permit, and with it what is behind it.
    let stuck = tick::every(HOUR).start_at(Instant::now()).spawn_on(&pool, move |_| {
        tell.open();
        while is_stuck.load(Ordering::Relaxed) {
            compute(100);
        }
        Next::Stop
    });
    begun.block();
    for (_, runs) in &ticks {
        while runs.try_recv().is_ok() {}
        runs.recv().unwrap();
        runs.recv().unwrap();
    }
    // Those that a thread without a permit has run have moved nowhere yet.
    while ticks.iter().all(|(tick, _)| tick.stats().totals.steals == 0) {
        ticks[0].1.recv().unwrap();
    }
    goes_on.store(false, Ordering::Relaxed);
    stuck.wait().unwrap();
    for (tick, _) in &ticks {
        tick.cancel_and_wait();
    }
}

/// One worker is enough for all of them, so they stay where they were placed: the other one finds its own when it is needed.
#[test]
fn what_nobody_serves_does_not_move() {
    let _watch = watch!();
    let pool = pool(2);
    let patient = |_| tick::every(MS).steal_after(HOUR).spawn_on(&pool, |_| Next::Continue);
    let ticks: Vec<_> = (0..4).map(patient).collect();
    let (last, runs) = telling(&pool, 5 * MS);
    for _ in 0..20 {
        runs.recv().unwrap();
    }
    last.cancel_and_wait();
    for tick in &ticks {
        tick.cancel_and_wait();
        assert_eq!(tick.stats().totals.steals, 0, "nobody was late by an hour");
    }
}

/// Computes in all workers as long as it lives.
struct Computing {
    goes_on: Arc<AtomicBool>,
    ended: Count,
}

impl Computing {
    fn begin(pool: &ThreadPool) -> Self {
        let workers = pool.current_num_threads();
        let goes_on = Arc::new(AtomicBool::new(true));
        let (begun, ended) = (Count::new(workers), Count::new(workers));
        for _ in 0..workers {
            let (goes_on, begun, ended) = (Arc::clone(&goes_on), begun.clone(), ended.clone());
            pool.spawn(move || {
                begun.knock();
                while goes_on.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
                ended.knock();
            });
        }
        begun.gate.block();
        Self { goes_on, ended }
    }
}

impl Drop for Computing {
    fn drop(&mut self) {
        self.goes_on.store(false, Ordering::Relaxed);
        self.ended.gate.block();
    }
}

#[test]
fn beside_workers_that_all_compute() {
    let _watch = watch!();
    for workers in 1..=2 {
        let pool = pool(workers);
        let (before, runs) = telling(&pool, MS);
        runs.recv().unwrap();
        let computing = Computing::begin(&pool);
        while runs.try_recv().is_ok() {}
        let indices: Vec<_> = runs.iter().take(20).collect();
        assert!(indices.iter().skip(1).all(Option::is_none), "no permit is free: {indices:?}");
        let (during, runs) = telling(&pool, MS);
        assert_eq!(runs.recv().unwrap(), None);
        drop(computing);
        runs.recv().unwrap();
        before.cancel_and_wait();
        during.cancel_and_wait();
        pool.shutdown().unwrap();
    }
}

#[test]
fn beside_an_endless_loop() {
    use heist::prelude::*;
    let _watch = watch!();
    let pool = pool(2);
    let (tick, runs) = telling(&pool, MS);
    let goes_on = AtomicBool::new(true);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            pool.install(|| {
                while goes_on.load(Ordering::Relaxed) {
                    (0..1000).into_par_iter().for_each(|_| compute(1));
                }
            });
        });
        for _ in 0..50 {
            runs.recv().unwrap();
        }
        goes_on.store(false, Ordering::Relaxed);
    });
    tick.cancel_and_wait();
    assert!(tick.stats().ledger.is_balanced());
}

/// The job lends its permit; whoever has it then serves the ticks of that index.
#[test]
fn while_workers_wait_or_block() {
    let _watch = watch!();
    let pool = pool(1);
    let (tick, runs) = telling(&pool, MS);
    runs.recv().unwrap();
    let runs = pool.install(move || {
        while runs.try_recv().is_ok() {}
        heist::blocking(|| drop(runs.iter().take(5).collect::<Vec<_>>()));
        let task = heist::task::spawn(async {
            heist::time::sleep(5 * MS).await;
            7
        });
        assert_eq!(heist::block_on(task).unwrap(), 7);
        runs
    });
    runs.recv().unwrap();
    tick.cancel_and_wait();
}

/// Jobs and tasks get their turn although ticks alone would be more than a worker can do.
#[test]
fn more_ticks_than_can_be_served_starve_neither_jobs_nor_tasks() {
    let _watch = watch!();
    let pool = pool(1);
    let ticks: Vec<_> = (0..4)
        .map(|_| {
            tick::every(MS).spawn_on(&pool, |_| {
                compute(1000);
                Next::Continue
            })
        })
        .collect();
    let (send, receive) = channel();
    for n in 0..50 {
        let tell = send.clone();
        pool.spawn(move || tell.send(n).unwrap());
        let tell = send.clone();
        drop(pool.spawn_task(async move { tell.send(n).unwrap() }));
    }
    drop(send);
    assert_eq!(receive.iter().count(), 100);
    for tick in &ticks {
        tick.cancel_and_wait();
        let ledger = tick.stats().ledger;
        assert!(ledger.is_balanced() && ledger.run > 0 && ledger.skipped > 0, "{ledger:?}");
    }
}

/// A tick is there first, and the thread that waits for it does so on its parker; then the first timer and the first socket come.
#[test]
fn the_driver_comes_later() {
    let _watch = watch!();
    for workers in 1..=2 {
        let pool = pool(workers);
        let (far, _runs) = telling(&pool, HOUR);
        let (tick, runs) = telling(&pool, 2 * MS);
        runs.recv().unwrap();
        tick.pause();
        pool.block_on(heist::time::sleep(5 * MS));
        pool.block_on(async {
            let listener = heist::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let client =
                heist::task::spawn(async move { heist::net::TcpStream::connect(address).await.unwrap() });
            let _server = listener.accept().await.unwrap();
            client.await.unwrap();
        });
        tick.resume();
        runs.recv().unwrap();
        pool.block_on(heist::time::sleep(5 * MS));
        runs.recv().unwrap();
        assert_eq!(far.stats().ledger.run, 0);
        far.cancel();
        tick.cancel_and_wait();
        pool.shutdown().unwrap();
    }
}

/// For how long the first run has lasted that is reported. On a busy machine ticks are reported for other reasons as well.
fn long_run(mut reports: impl Iterator<Item = Report>) -> Option<Duration> {
    reports.find_map(|report| match report {
        Report::LongRun { since, .. } => Some(since),
        _ => None,
    })
}

#[test]
fn a_long_run_is_reported_once() {
    let _watch = watch!();
    for workers in 1..=2 {
        let name = format!("long {workers}");
        let (pool, reports) = (pool(workers), reports(&name));
        let gate = Gate::new();
        let wait = gate.clone();
        let tick = tick::every(HOUR).start_at(Instant::now()).name(name).watchdog(20 * MS).spawn_on(
            &pool,
            move |_| {
                wait.block();
                Next::Stop
            },
        );
        assert!(long_run(reports.iter()).unwrap() >= 20 * MS);
        std::thread::sleep(100 * MS);
        assert_eq!(long_run(reports.try_iter()), None, "it was told once");
        gate.open();
        tick.wait().unwrap();
    }
}

/// With a period of an hour nobody would look for five.
#[test]
fn the_watchdog_hears_of_a_new_period() {
    let _watch = watch!();
    let (pool, reports) = (pool(1), reports("hasty"));
    let (begun, gate) = (Gate::new(), Gate::new());
    let (tell, wait) = (begun.clone(), gate.clone());
    let tick = tick::every(HOUR).name("hasty").start_at(Instant::now()).spawn_on(&pool, move |_| {
        tell.open();
        wait.block();
        Next::Stop
    });
    begun.block();
    tick.set_period(MS).unwrap();
    assert!(long_run(reports.iter()).unwrap() >= Duration::from_secs(1));
    gate.open();
    tick.wait().unwrap();
}

#[test]
fn a_pinned_tick_behind_a_stuck_worker_is_reported() {
    let _watch = watch!();
    let (pool, reports) = (pool(1), reports("pinned"));
    let (begun, gate) = (Gate::new(), Gate::new());
    let (tell, wait) = (begun.clone(), gate.clone());
    let (send, runs) = channel();
    let tick = tick::every(5 * MS).name("pinned").pinned().watchdog(20 * MS).spawn_on(&pool, move |_| {
        let _ = send.send(heist::current_thread_index());
        Next::Continue
    });
    assert_eq!(runs.recv().unwrap(), Some(0));
    pool.spawn(move || {
        tell.open();
        wait.block();
    });
    begun.block();
    while runs.try_recv().is_ok() {}
    let unserved = reports.iter().find_map(|report| match report {
        Report::Unserved { is_pinned, since, .. } => Some((is_pinned, since)),
        _ => None,
    });
    assert!(matches!(unserved, Some((true, since)) if since >= 20 * MS), "{unserved:?}");
    assert!(runs.try_recv().is_err(), "nobody else runs it");
    gate.open();
    assert_eq!(runs.recv().unwrap(), Some(0));
    tick.cancel_and_wait();
}

#[test]
fn panics_are_reported_each() {
    let _watch = watch!();
    let (pool, reports) = (pool(1), reports("panics"));
    let tick =
        tick::every(MS).name("panics").on_panic(tick::OnPanic::Continue).spawn_on(&pool, |_| panic!("again"));
    let panics = reports.iter().filter_map(|report| match report {
        Report::Panicked { message, is_over, .. } => Some((message, is_over)),
        _ => None,
    });
    assert!(panics.take(3).all(|panic| panic == ("again".into(), false)));
    tick.cancel_and_wait();
    let stats = tick.stats();
    assert!(
        stats.totals.panics == stats.ledger.run && stats.totals.panics >= 3 && stats.ledger.is_balanced()
    );
    let stops = tick::every(MS).name("panics").spawn_on(&pool, |_| panic!("at last"));
    assert_eq!(stops.wait().unwrap_err().message(), "at last");
    assert_eq!(stops.stats().ledger.run, 1);
    assert!(stops.submit(|| ()).is_err());
}
