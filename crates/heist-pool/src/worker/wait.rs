//! Waiting: run what the wait itself needs, spin a little, then lend the permit and sleep. A stranger's job only where no spare thread
//! can be had.

use super::Worker;
use super::find::{Found, Unanswered, What};
use super::shared::{Doing, Role};
use crate::permits::Count;
use crate::queues::forks::{Care, Look, Slot};
use crate::queues::job::JobRef;
use crate::signal::Awaited;
use heist_os::WokenFor;
use heist_policy::{self as policy, WaitStep, WaitView, tuning};
use heist_sync::atomic::{Ordering, fence};
use heist_sync::clock::Instant;
use heist_sync::planted::is_planted;
use heist_sync::thread;
use heist_trace::Kind;
use std::cell::{Cell, RefCell};

/// What a waiter may run.
pub trait Own {
    /// Runs one job that the wait needs. False if there is none now.
    fn run_one(&self, worker: &Worker) -> bool;

    /// As `run_one`, before the waiter sleeps: by force, if it has to be.
    fn run_last(&self, worker: &Worker) -> bool {
        self.run_one(worker)
    }
}

/// Nothing: the wait is for another pool or the outside.
impl Own for () {
    fn run_one(&self, _: &Worker) -> bool {
        false
    }
}

/// The other half of a fork, which a thief has: what the thief has forked for it is taken back.
struct StolenHalf<'a> {
    slot: &'a Slot,
    round: Cell<u32>,
    unanswered: RefCell<Unanswered>,
}

impl StolenHalf<'_> {
    /// Takes something back. `may_force`: whether the thief, which has more and does not share it, is to be forced.
    fn run_back(&self, worker: &Worker, care: Care, may_force: impl Fn(u16) -> bool) -> bool {
        let Some((thief, floor)) = self.slot.state().thief() else { return false };
        let Some(victim) = worker.pool.threads().table().get(thief.into()) else { return false };
        loop {
            match victim.stack.steal_back(care, floor, || !self.slot.state().is_done()) {
                Look::Claimed(job) => {
                    worker.trace(Kind::Steal, u32::from(thief));
                    worker.run_found(Found::Fork { job, victim });
                    return true;
                }
                Look::Asked if may_force(thief) && victim.stack.force() => {}
                Look::Lost | Look::Asked | Look::Nothing => return false,
            }
        }
    }
}

impl Own for StolenHalf<'_> {
    fn run_one(&self, worker: &Worker) -> bool {
        let care = Care::in_round(self.round.get());
        self.round.set(self.round.get().wrapping_add(1));
        // The thief is inside of a long leaf. Its forks are ours to run.
        self.run_back(worker, care, |thief| self.unanswered.borrow_mut().is_due(thief))
    }

    fn run_last(&self, worker: &Worker) -> bool {
        // It may be off its core, or we were: then time has passed, but nobody could answer.
        self.run_back(worker, Care::Full, |_| true)
    }
}

/// The jobs of one owner (a scope) that this thread spawned since the owner began, at `since` in its queue.
pub struct Spawned {
    /// The owner's address.
    pub owner: *const (),
    /// The queue's position when it began.
    pub since: u64,
}

impl Own for Spawned {
    fn run_one(&self, worker: &Worker) -> bool {
        while let Some(job) = worker.spawned.pop_above(self.since) {
            if job.owner() == self.owner {
                worker.run_found(Found::Job(job));
                return true;
            }
            // A stranger on top of ours: set aside, where anybody can take it.
            worker.pool.inject(job);
        }
        false
    }
}

impl Worker {
    /// Waits until `target` is over. Runs only `own` meanwhile.
    pub fn wait(&self, target: &impl Awaited, own: &impl Own) {
        let mut idle_since: Option<Instant> = None;
        loop {
            if target.is_over() {
                return;
            }
            if own.run_one(self) {
                idle_since = None;
                continue;
            }
            let spun_ns = idle_since.get_or_insert_with(Instant::now).elapsed().as_nanos() as u64;
            match policy::wait_step(WaitView { spun_ns }) {
                WaitStep::Spin => thread::yield_now(),
                WaitStep::Lend if own.run_last(self) => idle_since = None,
                WaitStep::Lend => {
                    if target.announce_wait() {
                        self.sleep_until(target);
                    }
                }
            }
        }
    }

    /// Sleeps until `target` is over, and meanwhile lets another thread have the permit. The caller has announced the wait.
    pub(super) fn sleep_until(&self, target: &impl Awaited) {
        self.trace(Kind::Block, 0);
        let doing = self.shared.set_doing(Doing::Wait);
        let may_help = self.permit.helping() < tuning::HELP_DEPTH_MOST;
        let lent = self.lend(may_help);
        while !target.is_over() {
            // LIVENESS(W1): the wait was announced; who ends it unparks us, here or in the driver. Other unparks grant us a permit
            // to help with, where no other thread can be had. Nor is there one then to sit in the driver.
            if self.pool.threads().may_start(&self.pool) || !self.park_in_driver() {
                self.shared.parker().park();
            } else {
                self.hand_in_tasks();
            }
            if self.permit.is_helper()
                && let Some(index) = self.shared.take_granted()
            {
                self.shared.affinity.after_wake();
                self.set_index(Some(index));
                self.search.is_on.set(true);
                self.pool.warn_no_spare();
                self.permit.help(|| self.help_anyone(target));
                let _ = self.lend(true);
            }
        }
        self.shared.set_doing(doing);
        self.resume(lent);
        self.trace(Kind::Unblock, 0);
    }

    /// While another thread cannot be had: runs whatever there is, as rayon's waits do.
    fn help_anyone(&self, target: &impl Awaited) {
        while !target.is_over() && !self.is_recalled() {
            let Some(found) = self.search() else { break };
            self.end_search(&found);
            self.run_stranger(found);
        }
        if self.search.is_on.replace(false) {
            // The wake that brought us here was for work that we leave to others, or there was none.
            if target.is_over() {
                self.pass_search_on();
            } else {
                self.pool.permits().end_search();
            }
        }
    }

    /// Waits for the half in `slot`, which was popped and turned out to be stolen, and frees the slot.
    ///
    /// # Safety
    /// `slot` was popped last on this thread, and the pop said that it is stolen.
    #[cold]
    pub unsafe fn wait_stolen(&self, slot: *mut Slot) {
        let stack = &self.shared.stack;
        // SAFETY: by the caller.
        unsafe { stack.stand_above(self.hot, slot) };
        let target = stack.slot_of(slot);
        self.wait(target, &StolenHalf { slot: target, round: Cell::new(0), unanswered: RefCell::default() });
        // SAFETY: by the caller, and it is done.
        unsafe { stack.reset(self.hot, slot) };
    }

    /// Puts a job into the own queue and tells whoever sleeps. Without a permit this thread will not get to a detached one.
    pub fn spawn(&self, job: JobRef) {
        if self.permit.is_without() && job.owner().is_null() {
            return self.pool.inject(job);
        }
        self.spawned.push(job);
        // ORDERING(PERMIT-E3): as in `Pool::announce`.
        if !is_planted("idle_spawn_unfenced") {
            fence(Ordering::SeqCst);
        }
        if self.pool.permits().is_somebody_idle() {
            self.spawned.share_all();
        }
        self.pool.permits().announce_fenced(&self.pool, WokenFor::Job);
    }

    /// The mark for [`Spawned::since`].
    pub fn spawned_position(&self) -> u64 {
        self.spawned.position()
    }

    /// Runs one job from anywhere, a stranger's too. False if there is none. A thread without a permit tries for one, and else
    /// looks into its own queues only.
    pub fn yield_now(&self) -> bool {
        if self.permit.index().is_none() && !self.try_for_permit() {
            let ran = self.run_oldest_own_fork() || self.run_own_job(self.spawned.pop());
            if !ran {
                thread::yield_now();
            }
            return ran;
        }
        if self.yield_local() {
            return true;
        }
        if let Some(found) = self.steal_round(What::Jobs) {
            self.run_stranger(found);
            return true;
        }
        false
    }

    /// Runs one job of the thread's own queues. False if there is none.
    pub fn yield_local(&self) -> bool {
        if self.run_oldest_own_fork() {
            return true;
        }
        let job = if self.permit.index().is_some() { self.find_job_near() } else { self.spawned.pop() };
        self.run_own_job(job)
    }

    fn run_oldest_own_fork(&self) -> bool {
        self.shared.stack.share_all(self.hot);
        let Look::Claimed(job) = self.shared.stack.steal(Care::Full) else { return false };
        self.run_stranger(Found::Fork { job, victim: &self.shared });
        true
    }

    fn run_own_job(&self, job: Option<JobRef>) -> bool {
        let Some(job) = job else { return false };
        self.run_stranger(Found::Job(job));
        true
    }

    /// A thread that goes on without a permit takes one that is free, or has been granted.
    fn try_for_permit(&self) -> bool {
        if self.permit.role() != Role::Resumed {
            return false;
        }
        if self.pool.permits().count(Count::Free) > 0 || self.shared.has_given() {
            let me = self.shared.id();
            let mut open = self.pool.permits().open();
            let index = match open.stop_wanting(me) {
                true => open.resume(me, self.shared.home()),
                false => self.shared.take_granted(),
            };
            drop(open);
            self.set_index(index);
        }
        self.permit.index().is_some()
    }
}
