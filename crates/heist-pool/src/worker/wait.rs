//! Waiting: run what the wait itself needs, spin a little, then lend the index and sleep. Never a stranger's job.

use super::find::{Unanswered, What};
use super::{Found, Local};
use crate::forks::{Care, Look, Popped, Pushed, Slot};
use crate::job::JobRef;
use crate::signal::Awaited;
use heist_policy::{self as policy, WaitStep, WaitView};
use heist_sync::atomic::{Ordering, fence};
use heist_sync::clock::Instant;
use heist_sync::planted::is_planted;
use heist_sync::thread;
use std::cell::{Cell, RefCell};

/// What a waiter may run.
pub trait Own {
    /// Runs one job that the wait needs. False if there is none now.
    fn run_one(&self, local: &Local) -> bool;

    /// As `run_one`, before the waiter sleeps: by force, if it has to be.
    fn run_last(&self, local: &Local) -> bool {
        self.run_one(local)
    }
}

/// Nothing: the wait is for another pool or the outside.
impl Own for () {
    fn run_one(&self, _: &Local) -> bool {
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
    fn run_back(&self, local: &Local, care: Care, may_force: impl Fn(u16) -> bool) -> bool {
        let Some((thief, floor)) = self.slot.state().thief() else { return false };
        let Some(victim) = local.pool.table().get(thief.into()) else { return false };
        loop {
            match victim.stack.steal_back(care, floor, || !self.slot.state().is_done()) {
                Look::Claimed(job) => {
                    local.trace(heist_trace::Kind::Steal, u32::from(thief));
                    local.run_found(Found::Fork { job, victim });
                    return true;
                }
                Look::Asked if may_force(thief) && victim.stack.force() => {}
                Look::Lost | Look::Asked | Look::Nothing => return false,
            }
        }
    }
}

impl Own for StolenHalf<'_> {
    fn run_one(&self, local: &Local) -> bool {
        let care = Care::in_round(self.round.get());
        self.round.set(self.round.get().wrapping_add(1));
        // The thief is inside of a long leaf. Its forks are ours to run.
        self.run_back(local, care, |thief| self.unanswered.borrow_mut().is_due(thief))
    }

    fn run_last(&self, local: &Local) -> bool {
        // It may be off its core, or we were: then time has passed, but nobody could answer.
        self.run_back(local, Care::Full, |_| true)
    }
}

/// The jobs of one owner (a scope) that this thread spawned since the owner began, at `since` in its queue.
pub struct Spawned {
    /// Whose.
    pub owner: *const (),
    /// The queue's position when it began.
    pub since: u64,
}

impl Own for Spawned {
    fn run_one(&self, local: &Local) -> bool {
        while let Some(job) = local.spawned.pop_above(self.since) {
            if job.owner() == self.owner {
                local.run_found(Found::Job(job));
                return true;
            }
            // A stranger on top of ours: set aside, where anybody can take it.
            local.pool.inject(job);
        }
        false
    }
}

impl Local {
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
            match policy::wait_step(WaitView { own_work: false, spun_ns, can_lend: true }) {
                WaitStep::RunOwn | WaitStep::Spin => thread::yield_now(),
                WaitStep::Lend | WaitStep::Block if own.run_last(self) => idle_since = None,
                WaitStep::Lend | WaitStep::Block => {
                    if target.announce_wait() {
                        self.sleep_until(target);
                    }
                }
            }
        }
    }

    /// Waits for the half in `slot`, which was popped and turned out to be stolen, and frees the slot.
    #[cold]
    pub fn wait_stolen(&self, slot: *mut Slot) {
        self.worker.stack.stand_above(self.hot, slot);
        let target = self.worker.stack.slot_of(slot);
        self.wait(target, &StolenHalf { slot: target, round: Cell::new(0), unanswered: RefCell::default() });
        self.worker.stack.reset(self.hot, slot);
    }

    /// Puts a job into the own queue and tells whoever sleeps.
    pub fn spawn(&self, job: JobRef) {
        if !self.runs_jobs() {
            return self.pool.inject(job);
        }
        self.spawned.push(job);
        // ORDERING(E9): as in `Pool::announce`.
        if !is_planted("idle_spawn_unfenced") {
            fence(Ordering::SeqCst);
        }
        if self.pool.is_somebody_idle() {
            self.spawned.share_all();
        }
        self.pool.announce_fenced();
    }

    /// The mark for [`Spawned::since`].
    pub fn spawned_position(&self) -> u64 {
        self.spawned.position()
    }

    /// Runs one job from anywhere, a stranger's too. False if there is none.
    pub fn yield_now(&self) -> bool {
        if self.yield_local() {
            return true;
        }
        if let Some(found) = self.steal_round(What::Jobs) {
            self.run_found(found);
            return true;
        }
        false
    }

    /// Runs one job of the thread's own queues. False if there is none.
    pub fn yield_local(&self) -> bool {
        self.worker.stack.share_all(self.hot);
        if let Look::Claimed(job) = self.worker.stack.steal(Care::Full) {
            self.run_found(Found::Fork { job, victim: &self.worker });
            return true;
        }
        match self.find_job_near() {
            Some(job) => {
                self.run_found(Found::Job(job));
                true
            }
            None => false,
        }
    }
}

impl Local {
    /// Goes on with a push that met its bound, and tells whoever sleeps if something was shared.
    pub fn push_slow(&self, slot: *mut Slot) -> Pushed {
        if !self.runs_jobs() {
            // The request stays, so that the next push comes here too.
            self.hot.take_back(slot);
            return Pushed::Full;
        }
        if is_planted("idle_clear_after_counters")
            && policy::on_new_work(self.pool.idle().counters().view()) == policy::Wake::Nobody
        {
            return self.worker.stack.push_slow(self.hot, slot);
        }
        let pushed = self.worker.stack.push_slow(self.hot, slot);
        if pushed == Pushed::Shared {
            self.announce_shared();
        }
        pushed
    }

    /// Goes on with a pop that met its bound, and tells whoever sleeps if something was shared.
    pub fn pop_slow(&self, slot: *mut Slot) -> Popped {
        let popped = self.worker.stack.pop_slow(self.hot, slot);
        if popped == Popped::MineAndShared {
            self.announce_shared();
        }
        popped
    }
}
