//! Going to sleep: announce, ask everybody, fence, look again, sleep.

use super::Worker;
use super::shared::{Given, Role};
use crate::driver::Patience;
use crate::permits::Count;
use heist_policy::tuning;
use heist_sync::planted::is_planted;
use heist_trace::Kind;
use std::time::Duration;

#[must_use]
pub(super) enum Slept {
    /// There may be work; the thread has a permit, or is an overtaker.
    Resumed,
    /// The thread is not needed any more.
    Leave,
}

impl Worker {
    /// Gives the permit up and sleeps until somebody gives one, or something else to do.
    pub(super) fn sleep(&self) -> Slept {
        self.trace(Kind::Park, 0);
        // S1: from here on an announcement of work finds a free permit and no searcher, and wakes a sleeper: us.
        let was_searching = self.search.is_on.replace(false);
        if is_planted("idle_arm_before_count") {
            self.pool.threads().table().arm_others(self.shared.id());
        }
        let permits = self.pool.permits();
        let me = self.shared.id();
        let mut open = permits.open();
        let grant = self.permit.index().and_then(|index| open.release(me, index));
        self.set_index(None);
        open.park(me);
        let is_alone = open.parked().len() == self.pool.threads().live();
        open.hand_over(self.pool.threads().table(), grant);
        if was_searching {
            permits.end_search();
        }
        let was_overtaking = self.permit.role() == Role::Overtaker;
        if was_overtaking && !is_planted("overtaker_uncounted_too_late") {
            permits.end_overtaking();
        }
        self.set_role(Role::Holder);
        // S2: every running thread is asked to look for sleepers at its next push.
        if permits.ask_and_look(&self.pool, me, is_alone) && self.rise_for_visible_work() {
            return Slept::Resumed;
        }
        if was_overtaking && is_planted("overtaker_uncounted_too_late") {
            permits.end_overtaking();
        }
        if self.pool.threads().is_closing() {
            self.pool.threads().leave_if_done(&self.pool);
        }
        self.sleep_until_given()
    }

    /// S3: something came before the request. Takes a permit to look for it, unless somebody has just given one. Tasks are run
    /// without, if all that hold one compute.
    fn rise_for_visible_work(&self) -> bool {
        let me = self.shared.id();
        let mut open = self.pool.permits().open();
        let (queues, table) = (self.pool.queues(), self.pool.threads().table());
        let free = match queues.broadcast_indices().find(|index| open.free().contains(index)) {
            Some(index) => Some(index),
            None if queues.has_work_for_anyone(table) => open.free().last().copied(),
            None => None,
        };
        if free.is_some() && open.unpark(me) {
            let index = open.acquire(me, free);
            open.count_search();
            drop(open);
            self.search.is_on.set(true);
            self.set_index(index);
            self.trace(Kind::Wake, u32::from(me));
            return true;
        }
        if self.pool.permits().count(Count::Overtaking) == 0
            && open.free().is_empty()
            && queues.has_tasks(table)
            && self.pool.permits().computing(&self.pool).all(|computes| computes)
            && !is_planted("overtaker_no_last_look")
            && open.unpark(me)
        {
            open.count_overtaking();
            drop(open);
            self.set_role(Role::Overtaker);
            return true;
        }
        false
    }

    /// S4: sleeps on its parker, or in the driver.
    fn sleep_until_given(&self) -> Slept {
        loop {
            match self.shared.take_given() {
                Some(Given::Permit(index)) => {
                    self.end_residence();
                    self.shared.affinity.after_wake();
                    self.search.is_on.set(true);
                    self.set_index(Some(index));
                    self.trace(Kind::Wake, u32::from(self.shared.id()));
                    // A thread that leaves the driver for work that may be long leaves it to the monitor.
                    if self.pool.driver().is_unattended() {
                        self.pool.watched().watch();
                    }
                    return Slept::Resumed;
                }
                Some(Given::Tasks) => {
                    self.set_role(Role::Overtaker);
                    return Slept::Resumed;
                }
                Some(Given::Leave) => return Slept::Leave,
                None => {}
            }
            if self.pool.driver().is_unattended() && self.may_sit_in_driver() && self.park_in_driver() {
                if self.shared.has_tasks() && self.rise_with_tasks() {
                    return Slept::Resumed;
                }
                if self.pool.threads().is_closing() {
                    self.pool.threads().leave_if_done(&self.pool);
                }
                continue;
            }
            if self.pool.driver().is_unattended() {
                // LIVENESS: those that hold a permit look at it between two polls, and the monitor sees to it that they do.
                self.pool.watched().watch();
            }
            // LIVENESS(S4): whoever gives a permit, or dismisses us, unparks us after it has written so.
            let threads = self.pool.threads();
            if !threads.may_retire(&self.pool) {
                self.shared.parker().park();
            } else if !self.shared.parker().park_timeout(Duration::from_nanos(tuning::SPARE_KEPT_NS))
                && threads.may_retire(&self.pool)
                && self.pool.permits().open().unpark(self.shared.id())
            {
                return Slept::Leave;
            }
        }
    }

    /// Whether sleeping in the driver makes sense: this thread could run what it finds there.
    fn may_sit_in_driver(&self) -> bool {
        self.pool.permits().count(Count::Free) > 0 || self.is_resident()
    }

    /// Sleeps in the driver until something is ready there, or somebody unparks this thread. False if somebody else is there, or
    /// nothing is registered.
    pub(super) fn park_in_driver(&self) -> bool {
        let Some(lock) = self.pool.driver().try_wait() else { return false };
        let was_in = self.tasks.is_in_driver.replace(true);
        self.shared.parker().park_in(|| self.pool.driver().interrupter(), || lock.turn(Patience::Forever));
        self.tasks.is_in_driver.set(was_in);
        true
    }

    /// A parked thread has found tasks in the driver. True if it may run them.
    fn rise_with_tasks(&self) -> bool {
        let me = self.shared.id();
        let mut open = self.pool.permits().open();
        if !open.unpark(me) {
            // Somebody has just woken us: what we were given is written down.
            return false;
        }
        let is_resident = self.is_resident();
        // While somebody computes: a thread that has computed lately does not get a core at once when it is woken, and this one does.
        if is_resident && self.pool.permits().computing(&self.pool).any(|computes| computes) {
            open.count_overtaking();
            drop(open);
            self.set_role(Role::Overtaker);
        } else if !is_resident && let Some(index) = open.acquire_any(me, self.shared.home()) {
            drop(open);
            self.set_index(Some(index));
            self.trace(Kind::Wake, u32::from(me));
        } else {
            // Others have a permit, or can have one, and get to them at once: what begins here may take long, and this thread is
            // wanted in the driver.
            open.park(me);
            drop(open);
            self.hand_in_tasks();
            return false;
        }
        // Nobody has been told of these tasks, and nobody sits in the driver.
        self.share_found();
        true
    }

    fn share_found(&self) {
        self.announce_found();
        self.pool.watched().watch();
    }
}
