//! A machine with two nodes, made up: even CPUs and odd ones. `check/all.sh` runs the other tests on it, too.

#![cfg(target_os = "linux")]

use crate::rig::child;
use crate::rig::compute::compute;
use crate::rig::watchdog::watch;
use heist::tick::{self, Next};
use heist::{Pin, ThreadPool, ThreadPoolBuilder};
use heist_os::{CpuMask, cpu_list};
use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

const TWO_NODES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/two_nodes");

/// Runs the test again, on the machine in `dir`. What it wrote to its standard error.
fn rerun(name: &str, dir: &str, hints: &str) -> String {
    let mut child = child::child(module_path!(), name, "1");
    child::ends_well(
        child.env("HEIST_TOPOLOGY", dir).env("HEIST_OS_HINTS", hints).env_remove("HEIST_NUM_THREADS"),
    )
}

fn mask() -> CpuMask {
    heist_os::system(Some(true)).mask(None).expect("Linux knows")
}

fn pinned(n: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(n).stack_size(1 << 20).pin(Pin::Node).build().unwrap()
}

/// The CPUs of the calling thread, and that they are of the node to which its index belongs.
fn check_mask(own: &CpuMask, n: usize) {
    let index = heist::current_thread_index().expect("it runs with a permit");
    let now = mask();
    let [even, odd] = [0, 1].map(|node| own.cpus().filter(move |cpu| cpu % 2 == node).collect::<Vec<_>>());
    let node = heist_policy::node_of_index(index, n, &[even.len(), odd.len()]);
    let expected = [even, odd][node].clone();
    // Who is being woken may lack its waker's CPU for a moment.
    assert!(
        now.count() > 0 && now.cpus().all(|cpu| expected.contains(&cpu)),
        "index {index} of {n} is on CPUs {} and not on {expected:?}",
        cpu_list(now.cpus())
    );
}

/// Joins, waits that lend, and calls that block, so that permits go from thread to thread, spare ones included.
fn spread(own: &CpuMask, n: usize, depth: u32) {
    check_mask(own, n);
    if depth == 0 {
        return compute(20);
    }
    let half = || {
        heist::blocking(std::thread::yield_now);
        spread(own, n, depth - 1);
    };
    heist::join(half, half);
    check_mask(own, n);
}

#[test]
fn a_pinned_thread_is_on_the_node_of_its_index() {
    let _watch = watch!();
    let name = "a_pinned_thread_is_on_the_node_of_its_index";
    if child::case().is_none() {
        rerun(name, TWO_NODES, "1");
        return;
    }
    let own = mask();
    if own.count() < 2 {
        return println!("skipped: this process may run on one CPU only");
    }
    for n in [1, 2, 5] {
        let pool = pinned(n);
        for _ in 0..20 {
            pool.broadcast(|_| check_mask(&own, n));
            pool.install(|| spread(&own, n, 5));
        }
        assert_eq!(mask(), own, "a thread of the program's own is left alone");
    }
    // Nor is one that becomes the pool's.
    let pool = ThreadPoolBuilder::new().num_threads(2).use_current_thread().pin(Pin::Node).build().unwrap();
    pool.install(|| assert_eq!(mask(), own));
    // Without the wish nobody is kept anywhere.
    let free = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    free.broadcast(|_| assert_eq!(mask(), own));
}

/// A pool that was built with few CPUs does not leave them.
#[test]
fn a_node_is_what_the_pool_may_use_of_it() {
    let _watch = watch!();
    if child::case().is_none() {
        rerun("a_node_is_what_the_pool_may_use_of_it", TWO_NODES, "1");
        return;
    }
    let only = CpuMask::default().with(mask().cpus().last().expect("it runs somewhere"));
    assert!(heist_os::system(Some(true)).set_mask(None, &only));
    for seen in pinned(3).broadcast(|_| mask()) {
        assert_eq!(seen, only);
    }
}

#[test]
fn a_pin_without_hints_is_a_warning() {
    let _watch = watch!();
    if child::case().is_none() {
        let stderr = rerun("a_pin_without_hints_is_a_warning", TWO_NODES, "0");
        let warnings: Vec<_> =
            stderr.lines().filter(|line| line.contains("pin(Pin::Node) has no effect")).collect();
        assert_eq!(warnings.len(), 1, "{stderr}");
        return;
    }
    for _ in 0..2 {
        assert_eq!(pinned(2).join(|| 1, || 2), (1, 2));
    }
}

#[test]
fn a_directory_without_nodes_is_an_error() {
    let _watch = watch!();
    if child::case().is_none() {
        rerun("a_directory_without_nodes_is_an_error", "/nowhere", "1");
        return;
    }
    let error = ThreadPoolBuilder::new().num_threads(2).build().unwrap_err().to_string();
    assert!(error.contains("HEIST_TOPOLOGY=\"/nowhere\"") && error.contains("unset it"), "{error}");
}

const MS: Duration = Duration::from_millis(1);

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(MS);
    }
}

/// Two indices on each node: the machine may have any number of CPUs, but all of them or none may be odd.
fn four_on_two_nodes() -> Option<ThreadPool> {
    let own = mask();
    let odd = own.cpus().filter(|cpu| cpu % 2 == 1).count();
    (2 * odd == own.count()).then(|| pinned(4))
}

#[test]
fn a_tick_runs_near_its_node() {
    let _watch = watch!();
    if child::case().is_none() {
        rerun("a_tick_runs_near_its_node", TWO_NODES, "1");
        return;
    }
    let Some(pool) = four_on_two_nodes() else { return println!("skipped: the nodes are not equal here") };
    let (runs, ticks): (Vec<_>, Vec<_>) = (0..8)
        .map(|n| {
            let (here, there) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let counts = [Arc::clone(&here), Arc::clone(&there)];
            let every = tick::every(MS).near(n % 2);
            let every = if n < 4 { every.pinned() } else { every };
            let tick = every.spawn_on(&pool, move |_| {
                // Without a permit it has no index.
                if let Some(index) = heist::current_thread_index() {
                    counts[usize::from(index / 2 != n % 2)].fetch_add(1, Ordering::Relaxed);
                }
                Next::Continue
            });
            ((here, there), tick)
        })
        .unzip();
    wait_until("each runs where it should", || {
        runs.iter().all(|(here, _)| here.load(Ordering::Relaxed) >= 20)
    });
    for (here, there) in &runs[..4] {
        assert!(here.load(Ordering::Relaxed) >= 20);
        assert_eq!(there.load(Ordering::Relaxed), 0, "a pinned one runs nowhere else");
    }
    ticks.iter().for_each(|tick| assert!(tick.cancel_and_wait()));
    let unknown = tick::every(MS).near(7).try_spawn_on(&pool, |_| Next::Stop).unwrap_err();
    assert_eq!(unknown, tick::Error::UnknownNode(7));
    assert!(unknown.to_string().contains("node 7"), "{unknown}");
    let spawned = catch_unwind(AssertUnwindSafe(|| tick::every(MS).near(7).spawn_on(&pool, |_| Next::Stop)));
    assert_eq!(*spawned.unwrap_err().downcast::<String>().unwrap(), unknown.to_string());
}

#[test]
fn a_tick_that_was_taken_by_another_node_comes_back() {
    let _watch = watch!();
    if child::case().is_none() {
        rerun("a_tick_that_was_taken_by_another_node_comes_back", TWO_NODES, "1");
        return;
    }
    let Some(pool) = four_on_two_nodes() else { return println!("skipped: the nodes are not equal here") };
    let (is_over, at_home) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    // Both workers of the node are busy.
    let busy: Vec<_> = (0..2)
        .map(|_| {
            let is_over = Arc::clone(&is_over);
            tick::every(Duration::from_secs(3600)).near(1).pinned().start_at(Instant::now()).spawn_on(
                &pool,
                move |_| {
                    while !is_over.load(Ordering::Relaxed) {
                        compute(20);
                    }
                    Next::Stop
                },
            )
        })
        .collect();
    let counted = Arc::clone(&at_home);
    let tick = tick::every(MS).near(1).spawn_on(&pool, move |_| {
        counted.fetch_add(
            usize::from(heist::current_thread_index().is_some_and(|index| index >= 2)),
            Ordering::Relaxed,
        );
        Next::Continue
    });
    wait_until("others run it", || tick.stats().totals.steals > 5);
    is_over.store(true, Ordering::Relaxed);
    busy.iter().for_each(|tick| tick.wait().unwrap());
    let before = at_home.load(Ordering::Relaxed);
    wait_until("it runs at home again", || at_home.load(Ordering::Relaxed) > before + 10);
    tick.cancel_and_wait();
}
