//! What a profile says of tasks, ticks and loops. It counts for the whole process, so each case has one of its own.

use crate::rig::child;
use crate::rig::gate::Gate;
use crate::rig::watchdog::watch;
use heist::profile::{Runs, Waited};
use heist::tick::{self, Next};
use heist::time::ManualClock;
use heist::{ThreadPool, ThreadPoolBuilder};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// A pool whose one thread runs everything: nobody overtakes it.
fn alone() -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(1).max_threads(1).build().unwrap()
}

/// A poll is counted at its end, and that may come after whoever waits for the task goes on.
fn settle(pool: &ThreadPool) {
    pool.broadcast(|_| ());
}

#[test]
fn polls_wakes_and_self_wakes_are_counted() {
    let _watch = watch!();
    if child::case().is_none() {
        child::ends_well(&mut child::child(module_path!(), "polls_wakes_and_self_wakes_are_counted", "1"));
        return;
    }
    let pool = alone();
    let yields = |n: u32| async move {
        for _ in 0..n {
            heist::task::yield_now().await;
        }
    };
    // What comes before is none of it.
    heist::block_on(pool.spawn_task(yields(3))).unwrap();
    settle(&pool);
    let run = || {
        heist::block_on(pool.spawn_task(yields(5))).unwrap();
        // One task waits for another: it is woken, and not by itself.
        let inner = pool.spawn_task(yields(1));
        heist::block_on(pool.spawn_task(async { inner.await.unwrap() })).unwrap();
        settle(&pool);
    };
    for _ in 0..2 {
        let ((), profile) = heist::profile(run);
        let Runs { count, wakes, self_wakes, waited, .. } = profile.figures().polls;
        assert_eq!(self_wakes, 6);
        // The second task may find that the other has ended: then it is polled once.
        assert!((9..=10).contains(&wakes), "{wakes}");
        assert_eq!((count, waited.count), (wakes, wakes), "each time it is made ready it is polled");
        assert!(profile.to_string().contains("6 of them in the middle of a poll"), "{profile}");
    }
    let before = heist::profile(|| ()).1;
    assert_eq!(before.figures().polls, Runs::default());
}

#[test]
fn a_task_that_waits_for_its_worker_is_late_by_that() {
    let _watch = watch!();
    if child::case().is_none() {
        let name = "a_task_that_waits_for_its_worker_is_late_by_that";
        return drop(child::ends_well(&mut child::child(module_path!(), name, "1")));
    }
    for has_histograms in [false, true] {
        let pool = ThreadPoolBuilder::new().num_threads(1).max_threads(1).poll_histograms(has_histograms);
        let pool = pool.build().unwrap();
        let ((), profile) = heist::profile(|| {
            let (begun, goes_on) = (Gate::new(), Gate::new());
            let theirs = (begun.clone(), goes_on.clone());
            pool.spawn(move || {
                theirs.0.open();
                theirs.1.block();
            });
            begun.block();
            let task = pool.spawn_task(async {});
            std::thread::sleep(20 * MS);
            goes_on.open();
            heist::block_on(task).unwrap();
            settle(&pool);
        });
        let Waited { count, mean_ns, p50_ns, p99_ns, longest_ns } = profile.figures().polls.waited;
        assert_eq!((count, mean_ns), (1, longest_ns));
        assert!(longest_ns >= 20_000_000, "{longest_ns}");
        assert_eq!((p50_ns, p99_ns), (longest_ns, longest_ns), "a quantile is never above the largest");
        if has_histograms {
            let waited = pool.metrics().workers[0].schedule_latency.clone().unwrap();
            assert_eq!(waited.count(), 1, "the pool's own histogram has it as well");
        }
    }
}

#[test]
fn ticks_say_by_how_much_they_were_late() {
    let _watch = watch!();
    if child::case().is_none() {
        let name = "ticks_say_by_how_much_they_were_late";
        return drop(child::ends_well(&mut child::child(module_path!(), name, "1")));
    }
    let clock = ManualClock::new();
    clock.advance(100 * MS);
    let pool = ThreadPoolBuilder::new().num_threads(1).clock(&clock).build().unwrap();
    let ((), profile) = heist::profile(|| {
        for late in [7, 3] {
            let tick = tick::every(10 * MS).start_at(clock.now() - late * MS);
            let handle = tick.spawn_on(&pool, |_| Next::Stop);
            clock.advance(Duration::ZERO);
            handle.wait().unwrap();
        }
        settle(&pool);
    });
    let Runs { count, wakes, waited, .. } = profile.figures().ticks;
    assert_eq!((count, wakes, waited.count), (2, 0, 2));
    assert_eq!((waited.mean_ns, waited.longest_ns), (5_000_000, 7_000_000));
    assert!((3_000_000..=3_000_000 + 3_000_000 / 8).contains(&waited.p50_ns), "{waited:?}");
    assert!(profile.to_string().contains("late by      5.00 ms on average"), "{profile}");
}

#[test]
fn each_kind_of_loop_is_one_site() {
    use heist::prelude::*;
    let _watch = watch!();
    if child::case().is_none() {
        let name = "each_kind_of_loop_is_one_site";
        return drop(child::ends_well(&mut child::child(module_path!(), name, "1")));
    }
    let sum =
        |n: usize| (0..20_000_usize).into_par_iter().with_max_len(500).map(move |k| k ^ n).sum::<usize>();
    let longest = || (0..20_000_usize).into_par_iter().with_max_len(500).map(|k| k.leading_zeros()).max();
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let (_, profile) = pool.install(|| heist::profile(|| (sum(1), sum(2), longest(), sum(3))));
    let sites = &profile.figures().sites;
    assert_eq!(sites.len(), 2, "{sites:?}");
    assert_eq!(sites.iter().map(|site| site.forks).sum::<u64>(), profile.forks());
    let (sums, one) = if sites[0].forks > sites[1].forks { (0, 1) } else { (1, 0) };
    assert!(sites[sums].forks > sites[one].forks && sites[one].forks > 0, "{sites:?}");
    assert!(sites.iter().all(|site| site.stolen <= site.forks && site.work_ns > 0), "{sites:?}");
}
