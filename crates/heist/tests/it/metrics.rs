//! What `ThreadPool::metrics` counts is what has happened.

use crate::rig::gate::Gate;
use crate::rig::pool::{guest_pool, pool};
use crate::rig::watchdog::watch;
use heist::ThreadPoolBuilder;
use heist::metrics::{Metrics, WorkerMetrics, WorkerState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

const JOBS: u64 = 5_000;

#[test]
fn jobs_are_counted_once() {
    let _watchdog = watch!();
    for n in [1, 2, 4] {
        let pool = pool(n);
        let (send, receive) = channel();
        for _ in 0..JOBS {
            let send = send.clone();
            pool.spawn(move || send.send(()).unwrap());
        }
        assert_eq!(receive.iter().take(JOBS as usize).count() as u64, JOBS);
        assert_eq!(pool.metrics().sum(|worker| worker.jobs), JOBS, "from outside, {n} threads");
        // The scope itself is one more.
        pool.scope(|scope| (0..JOBS).for_each(|_| scope.spawn(|_| ())));
        assert_eq!(pool.metrics().sum(|worker| worker.jobs), 2 * JOBS + 1, "of a scope, {n} threads");
        assert_eq!(pool.broadcast(|_| ()).len(), n);
        assert_eq!(pool.metrics().sum(|worker| worker.jobs), 2 * JOBS + 1 + n as u64, "broadcasts");
        assert_eq!(pool.metrics().sum(|worker| worker.polls + worker.ticks), 0);
    }
}

#[test]
fn polls_are_counted_once() {
    let _watchdog = watch!();
    for histograms in [false, true] {
        let pool = ThreadPoolBuilder::new().num_threads(2).poll_histograms(histograms).build().unwrap();
        let polls = Arc::new(AtomicU64::new(0));
        let tasks: Vec<_> = (0..500)
            .map(|n| {
                let (polls, mut left) = (polls.clone(), n % 5);
                pool.spawn_task(std::future::poll_fn(move |cx| {
                    polls.fetch_add(1, Ordering::Relaxed);
                    if left == 0 {
                        return std::task::Poll::Ready(());
                    }
                    left -= 1;
                    cx.waker().wake_by_ref();
                    std::task::Poll::Pending
                }))
            })
            .collect();
        for task in tasks {
            heist::block_on(task).unwrap();
        }
        assert_eq!(polls.load(Ordering::Relaxed), 1500);
        let metrics = pool.metrics();
        assert_eq!(metrics.sum(|worker| worker.polls), 1500);
        assert_eq!((metrics.sum(|worker| worker.jobs), metrics.poll_times().is_some()), (0, histograms));
        assert_eq!(metrics.schedule_latency().map(|waited| waited.count()), histograms.then_some(1500));
        // The last poll of a task is timed after its handle was told.
        while histograms && pool.metrics().poll_times().unwrap().count() < 1500 {
            std::thread::yield_now();
        }
    }
}

#[test]
fn slow_polls_and_tasks_that_wait_are_in_the_histograms() {
    const LONG: Duration = Duration::from_millis(30);
    let _watchdog = watch!();
    let pool = ThreadPoolBuilder::new().num_threads(1).max_threads(1).poll_histograms(true).build().unwrap();
    let slow = pool.spawn_task(async { std::thread::sleep(LONG) });
    // There is no other thread for it, so it waits for the first.
    let second = pool.spawn_task(async {});
    heist::block_on(async {
        slow.await.unwrap();
        second.await.unwrap();
    });
    while pool.metrics().poll_times().unwrap().count() < 2 {
        std::thread::yield_now();
    }
    let metrics = pool.metrics();
    let (took, waited) = (metrics.poll_times().unwrap(), metrics.schedule_latency().unwrap());
    assert_eq!((took.count(), waited.count()), (2, 2));
    assert!(u128::from(took.max()) >= LONG.as_nanos(), "{took:?}");
    assert!(u128::from(took.quantile(0.5)) < LONG.as_nanos(), "{took:?}");
}

fn sum_of(worker: &WorkerMetrics) -> Duration {
    worker.busy + worker.searching + worker.parked + worker.waiting
}

/// The time of each thread that is there all the while is exactly the time that passes, whatever it does: not less than between the
/// snapshots, and not more than around them.
#[test]
fn times_add_up_to_the_time_that_passes() {
    let _watchdog = watch!();
    let pool = pool(3);
    pool.broadcast(|_| ());
    let look = || {
        let before = Instant::now();
        let metrics = pool.metrics();
        (before, metrics, Instant::now())
    };
    let first = look();
    for round in 0..20 {
        pool.scope(|scope| {
            for n in 0..50 {
                scope.spawn(move |_| {
                    std::hint::black_box((0..1000 * n).sum::<u64>());
                });
            }
        });
        pool.install(|| {
            heist::join(|| heist::blocking(|| std::thread::sleep(Duration::from_millis(1))), || ())
        });
        let second = look();
        for (then, now) in first.1.workers.iter().zip(&second.1.workers).take(3) {
            let spent = sum_of(now) - sum_of(then);
            assert!(spent >= second.0 - first.2, "round {round}: {spent:?} is too little: {now:?}");
            assert!(spent <= second.2 - first.0, "round {round}: {spent:?} is too much: {now:?}");
        }
    }
    let all = pool.metrics();
    let waiting: Duration = all.workers.iter().map(|worker| worker.waiting).sum();
    assert!(waiting >= Duration::from_millis(20), "{all:?}");
    assert!(all.workers.iter().all(|worker| worker.state != WorkerState::Gone), "{all:?}");
}

#[test]
fn a_job_is_busy_time_and_sleep_is_not() {
    const LONG: Duration = Duration::from_millis(20);
    let _watchdog = watch!();
    let pool = pool(1);
    let busy = || pool.metrics().workers[0].busy;
    let parked = || pool.metrics().workers[0].parked;
    let before = busy();
    pool.install(|| std::thread::sleep(LONG));
    assert!(busy() - before >= LONG);
    while pool.metrics().workers[0].state != WorkerState::Parked {
        std::thread::yield_now();
    }
    let (before, was_parked) = (busy(), parked());
    while parked() < was_parked + LONG {
        std::thread::yield_now();
    }
    assert_eq!(busy(), before, "nothing runs");
}

fn is_later(then: &Metrics, now: &Metrics) {
    let counts = |w: &WorkerMetrics| {
        [w.jobs, w.forks, w.polls, w.ticks, w.steals_tried, w.steals, w.overflows, w.wakes]
    };
    let times = |w: &WorkerMetrics| [w.busy, w.searching, w.parked, w.waiting];
    assert!(now.workers.len() >= then.workers.len());
    assert!(now.wakes_from_outside >= then.wakes_from_outside);
    for (then, now) in then.workers.iter().zip(&now.workers) {
        assert_eq!(then.number, now.number);
        assert!(counts(now).iter().zip(counts(then)).all(|(now, then)| *now >= then), "{then:?}, {now:?}");
        assert!(times(now).iter().zip(times(then)).all(|(now, then)| *now >= then), "{then:?}, {now:?}");
    }
}

#[test]
fn snapshots_under_load_only_grow() {
    let _watchdog = watch!();
    let pool = guest_pool(2);
    /// Also if the test fails.
    struct End<'a>(&'a AtomicBool);
    impl Drop for End<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        let _end = End(&is_over);
        threads.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                pool.install(|| heist::join(std::thread::yield_now, std::thread::yield_now));
                pool.scope(|scope| (0..10).for_each(|_| scope.spawn(|_| std::thread::yield_now())));
                heist::block_on(pool.spawn_task(async { heist::task::yield_now().await })).unwrap();
            }
        });
        let mut before = pool.metrics();
        for _ in 0..2_000 {
            let now = pool.metrics();
            is_later(&before, &now);
            before = now;
        }
    });
}

#[test]
fn a_stolen_half_is_a_steal_and_a_wake() {
    let _watchdog = watch!();
    let pool = pool(2);
    let both = Barrier::new(2);
    pool.join(|| both.wait(), || both.wait());
    let metrics = pool.metrics();
    assert_eq!(metrics.sum(|worker| worker.forks), 1, "{metrics:?}");
    // `join` came from outside: that is a job.
    assert_eq!(metrics.sum(|worker| worker.jobs), 1, "{metrics:?}");
    assert!(metrics.sum(|worker| worker.steals) >= 1, "{metrics:?}");
}

#[test]
fn who_wakes_from_outside_is_counted_apart() {
    let _watchdog = watch!();
    let pool = pool(2);
    pool.broadcast(|_| ());
    let are_parked = |metrics: &Metrics| metrics.workers.iter().all(|w| w.state == WorkerState::Parked);
    loop {
        while !are_parked(&pool.metrics()) || pool.metrics().free < 2 {
            std::thread::yield_now();
        }
        let before = pool.metrics();
        pool.install(|| ());
        let after = pool.metrics();
        // The one that was woken may have woken the other.
        assert!(after.sum(|worker| worker.wakes) <= before.sum(|worker| worker.wakes) + 1);
        match after.wakes_from_outside - before.wakes_from_outside {
            // One was on its way up by itself.
            0 => (),
            1 => return,
            more => panic!("{more} wakes for one job"),
        }
    }
}

#[test]
fn what_waits_is_shown_and_full_run_queues_overflow() {
    const TASKS: usize = 1000;
    let _watchdog = watch!();
    let pool = ThreadPoolBuilder::new().num_threads(1).max_threads(1).build().unwrap();
    let (gate, (send, receive)) = (Gate::new(), channel());
    let task = pool.spawn_task({
        let gate = gate.clone();
        async move {
            let tasks: Vec<_> = (0..TASKS).map(|_| heist::task::spawn(async {})).collect();
            send.send(()).unwrap();
            gate.block();
            for task in tasks {
                task.await.unwrap();
            }
        }
    });
    receive.recv().unwrap();
    pool.spawn(|| ());
    let metrics = pool.metrics();
    let overflows = metrics.sum(|worker| worker.overflows);
    let queued: usize = metrics.workers.iter().map(|worker| worker.queued_tasks).sum();
    assert_eq!(queued + metrics.injected_tasks, TASKS, "{metrics:?}");
    assert!(overflows >= 1 && metrics.injected_tasks >= 128 * overflows as usize, "{metrics:?}");
    assert_eq!((metrics.injected_jobs, metrics.active, metrics.threads), (1, 1, 1), "{metrics:?}");
    assert_eq!((metrics.workers[0].index, metrics.workers[0].state), (Some(0), WorkerState::Busy));
    gate.open();
    heist::block_on(task).unwrap();
}
