//! Virtual time: what happens when a clock is moved by hand, and in which order.

use crate::rig::gate::Gate;
use crate::rig::watchdog::watch;
use heist::tick::{self, Next, Overrun, Window};
use heist::time::{
    self, Duration, Instant, ManualClock, MissedTickBehavior, interval, sleep, sleep_until, timeout,
};
use heist::{ThreadPool, ThreadPoolBuilder};
use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

fn pool(clock: &ManualClock, threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).clock(clock).build().unwrap()
}

/// What has happened, each with its time.
#[derive(Clone)]
struct Log {
    clock: ManualClock,
    events: Arc<Mutex<Vec<(u64, String)>>>,
}

impl Log {
    fn new(clock: &ManualClock) -> Self {
        Self { clock: clock.clone(), events: Arc::default() }
    }

    fn note(&self, what: impl Into<String>) {
        let at_ms = self.clock.elapsed().as_millis() as u64;
        self.events.lock().unwrap().push((at_ms, what.into()));
    }

    fn take(&self) -> Vec<(u64, String)> {
        std::mem::take(&mut *self.events.lock().unwrap())
    }

    #[track_caller]
    fn expect(&self, wanted: &[(u64, &str)]) {
        let wanted: Vec<_> = wanted.iter().map(|&(at, what)| (at, String::from(what))).collect();
        assert_eq!(self.take(), wanted);
    }
}

fn every(pool: &ThreadPool, log: &Log, name: &'static str, first_ms: u64, period_ms: u64) -> tick::Handle {
    let (theirs, first) = (log.clone(), log.clock.now() + Duration::from_millis(first_ms));
    tick::every(Duration::from_millis(period_ms)).start_at(first).spawn_on(pool, move |_| {
        theirs.note(name);
        Next::Continue
    })
}

fn after(pool: &ThreadPool, log: &Log, name: &'static str, ms: u64) {
    let log = log.clone();
    let task = async move {
        sleep(Duration::from_millis(ms)).await;
        log.note(name);
    };
    drop(pool.spawn_task(task));
}

#[test]
fn timers_and_ticks_come_in_order_of_time_and_then_of_spawning() {
    let _watch = watch!();
    let clock = ManualClock::new();
    let pool = pool(&clock, 1);
    let log = Log::new(&clock);
    let _ticks = [every(&pool, &log, "two", 2, 2), every(&pool, &log, "three", 3, 3)];
    for (name, ms) in [("late", 7), ("six", 6), ("first of four", 4), ("second of four", 4)] {
        after(&pool, &log, name, ms);
    }
    clock.advance(Duration::ZERO);
    log.expect(&[]);
    clock.advance(6 * MS);
    log.expect(&[
        (2, "two"),
        (3, "three"),
        (4, "two"),
        (4, "first of four"),
        (4, "second of four"),
        // Both ticks are due, and the second was queued before the first.
        (6, "two"),
        (6, "three"),
        (6, "six"),
    ]);
    clock.advance(MS);
    log.expect(&[(7, "late")]);
}

#[test]
fn an_hour_of_a_game_loop() {
    let _watch = watch!();
    let clock = ManualClock::new();
    let pool = pool(&clock, 1);
    let runs = Arc::new(AtomicUsize::new(0));
    let (theirs, begin) = (Arc::clone(&runs), clock.now());
    let tick = tick::every(50 * MS).start_at(begin + 50 * MS).percentiles().spawn_on(&pool, move |cx| {
        let run = theirs.fetch_add(1, Ordering::Relaxed) as u32 + 1;
        assert_eq!((cx.count(), cx.scheduled() - begin), (1, run * 50 * MS));
        assert_eq!((cx.lateness(), cx.remaining()), (Duration::ZERO, 50 * MS));
        Next::Continue
    });
    clock.advance(HOUR);
    assert_eq!((runs.load(Ordering::Relaxed), clock.elapsed()), (72_000, HOUR));
    let stats = tick.stats();
    assert_eq!((stats.ledger.run, stats.ledger.skipped, stats.ledger.pending), (72_000, 0, 1));
    let last = stats.window(Window::Min15);
    assert!((last.tps - 20.0).abs() < 0.1, "{}", last.tps);
    assert_eq!((last.mspt.max, last.lateness.max), (Duration::ZERO, Duration::ZERO));
}

#[test]
fn the_statistics_of_a_pool_are_those_of_all_its_ticks() {
    let _watch = watch!();
    let clock = ManualClock::new();
    let pool = pool(&clock, 2);
    assert_eq!(pool.tick_stats(), tick::Stats::default(), "it has had none");
    let ticks: Vec<_> = (1..=100u64)
        .map(|n| {
            let takes = Duration::from_millis(n);
            tick::every(SECOND).start_at(clock.now() + SECOND).spawn_on(&pool, move |_| {
                heist::block_on(sleep(takes));
                if n > 50 { Next::Stop } else { Next::Continue }
            })
        })
        .collect();
    let sum = || {
        ticks.iter().map(|tick| tick.stats().ledger).fold([0; 5], |sum, ledger| {
            let tick::Ledger { scheduled, run, skipped, cancelled, pending, .. } = ledger;
            let more = [scheduled, run, skipped, cancelled, pending];
            std::array::from_fn(|i| sum[i] + more[i])
        })
    };
    let of_pool = || {
        let tick::Ledger { scheduled, run, skipped, cancelled, pending, .. } = pool.tick_stats().ledger;
        [scheduled, run, skipped, cancelled, pending]
    };
    assert_eq!((of_pool(), of_pool()[4]), (sum(), 100));
    clock.advance(4 * SECOND + 200 * MS);
    let stats = pool.tick_stats();
    assert_eq!((of_pool(), stats.totals.runs), (sum(), 50 * 4 + 50));
    let mspt = stats.window(Window::Secs5).mspt;
    assert_eq!(mspt.max, 100 * MS);
    assert_eq!(stats.window(Window::Secs5).lateness.p99, Some(Duration::ZERO));
    // Four of each up to 50 ms, one of each above: the median is at 32 ms, 95 in 100 are below 88 ms. At most an eighth too large.
    let within = |value: Option<Duration>, ms: u32| {
        let value = value.unwrap();
        assert!(value >= ms * MS && value <= ms * MS * 9 / 8 + MS, "{value:?} and not {ms} ms");
    };
    within(mspt.median, 32);
    within(mspt.p95, 88);
    for tick in &ticks {
        tick.cancel();
    }
    assert_eq!((of_pool(), of_pool()[4]), (sum(), 0));
    ticks[0].reschedule().unwrap();
    clock.advance(SECOND);
    assert_eq!((of_pool(), of_pool()[4]), (sum(), 1));
}

#[test]
fn everything_that_asks_for_the_time_is_told_the_same() {
    let _watch = watch!();
    let clock = ManualClock::new();
    let pool = pool(&clock, 1);
    let theirs = clock.clone();
    let task = pool.spawn_task(async move {
        let begin = time::now();
        assert_eq!(begin, theirs.now());
        assert!(timeout(MS, pending::<()>()).await.is_err());
        assert_eq!(time::now() - begin, MS);
        assert!(timeout(2 * MS, sleep(MS)).await.is_ok());
        assert_eq!(time::now() - begin, 2 * MS);
        sleep_until(begin + 10 * MS).await;
        assert_eq!(time::now() - begin, 10 * MS);
        // One that was due long ago is ready at once, and so is one without a length.
        sleep_until(begin).await;
        sleep(Duration::ZERO).await;
        sleep(Duration::from_nanos(1)).await;
        assert_eq!(time::now() - begin, 10 * MS + Duration::from_nanos(1));
        let mut moved = sleep(HOUR);
        moved.reset(begin + 11 * MS);
        (&mut moved).await;
        assert_eq!(time::now() - begin, 11 * MS);
        heist::task::spawn_blocking(move || assert_eq!(time::now() - begin, 11 * MS)).await.unwrap();
    });
    clock.advance(SECOND);
    assert!(task.is_finished());
    heist::block_on(task).unwrap();
    // Outside, the system's clock counts.
    assert!(time::now() < clock.now());
}

#[test]
fn an_interval_that_is_late_does_what_it_was_told() {
    let _watch = watch!();
    for (missed, wanted) in [
        (MissedTickBehavior::Burst, [0, 35, 35, 35, 40, 50]),
        (MissedTickBehavior::Delay, [0, 35, 45, 55, 65, 75]),
        (MissedTickBehavior::Skip, [0, 35, 40, 50, 60, 70]),
    ] {
        let clock = ManualClock::new();
        let pool = pool(&clock, 1);
        let begin = clock.now();
        let task = pool.spawn_task(async move {
            let mut interval = interval(10 * MS);
            interval.set_missed_tick_behavior(missed);
            let mut seen = Vec::new();
            for i in 0..6 {
                interval.tick().await;
                seen.push((time::now() - begin).as_millis());
                if i == 0 {
                    sleep(35 * MS).await;
                }
            }
            seen
        });
        clock.advance(SECOND);
        assert_eq!(heist::block_on(task).unwrap(), wanted, "{missed:?}");
    }
}

#[test]
fn a_tick_that_overruns_does_what_it_was_told() {
    let _watch = watch!();
    for (overrun, wanted) in [
        (Overrun::Skip, [(0, 1), (35, 3), (40, 1), (50, 1)]),
        (Overrun::Burst(9), [(0, 1), (35, 1), (35, 1), (35, 1)]),
        (Overrun::Delay, [(0, 1), (35, 1), (45, 1), (55, 1)]),
    ] {
        let clock = ManualClock::new();
        let pool = pool(&clock, 1);
        let (seen, begin) = (Arc::new(Mutex::new(Vec::new())), clock.now());
        let theirs = Arc::clone(&seen);
        let tick = tick::every(10 * MS).start_at(begin).overrun(overrun).spawn_on(&pool, move |cx| {
            let mut seen = theirs.lock().unwrap();
            seen.push(((time::now() - begin).as_millis(), cx.count()));
            if seen.len() == 1 {
                // The thread sleeps, and time passes for everybody.
                heist::block_on(sleep(35 * MS));
            }
            if seen.len() == 4 { Next::Stop } else { Next::Continue }
        });
        clock.advance(SECOND);
        tick.wait().unwrap();
        assert_eq!(*seen.lock().unwrap(), wanted, "{overrun:?}");
        assert!(tick.stats().ledger.is_balanced());
        assert_eq!(tick.stats().window(Window::Secs15).mspt.max, 35 * MS);
    }
}

/// What a program of ticks, tasks, joins and closures that were submitted does, with these many threads.
fn history(threads: usize) -> Vec<(u64, String)> {
    let clock = ManualClock::new();
    let pool = pool(&clock, threads);
    let log = Log::new(&clock);
    let ticks: Vec<_> = (1..=12u64)
        .map(|n| {
            let (log, begin) = (log.clone(), clock.now());
            tick::every(Duration::from_millis(n)).start_at(begin + MS).spawn_on(&pool, move |cx| {
                let (a, b) = heist::join(|| n, || 100 * n);
                log.note(format!("tick {} of {}", a + b, cx.count()));
                let theirs = log.clone();
                drop(heist::task::spawn(async move {
                    theirs.note(format!("task of tick {n}"));
                    sleep(Duration::from_millis(3 * n)).await;
                    theirs.note(format!("its end {n}"));
                }));
                if n == 7 && heist::current_num_threads() > 1 {
                    // On a thread beside the pool, so the order is not known.
                    drop(heist::task::spawn_blocking(|| heist::join(|| (), || ())));
                }
                Next::Continue
            })
        })
        .collect();
    for n in 1..=5u64 {
        let theirs = log.clone();
        drop(pool.spawn_task(async move {
            let mut every = interval(Duration::from_millis(2 * n));
            loop {
                every.tick().await;
                let all: u64 = heist::scope(|s| {
                    let sum = AtomicUsize::new(0);
                    s.spawn(|_| ());
                    sum.load(Ordering::Relaxed) as u64 + n
                });
                theirs.note(format!("interval {all}"));
            }
        }));
    }
    for n in 0..50 {
        clock.advance(2 * MS);
        let theirs = log.clone();
        ticks[n % 12].submit(move || theirs.note(format!("submitted {n}"))).unwrap();
        // What this thread does next would else come before or after it.
        clock.advance(Duration::ZERO);
        if n % 10 == 9 {
            let tick = &ticks[(n / 10) % 12];
            tick.pause();
            assert!(tick.step(1));
            clock.advance(Duration::ZERO);
            tick.resume();
        }
    }
    for tick in &ticks {
        let ledger = tick.stats().ledger;
        assert!(ledger.is_balanced() && ledger.skipped == 0, "{ledger:?}");
    }
    log.take()
}

#[test]
fn with_one_worker_everything_happens_in_the_same_order_each_time() {
    let _watch = watch!();
    let first = history(1);
    assert!(first.len() > 300, "{}", first.len());
    for _ in 0..5 {
        let again = history(1);
        let differs = first.iter().zip(&again).find(|(first, again)| first != again);
        assert_eq!((differs, again.len()), (None, first.len()));
    }
}

#[test]
fn with_several_workers_the_same_things_happen_at_the_same_times() {
    let _watch = watch!();
    let mut wanted = history(1);
    wanted.sort();
    for threads in [2, 3, 4, 4, 4] {
        let mut history = history(threads);
        assert!(history.is_sorted_by_key(|(at, _)| *at), "time does not go back");
        history.sort();
        assert_eq!(history, wanted, "{threads} threads");
    }
}

#[test]
fn pools_that_share_a_clock_go_from_one_time_to_the_next_together() {
    let _watch = watch!();
    let clock = ManualClock::new();
    let pools = [pool(&clock, 1), pool(&clock, 2)];
    let log = Log::new(&clock);
    let _first = every(&pools[0], &log, "first pool", 1, 4);
    let _second = every(&pools[1], &log, "second pool", 3, 4);
    // What one hands to the other runs before time goes on.
    let (there, theirs) = (runner(&pools[1]), log.clone());
    drop(pools[0].spawn_task(async move {
        for _ in 0..3 {
            sleep(2 * MS).await;
            let log = theirs.clone();
            there(Box::new(move || log.note("handed over")));
        }
    }));
    clock.advance(8 * MS);
    log.expect(&[
        (1, "first pool"),
        (2, "handed over"),
        (3, "second pool"),
        (4, "handed over"),
        (5, "first pool"),
        (6, "handed over"),
        (7, "second pool"),
    ]);
    let [gone, left] = pools;
    drop(gone);
    clock.advance(4 * MS);
    assert!(log.take().contains(&(11, String::from("second pool"))));
    drop(left);
    clock.advance(HOUR);
    assert_eq!(clock.elapsed(), HOUR + 12 * MS);
}

type Job = Box<dyn FnOnce() + Send>;

/// Runs in a pool what it is given, without the pool.
fn runner(pool: &ThreadPool) -> impl Fn(Job) + Send + use<> {
    let (send, receive) = async_channel::unbounded::<Job>();
    drop(pool.spawn_task(async move {
        while let Ok(job) = receive.recv().await {
            job();
        }
    }));
    move |job| send.try_send(job).unwrap_or_else(|_| panic!("the pool is there"))
}

#[test]
fn a_clock_waits_for_what_blocks_announced_or_not() {
    let _watch = watch!();
    for kind in 0..4 {
        let clock = ManualClock::new();
        let pool = pool(&clock, 2);
        let (gate, begun, is_over) = (Gate::new(), Gate::new(), Arc::new(AtomicBool::new(false)));
        let (tell, theirs, over) = (begun.clone(), gate.clone(), Arc::clone(&is_over));
        let block = move || {
            tell.open();
            theirs.block();
            over.store(true, Ordering::SeqCst);
        };
        match kind {
            0 => pool.spawn(block),
            1 => pool.spawn(move || heist::blocking(block)),
            2 => drop(pool.spawn_task(async move { block() })),
            _ => drop(pool.spawn_task(async move { heist::task::spawn_blocking(block).await.unwrap() })),
        }
        begun.block();
        let opener = std::thread::spawn(move || {
            std::thread::sleep(20 * MS);
            gate.open();
        });
        clock.advance(SECOND);
        assert!(is_over.load(Ordering::SeqCst), "kind {kind}");
        opener.join().unwrap();
    }
}

#[test]
fn a_clock_is_not_moved_by_those_it_waits_for() {
    let _watch = watch!();
    let clock = ManualClock::new();
    let pool = pool(&clock, 1);
    let refused = |clock: &ManualClock| {
        let payload = catch_unwind(AssertUnwindSafe(|| clock.advance(MS))).unwrap_err();
        let message = payload
            .downcast_ref::<String>()
            .map_or_else(|| String::from(*payload.downcast_ref::<&str>().unwrap()), Clone::clone);
        assert!(message.contains("it would wait for itself"), "{message}");
    };
    pool.install(|| refused(&clock));
    let theirs = clock.clone();
    heist::block_on(pool.spawn_task(async move { refused(&theirs) })).unwrap();
    let theirs = clock.clone();
    let call = async move { heist::task::spawn_blocking(move || refused(&theirs)).await.unwrap() };
    heist::block_on(pool.spawn_task(call)).unwrap();
    let theirs = clock.clone();
    let tick = tick::every(MS).start_at(clock.now()).spawn_on(&pool, move |_| {
        heist::blocking(|| refused(&theirs));
        Next::Stop
    });
    tick.wait().unwrap();
    assert!(clock.elapsed().is_zero());
    // Another pool's threads are none of its business.
    crate::rig::pool::pool(1).install(|| clock.advance(MS));
    assert_eq!(clock.elapsed(), MS);
}

#[test]
fn what_is_due_now_needs_nobody_to_move_the_clock() {
    let _watch = watch!();
    let clock = ManualClock::new();
    let pool = pool(&clock, 1);
    let (send, receive) = std::sync::mpsc::channel();
    let tick = tick::every(HOUR).start_at(clock.now() + HOUR).spawn_on(&pool, |_| Next::Continue);
    tick.submit(move || send.send(7).unwrap()).unwrap();
    assert_eq!(receive.recv(), Ok(7));
    tick.sprint(3);
    clock.advance(Duration::ZERO);
    assert_eq!(tick.stats().ledger.run, 3);
    let begin = clock.now();
    assert_eq!(pool.block_on(async move { sleep_until(begin).await }), ());
    let early = tick::every(MS).start_at(begin).spawn_on(&pool, |_| Next::Stop);
    early.wait().unwrap();
    assert_eq!(clock.now(), begin);
}

#[test]
fn a_pool_without_threads_does_not_hold_the_clock_up() {
    let _watch = watch!();
    let clock = ManualClock::new();
    let pools = [pool(&clock, 1), pool(&clock, 1)];
    let log = Log::new(&clock);
    let _ticks = [every(&pools[0], &log, "at rest", 1, 1), every(&pools[1], &log, "at work", 2, 2)];
    after(&pools[0], &log, "a timer at rest", 2);
    clock.advance(Duration::ZERO);
    pools[0].set_num_threads(0).unwrap();
    clock.advance(4 * MS);
    log.expect(&[(2, "at work"), (4, "at work")]);
    pools[0].set_num_threads(1).unwrap();
    clock.advance(Duration::ZERO);
    assert!(log.take().contains(&(4, String::from("a timer at rest"))));
}

#[test]
fn sockets_take_real_time_and_their_time_outs_do_not() {
    let _watch = watch!();
    let clock = ManualClock::new();
    let pool = pool(&clock, 1);
    let task = pool.spawn_task(async {
        let socket = heist::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let mut byte = [0];
        let is_late = timeout(HOUR, socket.recv_from(&mut byte)).await.is_err();
        socket.send_to(&[7], socket.local_addr().unwrap()).await.unwrap();
        socket.recv_from(&mut byte).await.unwrap();
        (is_late, byte)
    });
    clock.advance(HOUR);
    assert_eq!(heist::block_on(task).unwrap(), (true, [7]));
}

#[test]
fn a_thread_outside_sees_its_timers_fire() {
    let _watch = watch!();
    let clock = ManualClock::new();
    let pool = pool(&clock, 2);
    let (deadline, is_set) = (clock.now() + SECOND, Gate::new());
    std::thread::scope(|s| {
        let tell = is_set.clone();
        let outside = s.spawn(|| {
            pool.block_on(async move {
                let mut sleep = sleep_until(deadline);
                std::future::poll_fn(|cx| {
                    let polled = std::pin::Pin::new(&mut sleep).poll(cx);
                    tell.open();
                    polled
                })
                .await;
                time::now()
            })
        });
        let inside = s.spawn(|| pool.install(|| heist::block_on(sleep_until(deadline))));
        is_set.block();
        clock.advance(SECOND);
        assert_eq!(outside.join().unwrap(), deadline);
        inside.join().unwrap();
    });
}

#[test]
fn what_cannot_be_had_is_said() {
    let _watch = watch!();
    let clock = ManualClock::new();
    let error = std::thread::scope(|s| {
        let build = || ThreadPoolBuilder::new().num_threads(2).use_current_thread().clock(&clock).build();
        s.spawn(move || build().unwrap_err().to_string()).join().unwrap()
    });
    assert!(error.contains("use_current_thread()"), "{error}");
    clock.advance(Duration::from_secs(35 * 365 * 86400));
    let too_far = catch_unwind(AssertUnwindSafe(|| clock.advance(Duration::MAX)));
    let message = too_far.unwrap_err().downcast::<String>().unwrap();
    assert!(message.contains("36 years"), "{message}");
    let pool = pool(&clock, 1);
    let forever = pool.spawn_task(async { sleep(Duration::MAX).await });
    clock.advance(Duration::from_secs(365 * 86400));
    assert!(!forever.is_finished(), "never early");
    forever.abort();
    assert!(Instant::now() < clock.now());
}
