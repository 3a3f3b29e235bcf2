//! Models of going to sleep for loom: the pool's own code on both sides, on real workers without their loop.
//!
//! The last rule of every model: either somebody takes the job, or a thread sleeps beside it for ever, which loom reports as
//! a deadlock.

use super::Local;
use super::park::Slept;
use crate::driver::{Driver, Patience};
use crate::forks::Slot;
use crate::job::{HeapJob, JobRef};
use crate::pool::{Config, Pool};
use heist_sync::{Parker, StdArc as Arc, thread};
use loom::model::Builder;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

fn check(preemptions: usize, model: impl Fn(bool) + Send + Sync + Copy + 'static) {
    let executions = Arc::new(AtomicUsize::new(0));
    for sleeper_first in [true, false] {
        let mut builder = Builder::new();
        builder.preemption_bound = Some(preemptions);
        builder.max_branches = 50_000;
        let executions = executions.clone();
        builder.check(move || {
            executions.fetch_add(1, Ordering::Relaxed);
            model(sleeper_first);
        });
    }
    println!("{} executions", executions.load(Ordering::Relaxed));
}

/// A pool that starts no threads of its own.
fn pool(indices: usize) -> Arc<Pool> {
    Pool::new(Config { parallelism: indices, foreign_threads: true, ..Config::default() })
}

/// Runs `f` on the calling thread as a worker with `index`.
fn work<R>(pool: &Arc<Pool>, index: u16, f: impl FnOnce(&Local) -> R) -> R {
    let worker = pool.table().enrol().unwrap();
    pool.guest_comes();
    assert_eq!(pool.idle().open().acquire(worker.id(), Some(index)), Some(index));
    let local = Local::new(pool.clone(), worker, false);
    // SAFETY: `local` stays in this frame for as long as its thread uses it, and loom's hot blocks stay for ever. Nobody
    // leaves: that is a model of its own, and loom 0.7 cannot order the counts of three visitors (an assertion of its own).
    unsafe { local.enter() };
    local.start_with(index, false);
    f(&local)
}

/// What a worker's loop does from the moment it has found nothing: sleeps until there is something.
fn sleep_until_found(local: &Local) {
    loop {
        match local.sleep() {
            Slept::Resumed => {
                let found = local.search();
                if let Some(found) = found {
                    local.end_search(&found);
                    local.run_found(found);
                    return;
                }
            }
            Slept::Leave => unreachable!("nobody closes the pool"),
        }
    }
}

/// Counts its runs.
struct Job(AtomicUsize);

impl Job {
    fn new() -> Arc<Self> {
        Arc::new(Self(AtomicUsize::new(0)))
    }

    unsafe fn run(this: *mut ()) {
        // SAFETY: the models keep their jobs to the end.
        unsafe { &*this.cast::<Self>() }.0.fetch_add(1, Ordering::Relaxed);
    }

    unsafe fn run_queued(this: *const ()) {
        // SAFETY: as above.
        unsafe { Self::run(this.cast_mut().cast()) };
    }

    fn queued(self: &Arc<Self>) -> JobRef {
        // SAFETY: the models keep their jobs to the end.
        unsafe { JobRef::new(Self::run_queued, Arc::as_ptr(self).cast(), std::ptr::null()) }
    }

    fn runs(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// As `join` does: forks `job`; what it gives back is to be joined.
fn fork(local: &Local, job: &Arc<Job>) -> *mut Slot {
    let hot = local.hot();
    let slot = hot.top();
    // SAFETY: the models keep their jobs to the end.
    unsafe { hot.push_at(slot, Job::run, Arc::as_ptr(job).cast_mut().cast()) };
    if hot.is_slow_push(slot) {
        let _ = local.push_slow(slot);
    }
    slot
}

/// The end of the join, for a job that the model wants stolen: a wait for its end.
fn wait_stolen(local: &Local, slot: *mut Slot) {
    // SAFETY: a slot of the own stack.
    let state = unsafe { &*slot };
    while state.announce_wait() {
        local.worker().parker().park();
    }
    assert!(local.hot().pop_is_slow(slot), "a stolen slot is below the bound");
    assert_eq!(local.pop_slow(slot), crate::forks::Popped::Stolen);
    wait_for(local, slot);
}

/// Waits for a slot that was popped and turned out to be stolen, without lending the index.
fn wait_for(local: &Local, slot: *mut Slot) {
    local.worker().stack.stand_above(local.hot(), slot);
    // SAFETY: a slot of the own stack.
    let state = unsafe { &*slot };
    while state.announce_wait() {
        local.worker().parker().park();
    }
    local.worker().stack.reset(local.hot(), slot);
}

/// Answers the request that every worker starts with, so that the race begins without one.
fn calm(local: &Local) {
    let slot = fork(local, &Job::new());
    if local.hot().pop_is_slow(slot) {
        let _ = local.pop_slow(slot);
    }
}

/// Runs both from a common line: `owner` after `prepare`, on one thread; the others on theirs.
fn race(
    sleeper_first: bool,
    pool: &Arc<Pool>,
    owner: impl FnOnce(&Local) + Send + 'static,
    sleepers: Vec<Box<dyn FnOnce() + Send>>,
) {
    let start = |sleepers: Vec<Box<dyn FnOnce() + Send>>| -> Vec<_> {
        sleepers.into_iter().map(thread::spawn).collect()
    };
    if sleeper_first {
        let (ready, go) = (Arc::new(Parker::new()), Arc::new(Parker::new()));
        let (is_ready, may_go, pool) = (ready.clone(), go.clone(), pool.clone());
        let owner = thread::spawn(move || {
            work(&pool, 0, |local| {
                calm(local);
                is_ready.unpark();
                may_go.park();
                owner(local);
            });
        });
        ready.park();
        let mut sleepers = sleepers;
        let first = sleepers.remove(0);
        let others = start(sleepers);
        go.unpark();
        first();
        owner.join().unwrap();
        others.into_iter().for_each(|t| t.join().unwrap());
    } else {
        work(pool, 0, |local| {
            calm(local);
            let others = start(sleepers);
            owner(local);
            others.into_iter().for_each(|t| t.join().unwrap());
        });
    }
}

fn sleeper(pool: &Arc<Pool>, index: u16) -> Box<dyn FnOnce() + Send> {
    let pool = pool.clone();
    Box::new(move || work(&pool, index, sleep_until_found))
}

/// A thread goes to sleep while the owner forks one job and then does nothing but wait for it.
///
/// Bug hunted: the sleeper does not look again (`idle_no_last_look`).
#[test]
fn sleep_against_a_fork() {
    check(3, |first| {
        let (pool, job) = (pool(2), Job::new());
        let forked = job.clone();
        let owner = move |local: &Local| {
            let slot = fork(local, &forked);
            wait_stolen(local, slot);
        };
        race(first, &pool, owner, vec![sleeper(&pool, 1)]);
        assert_eq!(job.runs(), 1);
    });
}

/// The same while the owner answers an older request with a job that it then takes back (E8).
///
/// Bugs hunted: the request comes before the thread is counted (`idle_arm_before_count`), the owner reads the counters
/// before it clears the request (`idle_clear_after_counters`).
#[test]
fn sleep_against_an_answer() {
    check(3, |first| {
        let (pool, job) = (pool(2), Job::new());
        let forked = job.clone();
        let owner = move |local: &Local| {
            let _ = local.worker().stack.arm();
            // Nobody but the sleeper can have it, and then it has had its job.
            let other = Job::new();
            let slot = fork(local, &other);
            if local.hot().pop_is_slow(slot) && local.pop_slow(slot) == crate::forks::Popped::Stolen {
                wait_for(local, slot);
                forked.0.fetch_add(1, Ordering::Relaxed);
                return;
            }
            let slot = fork(local, &forked);
            wait_stolen(local, slot);
        };
        race(first, &pool, owner, vec![sleeper(&pool, 1)]);
        assert_eq!(job.runs(), 1);
    });
}

/// The same with a job from outside (E9).
#[test]
fn sleep_against_an_injected_job() {
    check(3, |first| {
        let (pool, job) = (pool(2), Job::new());
        let queued = job.clone();
        let owner = move |local: &Local| local.pool().inject(queued.queued());
        race(first, &pool, owner, vec![sleeper(&pool, 1)]);
        assert_eq!(job.runs(), 1);
    });
}

/// The same with a job that the owner spawns into its own queue (E9, `idle_spawn_unfenced`).
#[test]
fn sleep_against_a_spawned_job() {
    check(3, |first| {
        let (pool, job) = (pool(2), Job::new());
        let queued = job.clone();
        let over = Arc::new(Parker::new());
        let is_over = over.clone();
        let owner = move |local: &Local| {
            local.spawn(queued.queued());
            // Blocks as any user's code may: a job that only this thread could run is lost then.
            over.park();
        };
        let sleeper = sleeper(&pool, 1);
        let thief = move || {
            sleeper();
            is_over.unpark();
        };
        race(first, &pool, owner, vec![Box::new(thief)]);
        assert_eq!(job.runs(), 1);
    });
}

/// Two threads go to sleep while two jobs come, one after the other.
///
/// Bug hunted: the last searcher finds the first job and wakes nobody for the second, whose maker had relied on it
/// (tokio 4383, `idle_last_searcher_is_silent`).
#[test]
fn two_sleepers_against_two_jobs() {
    check(1, |first| {
        let (pool, jobs) = (pool(3), [Job::new(), Job::new()]);
        let queued = jobs.clone();
        let owner = move |local: &Local| queued.iter().for_each(|job| local.pool().inject(job.queued()));
        race(first, &pool, owner, vec![sleeper(&pool, 1), sleeper(&pool, 2)]);
        assert!(jobs.iter().all(|job| job.runs() == 1));
    });
}

/// Two threads over one index: the first lends it and wants it back, the other runs its job and gives it back. With a third,
/// loom 0.7 fails in an assertion of its own ("this sometimes fails"): that is left to shuttle.
fn permits(first_holds: bool) {
    let (pool, busy) = (pool(1), Arc::new(AtomicBool::new(false)));
    let alone = {
        let busy = busy.clone();
        move || {
            if Local::current().and_then(Local::index).is_some() {
                assert!(!busy.swap(true, Ordering::Relaxed), "two threads run with one index");
                thread::yield_now();
                busy.store(false, Ordering::Relaxed);
            }
        }
    };
    let ran = Arc::new(AtomicUsize::new(0));
    let job = {
        let (alone, ran) = (alone.clone(), ran.clone());
        // SAFETY: it neither unwinds (loom ends the model at once) nor borrows.
        unsafe {
            HeapJob::boxed(
                move || {
                    alone();
                    ran.fetch_add(1, Ordering::Relaxed);
                },
                std::ptr::null(),
            )
        }
    };
    let lender = {
        let pool = pool.clone();
        move || {
            work(&pool, 0, |local| {
                pool.inject(job);
                local.blocking(|| ());
                alone();
                // As a thread whose job is over.
                local.lend(false);
                pool.close();
            });
        }
    };
    let borrower = {
        let pool = pool.clone();
        move || {
            let worker = pool.table().enrol().unwrap();
            pool.guest_comes();
            let local = Local::new(pool.clone(), worker, false);
            // SAFETY: as in `work`.
            unsafe { local.enter() };
            local.run();
        }
    };
    if first_holds {
        let other = thread::spawn(borrower);
        lender();
        other.join().unwrap();
    } else {
        let other = thread::spawn(lender);
        borrower();
        other.join().unwrap();
    }
    assert_eq!(ran.load(Ordering::Relaxed), 1, "the job ran exactly once");
    pool.idle().open().check();
}

/// Bugs hunted: an index with two holders, one that nobody gets, a thread that wants its index for ever.
#[test]
fn lend_and_regain_between_two() {
    check(2, |first| permits(first));
}

/// A driver that makes a job of it when somebody sits down in it to wait.
struct Sat {
    used: heist_sync::atomic::AtomicBool,
    turns: AtomicUsize,
    pool: std::sync::Weak<Pool>,
    job: Arc<Job>,
}

impl Driver for Sat {
    fn turn(&self, patience: Patience) {
        if patience == Patience::None {
            return;
        }
        if self.turns.fetch_add(1, Ordering::Relaxed) == 0 {
            self.pool.upgrade().unwrap().inject(self.job.queued());
        } else {
            // Back in it before it has seen what it was given, as after an early interrupt.
            thread::yield_now();
        }
    }

    fn interrupt(&self) {}

    fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }
}

/// Bug hunted: the first socket is registered while the last thread goes to sleep, and nobody ever sits in the driver
/// (E9, `attend_unannounced`).
#[test]
fn sleep_against_the_first_registration() {
    check(3, |_| {
        let (pool, job) = (pool(1), Job::new());
        let used = heist_sync::atomic::AtomicBool::new(false);
        let driver =
            Arc::new(Sat { used, turns: AtomicUsize::new(0), pool: Arc::downgrade(&pool), job: job.clone() });
        let as_driver: Arc<dyn Driver> = driver.clone();
        assert!(pool.driver_slot().set(as_driver).is_ok());
        let sleeper = thread::spawn(sleeper(&pool, 0));
        driver.used.store(true, Ordering::Relaxed);
        pool.attend();
        sleeper.join().unwrap();
        assert_eq!(job.runs(), 1);
    });
}
