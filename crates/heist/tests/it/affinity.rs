//! Whoever pins threads is obeyed: a spare thread gets the mask that the pool was built with, not that of the thread which happened to
//! need it, and a mask that is set from outside is not undone.

#![cfg(target_os = "linux")]

use crate::rig::compute::compute;
use crate::rig::count::Count;
use crate::rig::gate::Gate;
use crate::rig::watchdog::watch;
use heist::{ThreadPool, ThreadPoolBuilder};
use heist_sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

type Mask = [u64; 16];

unsafe extern "C" {
    fn gettid() -> i32;
    fn sched_getaffinity(tid: i32, size: usize, mask: *mut Mask) -> i32;
    fn sched_setaffinity(tid: i32, size: usize, mask: *const Mask) -> i32;
}

fn own_tid() -> i32 {
    // SAFETY: no arguments.
    unsafe { gettid() }
}

/// Of the thread `tid`; 0 is the caller.
fn mask_of(tid: i32) -> Mask {
    let mut mask = [0; 16];
    // SAFETY: the kernel writes at most that many bytes.
    assert!(unsafe { sched_getaffinity(tid, size_of::<Mask>(), &raw mut mask) } >= 0);
    mask
}

fn pin(tid: i32, mask: &Mask) {
    // SAFETY: the kernel reads that many bytes.
    let set = unsafe { sched_setaffinity(tid, size_of::<Mask>(), mask) };
    assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
}

fn cpus(mask: &Mask) -> Vec<usize> {
    (0..1024).filter(|cpu| mask[cpu / 64] >> (cpu % 64) & 1 == 1).collect()
}

fn only(cpu: usize) -> Mask {
    let mut mask = [0; 16];
    mask[cpu / 64] = 1 << (cpu % 64);
    mask
}

/// At least two, or there is nothing to be narrowed.
fn all_cpus() -> Option<(Mask, Vec<usize>)> {
    let mask = mask_of(0);
    let all = cpus(&mask);
    if all.len() < 2 {
        println!("skipped: this process may run on CPU {all:?} only");
        return None;
    }
    Some((mask, all))
}

/// The masks of threads that run while all workers are blocked, which are spares. Every worker sets its own mask to `workers` first.
/// `as_task`: they block in a task, and somebody else notices.
fn masks_of_spares(pool: &ThreadPool, workers: Mask, as_task: bool) -> Vec<Vec<usize>> {
    let n = pool.current_num_threads();
    let (blocked, ended, ran) = (Count::new(n), Count::new(n), Count::new(4));
    let pinned = Arc::new(Mutex::new(Vec::new()));
    let masks = Arc::new(Mutex::new(Vec::new()));
    for _ in 0..n {
        let (blocked, ended, ran, pinned) =
            (blocked.clone(), ended.clone(), ran.gate.clone(), Arc::clone(&pinned));
        let block = move |announced: bool| {
            let before = mask_of(0);
            pin(0, &workers);
            pinned.lock().unwrap().push(own_tid());
            let wait = || {
                blocked.knock();
                ran.block();
            };
            if announced {
                heist::blocking(wait)
            } else {
                wait()
            }
            assert_eq!(cpus(&mask_of(0)), cpus(&workers), "a thread keeps the mask that it has given itself");
            pin(0, &before);
            ended.knock();
        };
        if as_task {
            drop(pool.spawn_task(async move { block(false) }))
        } else {
            pool.spawn(move || block(true))
        }
    }
    blocked.gate.block();
    for _ in 0..4 {
        let (ran, masks, pinned) = (ran.clone(), Arc::clone(&masks), Arc::clone(&pinned));
        let look = move || {
            assert!(!pinned.lock().unwrap().contains(&own_tid()));
            masks.lock().unwrap().push(cpus(&mask_of(0)));
            ran.knock();
        };
        if as_task { drop(pool.spawn_task(async move { look() })) } else { pool.spawn(look) }
    }
    ended.gate.block();
    std::mem::take(&mut *masks.lock().unwrap())
}

/// Masks of spares are set by the pool, so the hints are on whatever the environment says.
fn hinted(n: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(n).stack_size(16 << 20).os_hints(true).build().unwrap()
}

/// Workers that have narrowed themselves.
#[test]
fn spares_are_as_free_as_the_pool() {
    let _watch = watch!();
    let Some((_, all)) = all_cpus() else { return };
    for n in [1, 2] {
        for as_task in [false, true] {
            for &cpu in &all[..2] {
                let masks = masks_of_spares(&hinted(n), only(cpu), as_task);
                assert_eq!(masks, vec![all.clone(); 4], "{n} workers on CPU {cpu}, as tasks: {as_task}");
            }
        }
    }
}

/// A pool that was built by a pinned thread, with workers that have freed themselves.
#[test]
fn spares_are_as_pinned_as_the_pool() {
    let _watch = watch!();
    let Some((mask, all)) = all_cpus() else { return };
    let cpu = *all.last().unwrap();
    for as_task in [false, true] {
        let pool = std::thread::spawn(move || {
            pin(0, &only(cpu));
            hinted(1)
        });
        let masks = masks_of_spares(&pool.join().unwrap(), mask, as_task);
        assert_eq!(masks, vec![vec![cpu]; 4], "as tasks: {as_task}");
    }
}

/// A wait that lends: the spare comes while its lender sleeps in a join.
#[test]
fn spares_of_a_join_are_as_free_as_the_pool() {
    let _watch = watch!();
    let Some((_, all)) = all_cpus() else { return };
    let pool = hinted(2);
    let ran = Gate::new();
    let masks = Arc::new(Mutex::new(Vec::new()));
    let stolen = AtomicBool::new(false);
    let narrow = || pin(0, &only(all[0]));
    let spawn_look = || {
        let (ran, masks) = (ran.clone(), Arc::clone(&masks));
        heist::spawn(move || {
            masks.lock().unwrap().push(cpus(&mask_of(0)));
            ran.open();
        });
    };
    pool.install(|| {
        heist::join(
            || {
                narrow();
                while !stolen.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
                spawn_look();
            },
            || {
                narrow();
                stolen.store(true, Ordering::Release);
                compute(500);
                ran.block();
            },
        )
    });
    assert_eq!(*masks.lock().unwrap(), [all]);
}

/// All threads of this process that have that name, and of each, if it sleeps, how often it has gone to sleep.
fn threads_called(name: &str) -> Vec<(i32, Option<String>)> {
    let tids = std::fs::read_dir("/proc/self/task").unwrap();
    let look = |tid: i32| {
        // A thread that has just left has no file.
        let status = std::fs::read_to_string(format!("/proc/self/task/{tid}/status")).ok()?;
        let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("").trim();
        let switches = || line("voluntary_ctxt_switches:").to_string();
        (line("Name:") == name).then(|| (tid, line("State:").starts_with('S').then(switches)))
    };
    tids.filter_map(|tid| look(tid.unwrap().file_name().to_str()?.parse().ok()?)).collect()
}

/// Waits until all threads with that name sleep for good, and not for a moment at a lock on their way there. All of the pool's: one that
/// is in the middle of waking another has that one's mask in its hands.
fn settle(name: &str) {
    let mut before = threads_called(name);
    loop {
        std::thread::sleep(Duration::from_millis(5));
        let now = threads_called(name);
        if now == before && now.iter().all(|(_, asleep)| asleep.is_some()) {
            return;
        }
        before = now;
    }
}

/// Somebody outside pins the workers while they sleep: an operator with `taskset`, a library that knows the machine.
#[test]
fn a_mask_set_from_outside_survives_a_wake() {
    let _watch = watch!();
    let Some((mask, all)) = all_cpus() else { return };
    for n in [1, 2] {
        let name = format!("outside-{n}");
        let called = name.clone();
        let pool =
            ThreadPoolBuilder::new().num_threads(n).thread_name(move |_| called.clone()).build().unwrap();
        let tids = pool.broadcast(|_| own_tid());
        for round in 0..10 {
            // Woken for a job, from a thread that is wherever it is, and asleep again, with its own mask: a thread that was awake before
            // its waker got to it puts that right only at the end of its next sleep.
            loop {
                pool.install(|| heist::join(|| compute(20), || compute(20)));
                pool.spawn(|| ());
                settle(&name);
                if tids.iter().all(|&tid| mask_of(tid) == mask) {
                    break;
                }
            }
            let cpu = all[round % 2];
            tids.iter().for_each(|&tid| pin(tid, &only(cpu)));
            for wake in 0..3 {
                let seen = pool.broadcast(|_| (own_tid(), cpus(&mask_of(0))));
                // Spare threads have not been pinned.
                for (tid, seen) in seen.into_iter().filter(|(tid, _)| tids.contains(tid)) {
                    assert_eq!(seen, [cpu], "{n} workers, wake {wake}, thread {tid} of {tids:?}");
                }
                pool.install(|| heist::join(|| compute(20), || compute(20)));
                settle(&name);
                for &tid in &tids {
                    assert_eq!(
                        cpus(&mask_of(tid)),
                        [cpu],
                        "{n} workers, asleep after wake {wake}, {tid} of {tids:?}"
                    );
                }
            }
            tids.iter().for_each(|&tid| pin(tid, &mask));
        }
    }
}
