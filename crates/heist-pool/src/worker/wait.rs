//! Waiting: run what the wait itself needs, spin a little, then lend the permit and sleep. A stranger's job only where no spare thread
//! can be had.

use super::Worker;
use super::find::{Found, Memory, Unanswered, What};
use super::orphan::wait_in_child;
use super::permit::Lends;
use super::shared::Doing;
use crate::metrics::WorkerState;
use crate::profile::{self, Idle, Pause};
use crate::queues::forks::{Care, Look, Slot};
use crate::queues::job::halt_unwinding;
use crate::signal::Awaited;
use crate::waits::Waits;
use heist_policy::{self as policy, WaitStep, WaitView, tuning};
use heist_sync::clock::Instant;
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

    /// As `run_one`, in a child process: only what this thread itself had queued before the fork.
    fn run_inherited(&self, _: &Worker) -> bool {
        false
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
        let Some(victim) = worker.me.pool.threads().table().get(thief.into()) else { return false };
        worker.me.shared.own().steals_tried.add(1);
        loop {
            match victim.stack.steal_back(care, floor, || !self.slot.state().is_done()) {
                Look::Claimed(job) => {
                    worker.me.trace(Kind::Steal, u32::from(thief));
                    worker.me.shared.own().steals.add(1);
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
        // LIVENESS: the thief gets to its own forks without us.
        if worker.aside.is_retired(&worker.me, &worker.permit) {
            return false;
        }
        let care = Care::in_round(self.round.get());
        self.round.set(self.round.get().wrapping_add(1));
        // The thief is inside of a long leaf. Its forks are ours to run.
        self.run_back(worker, care, |thief| self.unanswered.borrow_mut().is_due(thief))
    }

    fn run_last(&self, worker: &Worker) -> bool {
        if worker.aside.is_retired(&worker.me, &worker.permit) {
            return false;
        }
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

impl Spawned {
    /// The mark for `since`: where the queue of spawned jobs of `worker`, the calling thread's, is now.
    pub fn position(worker: &Worker) -> u64 {
        worker.me.spawned.position()
    }
}

impl Own for Spawned {
    fn run_one(&self, worker: &Worker) -> bool {
        while let Some(job) = worker.me.spawned.pop_above(self.since) {
            if job.owner() == self.owner {
                worker.run_found(Found::Job(job));
                return true;
            }
            // A stranger on top of ours: set aside, where anybody can take it.
            worker.me.requeue(job);
        }
        false
    }

    fn run_inherited(&self, worker: &Worker) -> bool {
        // Strangers are left to the parent, which has them as well.
        while let Some(job) = worker.me.spawned.pop_above(self.since) {
            if job.owner() == self.owner {
                worker.run_found(Found::Job(job));
                return true;
            }
        }
        false
    }
}

/// A wait in which there was nothing to run, and nothing has been lent yet, ends or becomes a sleep.
#[cold]
fn note_waited(idle_since: &mut Option<Instant>) {
    if let Some(since) = idle_since.take() {
        profile::note_idle(Idle::Waiting, since.elapsed().as_nanos() as u64);
    }
}

impl Worker {
    /// Waits until `target` is over. Runs only `own` meanwhile.
    ///
    /// # Panics
    /// In a child process, if that would be forever.
    pub fn wait(&self, target: &impl Awaited, own: &impl Own) {
        let _pause = Pause::begin(false);
        let mut idle_since: Option<Instant> = None;
        loop {
            if target.is_over() {
                if profile::is_on() {
                    note_waited(&mut idle_since);
                }
                return;
            }
            if self.me.is_orphan() {
                let parker = self.me.shared.parker();
                return wait_in_child(target, parker, || own.run_inherited(self));
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
                        if profile::is_on() {
                            note_waited(&mut idle_since);
                        }
                        self.sleep_until(target);
                    }
                }
            }
        }
    }

    /// Sleeps until `target` is over, and meanwhile lets another thread have the permit. The caller has announced the wait.
    pub(super) fn sleep_until(&self, target: &impl Awaited) {
        let me = &self.me;
        me.trace(Kind::Block, 0);
        let doing = me.shared.set_doing(Doing::Wait);
        let spent = me.spend_on(WorkerState::Waiting);
        let waits = me.shared.own().set_waits(target.what());
        let awaited = me.shared.own().set_awaited(target.address());
        let lent = self.permit.lend(me, Lends::Asleep);
        let (mut least_ns, mut has_sat) = (0, false);
        while !target.is_over() {
            // LIVENESS(W1): the wait was announced; who ends it unparks us, here or in the driver. Other unparks grant us a permit
            // to help with, where no other thread can be had. Nor is there one then to sit in the driver.
            if me.pool.threads().may_start(&me.pool) || !self.tasks.park_in_driver(me, least_ns) {
                me.park(None);
            } else {
                has_sat = true;
                me.hand_in_tasks();
                // A tick that is due is for whoever is granted a permit for it, and that may be us.
                least_ns = 0;
                if me.pool.due().has_tick() {
                    me.permits().wake_visible(&me.pool);
                    least_ns = tuning::TICK_RETRY_NS;
                }
            }
            if self.permit.take_granted_to_help(me) {
                if std::mem::take(&mut has_sat) {
                    me.pool.driver_waiter().leave();
                }
                self.search.set_on(true);
                me.spend_on(WorkerState::Searching);
                me.pool.threads().warn_no_spare();
                // While another thread cannot be had: whatever there is, as rayon's waits do.
                self.permit.help(|| {
                    while !target.is_over()
                        && !self.permit.is_recalled(me)
                        && let Some(found) = self.search.search(me, &self.permit, &self.tasks)
                    {
                        self.run_stranger(found);
                        if self.me.is_orphan() {
                            return;
                        }
                    }
                    // The wake that brought us here was for work that we leave to others, or there was none.
                    self.search.stop(me, target.is_over());
                });
                if self.me.is_orphan() {
                    return;
                }
                me.spend_on(WorkerState::Waiting);
                let _ = self.permit.lend(me, Lends::Asleep);
            }
        }
        // LIVENESS: threads that went to sleep while this one sat in the driver left that to it.
        if has_sat {
            me.pool.driver_waiter().leave();
        }
        me.shared.own().set_awaited(awaited);
        me.shared.own().set_waits(waits);
        me.shared.set_doing(doing);
        self.permit.resume(me, lent);
        me.spend_on(spent);
        me.trace(Kind::Unblock, 0);
    }

    /// Waits for the half in `slot`, which was popped and turned out to be stolen, and frees the slot.
    ///
    /// # Safety
    /// `slot` was popped last on this thread, and the pop said that it is stolen.
    #[cold]
    pub unsafe fn wait_stolen(&self, slot: *mut Slot) {
        let stack = &self.me.shared.stack;
        // SAFETY: by the caller.
        unsafe { stack.stand_above(self.me.hot, slot) };
        let target = stack.slot_of(slot);
        self.wait(target, &StolenHalf { slot: target, round: Cell::new(0), unanswered: RefCell::default() });
        if self.me.is_orphan() {
            // The block belongs to no stack any more.
            return;
        }
        if let Some(outcome) = target.take_outcome() {
            profile::end_stolen(self.me.hot, target, &outcome);
        }
        // SAFETY: by the caller, and it is done.
        unsafe { stack.reset(self.me.hot, slot) };
    }

    /// Runs `f`, which is expected to block, while another thread has the permit.
    pub fn blocking<R>(&self, f: impl FnOnce() -> R) -> R {
        let me = &self.me;
        me.trace(Kind::Block, 0);
        let lent = if self.permit.is_blocking() { None } else { self.permit.lend(me, Lends::Awake) };
        let aside = self.permit.put_aside(true);
        let doing = me.shared.set_doing(Doing::Wait);
        let spent = me.spend_on(WorkerState::Waiting);
        let waits = me.shared.own().set_waits(Waits::BLOCKING);
        let pause = Pause::begin(true);
        let result = halt_unwinding(f);
        drop(pause);
        me.shared.own().set_waits(waits);
        self.permit.put_back(&aside);
        me.shared.set_doing(doing);
        if !self.permit.is_blocking() && !self.me.is_orphan() {
            self.permit.resume(me, lent);
        }
        me.spend_on(spent);
        me.trace(Kind::Unblock, 0);
        result.unwrap_or_else(|payload| std::panic::resume_unwind(payload))
    }

    /// Runs one job from anywhere, a stranger's too. False if there is none. A thread without a permit tries for one, and else
    /// looks into its own queues only.
    pub fn yield_now(&self) -> bool {
        let has_permit = self.permit.try_for_one(&self.me);
        if self.yield_local() {
            return true;
        }
        if !has_permit {
            thread::yield_now();
            return false;
        }
        let Some(found) = self.search.steal(&self.me, What::Jobs, &mut Memory::default()) else {
            return false;
        };
        self.run_stranger(found);
        true
    }

    /// Runs one job of the thread's own queues. False if there is none.
    pub fn yield_local(&self) -> bool {
        let me = &self.me;
        me.shared.stack.share_all(me.hot);
        let found = match me.shared.stack.steal(Care::Full) {
            Look::Claimed(job) => Some(Found::Fork { job, victim: &me.shared }),
            _ if self.permit.index().is_some() => self.search.find_job_near(me, &self.permit, &self.tasks),
            _ => me.spawned.pop().map(Found::Job),
        };
        let Some(found) = found else { return false };
        self.run_stranger(found);
        true
    }
}
