//! Models of going to sleep for loom: the pool's own code on both sides, on real workers without their loop.
//!
//! The last rule of every model: either somebody takes the job, or a thread sleeps beside it for ever, which loom reports as
//! a deadlock.

mod ticks;

use super::find::Found;
use super::park::Slept;
use super::permit::Lends;
use super::{Doing, Role, Worker};
use crate::driver::{Driver, Patience};
use crate::permits::{Count, Counters};
use crate::pool::{Config, Pool};
use crate::queues::forks::{Popped, Slot};
use crate::queues::job::{JobRef, heap_job};
use crate::queues::task::{Header, Place, TaskRef, Vtable};
use crate::signal::{Awaited, Signal};
use heist_os::WokenFor;
use heist_sync::cell::UnsafeCell;
use heist_sync::{Interrupt, Parker, StdArc as Arc, thread};
use loom::model::Builder;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Both starting orders, with a bound on preemptions, or a larger one from `LOOM_MAX_PREEMPTIONS`.
fn check(preemptions: usize, model: impl Fn(bool) + Send + Sync + Copy + 'static) {
    let executions = Arc::new(AtomicUsize::new(0));
    for sleeper_first in [true, false] {
        let mut builder = Builder::new();
        builder.preemption_bound = builder.preemption_bound.max(Some(preemptions));
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
fn pool(permits: usize) -> Arc<Pool> {
    Pool::new(Config { parallelism: permits, foreign_threads: true, ..Config::default() })
}

/// Runs `f` on the calling thread as a worker without a permit.
fn enrol<R>(pool: &Arc<Pool>, f: impl FnOnce(&Worker) -> R) -> R {
    let entry = pool.threads().table().enrol().unwrap();
    pool.threads().guests.fetch_add(1, Ordering::Relaxed);
    let worker = Worker::new(pool.clone(), entry, Role::Holder);
    // SAFETY: `worker` stays in this frame for as long as its thread uses it, and loom's hot blocks stay for ever. Nobody
    // leaves: that is a model of its own, and loom 0.7 cannot order the counts of three visitors (an assertion of its own).
    unsafe { worker.enter(None, false) };
    f(&worker)
}

/// As in the worker's loop.
fn look(worker: &Worker) -> Option<Found<'_>> {
    worker.search.search(&worker.me, &worker.permit, &worker.tasks)
}

fn sleep(worker: &Worker) -> Slept {
    worker.sleep.until_needed(&worker.me, &worker.permit, &worker.tasks, &worker.search)
}

/// Runs `f` on the calling thread as a worker with the permit `index`.
fn work<R>(pool: &Arc<Pool>, index: u16, f: impl FnOnce(&Worker) -> R) -> R {
    enrol(pool, |worker| {
        let got = pool.permits().open().acquire(worker.shared().id(), index);
        assert_eq!(got, Some(index));
        worker.permit.set_index(&worker.me, Some(index));
        f(worker)
    })
}

/// As the loop does.
fn reach_bottom(worker: &Worker) {
    worker.permit.reach_bottom(&worker.me, || worker.sleep.is_resident(&worker.me));
}

/// As a guest that leaves.
fn give_up(worker: &Worker) {
    worker.search.stop(&worker.me, true);
    worker.permit.give_up(&worker.me);
}

/// What a worker's loop does from the moment it has found nothing: sleeps until there is something.
fn sleep_until_found(worker: &Worker) {
    loop {
        assert_ne!(sleep(worker), Slept::Leave, "nobody closes the pool");
        if let Some(found) = look(worker) {
            return worker.run_found(found);
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
fn fork(worker: &Worker, job: &Arc<Job>) -> *mut Slot {
    let hot = worker.me.hot;
    let slot = hot.head();
    // SAFETY: the models keep their jobs to the end.
    unsafe { hot.push_at(slot, Job::run, Arc::as_ptr(job).cast_mut().cast()) };
    if hot.is_slow_push(slot) {
        // SAFETY: it was pushed last, and has found its bound.
        let _ = unsafe { worker.push_slow(slot) };
    }
    slot
}

/// As the end of `join`: what became of the job that was forked last.
fn pop(worker: &Worker, slot: *mut Slot) -> Popped {
    // SAFETY: it was pushed last.
    if !unsafe { worker.me.hot.pop_is_slow(slot) } {
        return Popped::Mine;
    }
    // SAFETY: it was popped last, and has found its bound.
    unsafe { worker.pop_slow(slot) }
}

/// The end of the join, for a job that the model wants stolen: a wait for its end.
fn wait_stolen(worker: &Worker, slot: *mut Slot) {
    while worker.shared().stack.slot_of(slot).announce_wait() {
        worker.shared().parker().park();
    }
    assert_eq!(pop(worker, slot), Popped::Stolen);
    wait_for(worker, slot);
}

/// Waits for a slot that was popped and turned out to be stolen, without lending the permit.
fn wait_for(worker: &Worker, slot: *mut Slot) {
    let stack = &worker.shared().stack;
    // SAFETY: popped last, and stolen.
    unsafe { stack.stand_above(worker.me.hot, slot) };
    while stack.slot_of(slot).announce_wait() {
        worker.shared().parker().park();
    }
    // SAFETY: as above, and it is done.
    unsafe { stack.reset(worker.me.hot, slot) };
}

/// Answers the request that every worker starts with, so that the race begins without one.
fn calm(worker: &Worker) {
    let slot = fork(worker, &Job::new());
    let _ = pop(worker, slot);
}

/// Runs both from a common line: `owner` after `prepare`, on one thread; the others on theirs.
fn race(
    sleeper_first: bool,
    pool: &Arc<Pool>,
    owner: impl FnOnce(&Worker) + Send + 'static,
    sleepers: Vec<Box<dyn FnOnce() + Send>>,
) {
    let start = |sleepers: Vec<Box<dyn FnOnce() + Send>>| -> Vec<_> {
        sleepers.into_iter().map(thread::spawn).collect()
    };
    if sleeper_first {
        let (ready, go) = (Arc::new(Parker::new()), Arc::new(Parker::new()));
        let (is_ready, may_go, pool) = (ready.clone(), go.clone(), pool.clone());
        let owner = thread::spawn(move || {
            work(&pool, 0, |worker| {
                calm(worker);
                is_ready.unpark();
                may_go.park();
                owner(worker);
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
        work(pool, 0, |worker| {
            calm(worker);
            let others = start(sleepers);
            owner(worker);
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
        let owner = move |worker: &Worker| {
            let slot = fork(worker, &forked);
            wait_stolen(worker, slot);
        };
        race(first, &pool, owner, vec![sleeper(&pool, 1)]);
        assert_eq!(job.runs(), 1);
    });
}

/// The same while the owner answers an older request with a job that it then takes back (FORK-E8).
///
/// Bugs hunted: the request comes before the thread is counted (`idle_arm_before_count`), the owner reads the counters
/// before it clears the request (`idle_clear_after_counters`).
#[test]
fn sleep_against_an_answer() {
    check(2, |first| {
        let (pool, job) = (pool(2), Job::new());
        let forked = job.clone();
        let owner = move |worker: &Worker| {
            let _ = worker.shared().stack.arm();
            // Nobody but the sleeper can have it, and then it has had its job.
            let other = Job::new();
            let slot = fork(worker, &other);
            if pop(worker, slot) == Popped::Stolen {
                wait_for(worker, slot);
                forked.0.fetch_add(1, Ordering::Relaxed);
                return;
            }
            let slot = fork(worker, &forked);
            wait_stolen(worker, slot);
        };
        race(first, &pool, owner, vec![sleeper(&pool, 1)]);
        assert_eq!(job.runs(), 1);
    });
}

/// The same with a job from outside (PERMIT-E3).
#[test]
fn sleep_against_an_injected_job() {
    check(3, |first| {
        let (pool, job) = (pool(2), Job::new());
        let queued = job.clone();
        let owner = move |worker: &Worker| worker.pool().inject(queued.queued());
        race(first, &pool, owner, vec![sleeper(&pool, 1)]);
        assert_eq!(job.runs(), 1);
    });
}

/// The same with a job that the owner spawns into its own queue (PERMIT-E3, `idle_spawn_unfenced`).
#[test]
fn sleep_against_a_spawned_job() {
    check(2, |first| {
        let (pool, job) = (pool(2), Job::new());
        let queued = job.clone();
        let over = Arc::new(Parker::new());
        let is_over = over.clone();
        let owner = move |worker: &Worker| {
            worker.spawn(queued.queued());
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

/// A searcher finds a job from outside, which forks, while the other thread goes to sleep and relies on the search.
///
/// Bug hunted: the searcher is alone and finds nothing else, so it wakes nobody; and it does not ask itself to look for sleepers when it forks
/// (`idle_finder_asks_nobody`).
#[test]
fn a_finder_that_forks_against_a_sleeper() {
    check(2, |first| {
        let (pool, job, outside) = (pool(2), Job::new(), Job::new());
        let (forked, queued) = (job.clone(), outside.clone());
        let owner = move |worker: &Worker| {
            worker.search.set_on(worker.pool().permits().try_search(2));
            worker.pool().inject(queued.queued());
            let Some(found) = look(worker) else {
                // The other has found it.
                forked.0.fetch_add(1, Ordering::Relaxed);
                return;
            };
            worker.run_found(found);
            let slot = fork(worker, &forked);
            wait_stolen(worker, slot);
        };
        race(first, &pool, owner, vec![sleeper(&pool, 1)]);
        assert_eq!((job.runs(), outside.runs()), (1, 1));
    });
}

/// A guest with the permit 0 queues `job` and leaves, while `sleeper` goes to sleep.
fn a_guest_leaves(sleeper_first: bool, pool: &Arc<Pool>, job: &Arc<Job>, sleeper: Box<dyn FnOnce() + Send>) {
    let (pool, queued) = (pool.clone(), job.clone());
    let guest = move || {
        let entry = pool.threads().table().enrol().unwrap();
        let mut open = pool.permits().open();
        assert_eq!(open.acquire(entry.shared.id(), 0), Some(0));
        pool.threads().count_guest(&open);
        drop(open);
        let worker = Worker::new(pool.clone(), entry, Role::Guest);
        // SAFETY: as in `enrol`.
        unsafe { worker.enter(Some(0), false) };
        pool.inject(queued.queued());
        worker.permit.give_up(&worker.me);
    };
    if sleeper_first {
        let guest = thread::spawn(guest);
        sleeper();
        guest.join().unwrap();
    } else {
        let sleeper = thread::spawn(sleeper);
        guest();
        sleeper.join().unwrap();
    }
    assert_eq!(job.runs(), 1);
}

/// A thread goes to sleep while a guest queues something and leaves: one of the two sees to it, also if the guest does not look.
#[test]
fn a_guest_that_leaves_against_a_sleeper() {
    check(3, |first| {
        let pool = pool(2);
        a_guest_leaves(first, &pool, &Job::new(), sleeper(&pool, 1));
    });
}

/// The same while the other permit is in use, so that what the guest queues is announced to nobody.
///
/// Bug hunted: the guest leaves as if all others slept (`idle_guest_never_looks`).
#[test]
fn a_guest_that_leaves_beside_a_busy_thread() {
    check(3, |first| {
        let pool = pool(2);
        let busy = pool.threads().table().enrol().unwrap();
        assert_eq!(pool.permits().open().acquire(busy.shared.id(), 1), Some(1));
        pool.threads().guests.fetch_add(1, Ordering::Relaxed);
        let sleeper = {
            let pool = pool.clone();
            move || enrol(&pool, sleep_until_found)
        };
        a_guest_leaves(first, &pool, &Job::new(), Box::new(sleeper));
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
        let owner = move |worker: &Worker| queued.iter().for_each(|job| worker.pool().inject(job.queued()));
        race(first, &pool, owner, vec![sleeper(&pool, 1), sleeper(&pool, 2)]);
        assert!(jobs.iter().all(|job| job.runs() == 1));
    });
}

/// A thread goes to sleep while another searches, and is sent a job that only it may run. The searcher finds nothing.
///
/// Bug hunted: the sleeper relies on the searcher, which may not have that job and goes to sleep too (`idle_broadcast_left`).
#[test]
fn a_broadcast_to_a_sleeper_against_the_last_searcher() {
    check(1, |first| {
        let (pool, jobs) = (pool(3), [Job::new(), Job::new()]);
        let searcher = {
            let pool = pool.clone();
            move || {
                work(&pool, 2, |worker| {
                    worker.search.set_on(pool.permits().try_search(3));
                    sleep_until_found(worker);
                });
            }
        };
        let (sent, ran) = (jobs.clone(), Arc::new(Parker::new()));
        let (told, sleeper) = (ran.clone(), sleeper(&pool, 1));
        let sleeper = move || {
            sleeper();
            told.unpark();
        };
        let owner = move |worker: &Worker| {
            worker.pool().inject_for(1, sent[0].queued());
            ran.park();
            worker.pool().inject_for(2, sent[1].queued());
        };
        race(first, &pool, owner, vec![Box::new(sleeper), Box::new(searcher)]);
        assert!(jobs.iter().all(|job| job.runs() == 1));
    });
}

/// What a program keeps for an index. loom complains if two threads are in it with nothing between them.
struct Scratch(UnsafeCell<usize>);

// SAFETY: loom checks every access.
unsafe impl Sync for Scratch {}

impl Scratch {
    fn new() -> Arc<Self> {
        Arc::new(Self(UnsafeCell::new(0)))
    }

    fn touch(&self) {
        // SAFETY: loom checks it.
        self.0.with_mut(|p| unsafe { *p += 1 });
    }
}

/// A job that asks for its index, if `asks`, and uses it.
fn user(scratch: &Arc<Scratch>, ran: &Arc<AtomicUsize>, asks: bool) -> JobRef {
    let (scratch, ran) = (scratch.clone(), ran.clone());
    let run = move || {
        if asks {
            let worker = Worker::current().unwrap();
            assert_eq!(worker.index(), Some(0), "a job has an index");
            scratch.touch();
            thread::yield_now();
            scratch.touch();
        }
        ran.fetch_add(1, Ordering::Relaxed);
    };
    // SAFETY: it neither unwinds (loom ends the model at once) nor borrows.
    unsafe { heap_job(run, std::ptr::null()) }
}

/// What a job of a model asks for.
#[derive(Clone, Copy, PartialEq)]
enum Asks {
    Nobody,
    /// The job on the lender's stack, for the first time when its wait is over.
    LenderLate,
    /// The job on the lender's stack, before it lends and after.
    Lender,
    /// The job that the borrower runs.
    Borrower,
    Both,
}

/// Two threads over one permit: the first lends it and wants it back, the other runs its job and gives it back. With a third,
/// loom 0.7 fails in an assertion of its own ("this sometimes fails"): that is left to shuttle.
fn lend_and_resume(lender_first: bool, asks: Asks) {
    let (pool, scratch) = (pool(1), Scratch::new());
    let ran = Arc::new(AtomicUsize::new(0));
    let job = user(&scratch, &ran, matches!(asks, Asks::Borrower | Asks::Both));
    let lender = {
        let (pool, scratch) = (pool.clone(), scratch.clone());
        let before = matches!(asks, Asks::Lender | Asks::Both);
        let after = before || asks == Asks::LenderLate;
        move || {
            work(&pool, 0, |worker| {
                worker.shared().set_doing(Doing::Job);
                let touch = |asks: bool| {
                    if asks {
                        assert_eq!(worker.index(), Some(0), "the same before and after a wait");
                        scratch.touch();
                    }
                };
                touch(before);
                pool.inject(job);
                worker.blocking(|| assert_eq!(worker.index(), None));
                touch(after);
                touch(after);
                worker.shared().set_doing(Doing::Loop);
                give_up(worker);
                pool.threads().guests.fetch_sub(1, Ordering::Relaxed);
                pool.close();
            });
        }
    };
    let borrower = {
        let pool = pool.clone();
        move || enrol(&pool, Worker::run)
    };
    if lender_first {
        let other = thread::spawn(borrower);
        lender();
        other.join().unwrap();
    } else {
        let other = thread::spawn(lender);
        borrower();
        other.join().unwrap();
    }
    assert_eq!(ran.load(Ordering::Relaxed), 1, "the job ran exactly once");
    assert_eq!(pool.permits().counters(), Counters::new(1), "all permits are free, and nobody searches");
    pool.permits().open().check();
}

/// Bugs hunted: a permit with two holders, one that nobody gets, a thread that wants one for ever; a job that goes on after a wait
/// and does not, because its permit is in use.
#[test]
fn lend_and_resume_unobserved() {
    check(2, |first| lend_and_resume(first, Asks::Nobody));
}

/// Bug hunted: the same, and an index that its lender has observed is used by somebody else when the wait is over (PERMIT-E1).
#[test]
fn lend_and_resume_observed_by_the_lender() {
    check(2, |first| lend_and_resume(first, Asks::Lender));
}

/// Bug hunted: a thread that goes on without a permit, asks for its index, and never gets one, or shares it (PERMIT-E2).
#[test]
fn lend_and_resume_observed_late() {
    check(2, |first| lend_and_resume(first, Asks::LenderLate));
}

#[test]
fn lend_and_resume_observed_by_the_borrower() {
    check(2, |first| lend_and_resume(first, Asks::Borrower));
}

/// Bugs hunted: as above, and a lender that is never given what it waits for (PERMIT-E2).
#[test]
fn lend_and_resume_observed_by_both() {
    check(2, |first| lend_and_resume(first, Asks::Both));
}

/// The end of a wait races with work that comes from outside, for which no other thread can be had: the waiter is granted the
/// permit that it has lent, to help with.
fn help_against_the_end(waiter_first: bool, observes: bool) {
    let (pool, job) = (pool(1), Job::new());
    let signal = Arc::new(std::sync::OnceLock::<Signal>::new());
    let (ready, asleep) = (Arc::new(Parker::new()), Arc::new(Parker::new()));
    let waiter = {
        let (pool, signal, job) = (pool.clone(), signal.clone(), job.clone());
        let (ready, asleep) = (ready.clone(), asleep.clone());
        move || {
            work(&pool, 0, |worker| {
                worker.shared().set_doing(Doing::Job);
                if observes {
                    assert_eq!(worker.index(), Some(0));
                }
                assert!(signal.set(Signal::new(worker.shared().parker().clone())).is_ok());
                ready.unpark();
                asleep.park();
                // As `Worker::wait` when it has spun for long enough.
                let signal = signal.get().unwrap();
                if signal.announce_wait() {
                    worker.sleep_until(signal);
                }
                assert!(signal.is_over());
                if observes {
                    assert_eq!(worker.index(), Some(0), "the same before and after a wait");
                }
                worker.shared().set_doing(Doing::Loop);
                reach_bottom(worker);
                // What it was granted the permit for, and has left, is still there.
                while job.runs() == 0 {
                    if let Some(found) = look(worker) {
                        worker.run_found(found);
                    }
                }
                give_up(worker);
            });
        }
    };
    let outside = {
        let (pool, job, signal) = (pool.clone(), job.clone(), signal.clone());
        move || {
            ready.park();
            asleep.unpark();
            pool.inject(job.queued());
            // SAFETY: the model keeps it to the end.
            unsafe { Signal::set(signal.get().unwrap()) };
        }
    };
    if waiter_first {
        let other = thread::spawn(outside);
        waiter();
        other.join().unwrap();
    } else {
        let other = thread::spawn(waiter);
        outside();
        other.join().unwrap();
    }
    assert_eq!(job.runs(), 1);
    assert_eq!(pool.permits().counters(), Counters::new(1), "all permits are free, and nobody searches");
    pool.permits().open().check();
}

/// Bugs hunted: a lender that is granted a permit at the very moment its wait ends forgets it (`permit_grant_forgotten`), or stays
/// counted as a searcher for good (`permit_grant_search_kept`): then no announcement ever wakes anybody again.
#[test]
fn a_grant_to_help_against_the_end_of_the_wait() {
    check(3, |first| help_against_the_end(first, false));
}

#[test]
fn a_grant_to_help_against_the_end_of_an_observed_wait() {
    check(3, |first| help_against_the_end(first, true));
}

/// A lender that has observed its index helps, and what it runs there waits and goes on with another permit; that one it lends in
/// turn, and is granted it again when its wait ends. One thread: the order of things is the model.
///
/// Bug hunted: it goes on with the permit that it was granted last instead of the index that it has observed
/// (`permit_granted_is_kept`).
#[test]
fn a_grant_of_another_permit_against_the_end_of_an_observed_wait() {
    check(1, |_| {
        const OTHER: u16 = 7;
        // Where thread and permit are one, nobody goes on with another permit.
        let pool = Pool::new(Config { parallelism: 2, ..Config::default() });
        // As if somebody else searched: so no thread is woken, or started.
        assert!(pool.permits().try_search(2));
        work(&pool, 0, |worker| {
            let grant = |index: u16| {
                let mut open = pool.permits().open();
                let wake = open.wake(Some(index), false, |_| index);
                let crate::permits::Wake::Grant(grant) = wake else { unreachable!("a lender can be had") };
                open.count(Count::Searching);
                open.grant(pool.threads().table(), grant, heist_os::WokenFor::Job);
            };
            assert_eq!(worker.index(), Some(0));
            let lent = worker.permit.lend(&worker.me, Lends::Asleep);
            grant(0);
            assert!(worker.permit.take_granted_to_help(&worker.me));
            worker.permit.help(|| {
                pool.permits().pass_search_on(&pool);
                worker.blocking(|| {
                    assert_eq!(pool.permits().open().acquire(OTHER, 0), Some(0));
                });
                assert_eq!(worker.permit.index(), Some(1));
            });
            assert_eq!(worker.permit.lend(&worker.me, Lends::Asleep), Some(1));
            grant(1);
            worker.permit.resume(&worker.me, lent);
            assert_eq!(worker.index(), Some(0), "the same before and after a wait");
            let words = pool.permits().words();
            assert!(words.get(0).is_by(worker.shared().id()), "taken from who has not observed it");
            assert_eq!(words.get(1).thread(), None, "nobody needs it");
            pool.permits().open().check();
            reach_bottom(worker);
            give_up(worker);
            pool.permits().end_search();
            assert_eq!(pool.permits().counters(), Counters::new(2));
        });
    });
}

/// A task that counts its polls, and tells somebody.
#[repr(C)]
struct Task {
    header: Header,
    polls: AtomicUsize,
    told: Parker,
}

// SAFETY: the header is a constant to the models, and the rest is for sharing.
unsafe impl Send for Task {}
// SAFETY: as above.
unsafe impl Sync for Task {}

static VTABLE: Vtable = Vtable { run: poll, name: |_| 0, ready_ns: |_| None };

unsafe fn poll(header: NonNull<Header>) {
    // SAFETY: the header is the first field of a `Task`, kept by the model.
    let task = unsafe { header.cast::<Task>().as_ref() };
    task.polls.fetch_add(1, Ordering::Relaxed);
    task.told.unpark();
}

impl Task {
    fn new() -> Arc<Self> {
        Arc::new(Self { header: Header::new(&VTABLE), polls: AtomicUsize::new(0), told: Parker::new() })
    }

    fn ready(self: &Arc<Self>) -> TaskRef {
        // SAFETY: the models keep their tasks to the end, and queue each once.
        unsafe { TaskRef::from_raw(NonNull::from(&self.header)) }
    }

    fn polls(&self) -> usize {
        self.polls.load(Ordering::Relaxed)
    }
}

/// What the loop of a thread without a permit does once it has become an overtaker: runs tasks until there are none, and sleeps.
fn overtake(worker: &Worker, until: impl Fn() -> bool) {
    worker.pool().permits().open().count(Count::Overtaking);
    worker.permit.set_role(&worker.me, Role::Overtaker);
    while !until() {
        assert_ne!(sleep(worker), Slept::Leave, "nobody closes the pool");
        reach_bottom(worker);
        while let Some(found) = worker.search.find_without_permit(&worker.me, &worker.permit, &worker.tasks) {
            worker.run_found(found);
        }
    }
}

/// A thread that runs tasks without a permit goes to sleep, while the only holder of one computes and a task comes from outside.
///
/// Bugs hunted: the one who queues the task sees that somebody runs tasks, and that one does not look again
/// (`overtaker_no_last_look`), or looks before it says that it sleeps (`overtaker_uncounted_too_late`) (PERMIT-E3). There is no
/// monitor in a model: the task is taken without it.
#[test]
fn an_overtaker_that_sleeps_against_a_task() {
    check(3, |first| {
        let (pool, task) = (pool(1), Task::new());
        let (ready, computing) = (Arc::new(Parker::new()), Arc::new(Parker::new()));
        let overtaker = {
            let (pool, task) = (pool.clone(), task.clone());
            move || enrol(&pool, |worker| overtake(worker, || task.polls() > 0))
        };
        let outside = {
            let (pool, task) = (pool.clone(), task.clone());
            move || {
                pool.schedule(task.ready(), Place::Last);
                task.told.park();
            }
        };
        // The holder's own thread has nothing to do with the race: it computes.
        let holder = {
            let (pool, ready, computing) = (pool.clone(), ready.clone(), computing.clone());
            thread::spawn(move || {
                work(&pool, 0, |worker| {
                    worker.shared().set_doing(Doing::Job);
                    ready.unpark();
                    computing.park();
                });
            })
        };
        ready.park();
        if first {
            let other = thread::spawn(outside);
            overtaker();
            other.join().unwrap();
        } else {
            let other = thread::spawn(overtaker);
            outside();
            other.join().unwrap();
        }
        computing.unpark();
        holder.join().unwrap();
        assert_eq!(task.polls(), 1);
    });
}

/// A searcher, on whose search the maker of a task relies, gives up and goes to sleep, while a thread that ran tasks without a permit takes the
/// one that has become free, and blocks.
///
/// Bug hunted: the searcher sees the task and has no permit for it, and leaves it to a thread that does not get to it
/// (`overtaker_no_last_look`).
#[test]
fn a_searcher_that_sleeps_against_an_overtaker_that_blocks() {
    check(2, |first| {
        let (pool, task, monitor) = (pool(1), Task::new(), Arc::new(Parker::new()));
        assert!(pool.watched().stands_in.set(monitor.clone()).is_ok());
        let (searches, is_ready) = (Arc::new(Parker::new()), Arc::new(Parker::new()));
        let searcher = {
            let (pool, task, searches, is_ready) =
                (pool.clone(), task.clone(), searches.clone(), is_ready.clone());
            move || {
                work(&pool, 0, |worker| {
                    worker.search.set_on(pool.permits().try_search(1));
                    searches.unpark();
                    is_ready.park();
                    while task.polls() == 0 {
                        assert_ne!(sleep(worker), Slept::Leave, "nobody closes the pool");
                        reach_bottom(worker);
                        if let Some(found) = look(worker) {
                            worker.run_found(found);
                        }
                    }
                });
            }
        };
        let overtaker = {
            let (pool, task) = (pool.clone(), task.clone());
            move || {
                enrol(&pool, |worker| {
                    searches.park();
                    pool.permits().open().count(Count::Overtaking);
                    worker.permit.set_role(&worker.me, Role::Overtaker);
                    is_ready.unpark();
                    pool.schedule(task.ready(), Place::Last);
                    reach_bottom(worker);
                    if worker.permit.index().is_some() {
                        // It blocks. The monitor takes its permit, and wakes somebody for it.
                        monitor.park();
                        give_up(worker);
                        pool.permits().announce(&pool, WokenFor::Task);
                    } else {
                        pool.permits().end_overtaking();
                    }
                });
            }
        };
        if first {
            let other = thread::spawn(overtaker);
            searcher();
            other.join().unwrap();
        } else {
            let other = thread::spawn(searcher);
            overtaker();
            other.join().unwrap();
        }
        assert_eq!(task.polls(), 1);
    });
}

/// A driver that calls somebody when a thread waits in it for the first time; only an interrupt ends that wait and later ones.
struct Sat {
    used: heist_sync::atomic::AtomicBool,
    interrupted: Parker,
    turns: AtomicUsize,
    news: Box<dyn Fn() + Send + Sync>,
}

impl Sat {
    fn new(used: bool, news: impl Fn() + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            used: heist_sync::atomic::AtomicBool::new(used),
            interrupted: Parker::new(),
            turns: AtomicUsize::new(0),
            news: Box::new(news),
        })
    }

    fn install(self: &Arc<Self>, pool: &Pool) {
        assert!(pool.driver().slot().set(self.clone()).is_ok());
    }
}

impl Interrupt for Sat {
    fn interrupt(&self) {
        self.interrupted.unpark();
    }
}

impl Driver for Sat {
    fn turn(&self, patience: Patience) {
        if patience == Patience::None {
            return;
        }
        if self.turns.fetch_add(1, Ordering::Relaxed) == 0 {
            (self.news)();
        } else {
            self.interrupted.park();
        }
    }

    fn is_used(&self, _: bool) -> bool {
        self.used.load(std::sync::atomic::Ordering::Relaxed)
    }
}

/// Bug hunted: the first socket is registered while the last thread goes to sleep, and nobody ever sits in the driver
/// (PERMIT-E3, `driver_unannounced`).
#[test]
fn sleep_against_the_first_registration() {
    check(3, |_| {
        let (pool, job) = (pool(1), Job::new());
        let weak = Arc::downgrade(&pool);
        let driver = Sat::new(false, {
            let job = job.clone();
            move || weak.upgrade().unwrap().inject(job.queued())
        });
        driver.install(&pool);
        let sleeper = thread::spawn(sleeper(&pool, 0));
        driver.used.store(true, Ordering::Relaxed);
        pool.driver_waiter().attend();
        sleeper.join().unwrap();
        assert_eq!(job.runs(), 1);
    });
}

/// A thread that sleeps in the driver finds a task there, while another gives it a permit for a job.
///
/// Bugs hunted: it takes a permit of its own beside the one that it was given, or stays in the driver beside it; then the job, the
/// task or the count of searchers is lost.
#[test]
fn a_task_from_the_driver_against_a_job() {
    check(3, |first| {
        let (pool, job, task) = (pool(1), Job::new(), Task::new());
        let driver = Sat::new(true, {
            let task = task.clone();
            // On the thread that sits there.
            move || Worker::current().unwrap().schedule(task.ready(), Place::Last)
        });
        driver.install(&pool);
        let sleeper = {
            let (pool, job, task) = (pool.clone(), job.clone(), task.clone());
            move || {
                work(&pool, 0, |worker| {
                    while job.runs() + task.polls() < 2 {
                        reach_bottom(worker);
                        match look(worker) {
                            Some(found) => worker.run_found(found),
                            None => assert_ne!(sleep(worker), Slept::Leave, "nobody closes the pool"),
                        }
                    }
                    give_up(worker);
                });
            }
        };
        let outside = {
            let (pool, job) = (pool.clone(), job.clone());
            move || pool.inject(job.queued())
        };
        if first {
            let other = thread::spawn(outside);
            sleeper();
            other.join().unwrap();
        } else {
            let other = thread::spawn(sleeper);
            outside();
            other.join().unwrap();
        }
        assert_eq!((job.runs(), task.polls()), (1, 1));
        assert_eq!(pool.permits().counters(), Counters::new(1), "all permits are free, and nobody searches");
    });
}

/// A task that forks a job for another thread to take.
#[repr(C)]
struct ForkingTask {
    header: Header,
    job: Arc<Job>,
}

// SAFETY: the header is a constant to the models, and the job is for sharing.
unsafe impl Send for ForkingTask {}
// SAFETY: as above.
unsafe impl Sync for ForkingTask {}

static FORKING: Vtable = Vtable { run: poll_forking, name: |_| 0, ready_ns: |_| None };

unsafe fn poll_forking(header: NonNull<Header>) {
    // SAFETY: the header is the first field of a `ForkingTask`, kept by the model.
    let task = unsafe { header.cast::<ForkingTask>().as_ref() };
    let worker = Worker::current().unwrap();
    // This answers a request, if there is one. Nobody but the other thread can have it, and then that has had its job.
    let before = Job::new();
    let slot = fork(worker, &before);
    if pop(worker, slot) == Popped::Stolen {
        wait_for(worker, slot);
        task.job.0.fetch_add(1, Ordering::Relaxed);
        return;
    }
    let slot = fork(worker, &task.job);
    wait_stolen(worker, slot);
}

/// A thread that sleeps in the driver finds a task there and rises, while another one, which has searched, falls asleep. Whichever of them
/// runs the task forks, and waits for the other.
///
/// Bugs hunted: all slept, so the other has asked nobody; and the one that rises does not ask itself (`idle_riser_asks_nobody`), or has
/// risen and answered its own request while the other still counted as a searcher, which goes to sleep as if it were alone
/// (`idle_alone_is_believed`).
#[test]
fn a_riser_that_forks_against_a_sleeper() {
    check(2, |first| {
        let (pool, job) = (pool(2), Job::new());
        let task = Arc::new(ForkingTask { header: Header::new(&FORKING), job: job.clone() });
        let news = Arc::new(Parker::new());
        let come = news.clone();
        let driver = Sat::new(true, move || {
            come.park();
            // SAFETY: the driver keeps the task, and queues it once.
            let task = unsafe { TaskRef::from_raw(NonNull::from(&task.header)) };
            Worker::current().unwrap().schedule(task, Place::Last);
        });
        driver.install(&pool);
        let searcher = {
            let pool = pool.clone();
            move || {
                work(&pool, 1, |worker| {
                    worker.search.set_on(pool.permits().try_search(2));
                    news.unpark();
                    sleep_until_found(worker);
                });
            }
        };
        race(first, &pool, sleep_until_found, vec![Box::new(searcher)]);
        assert_eq!(job.runs(), 1);
    });
}
