//! Going to sleep: announce, ask everybody, fence, look again, sleep.

use super::find::Search;
use super::me::Me;
use super::permit::OwnPermit;
use super::shared::{Given, Role};
use super::tasks::OwnTasks;
use crate::metrics::WorkerState;
use crate::permits::{Count, Open, Permits};
use heist_os::WokenFor;
use heist_policy::tuning;
use heist_sync::clock::Instant;
use heist_sync::planted::is_planted;
use heist_sync::thread;
use heist_trace::Kind;
use std::cell::Cell;
use std::time::Duration;

/// How a sleep has ended.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slept {
    /// There may be work: the thread has a permit, and counts as a searcher.
    Searching,
    /// There are tasks, or a tick is due: the thread has a permit, or is an overtaker.
    Woken,
    /// The thread is not needed any more.
    Leave,
}

/// How a thread sleeps, and whether it sits in the driver.
#[derive(Default)]
pub(super) struct Sleep {
    /// Until when it is the resident thread: sits in the driver without a permit, also if one is free.
    resident_until: Cell<Option<Instant>>,
}

impl Sleep {
    /// Sleeps until there is something to do. Who wakes it for work counts it as a searcher.
    pub fn until_needed(&self, me: &Me, permit: &OwnPermit, tasks: &OwnTasks, search: &Search) -> Slept {
        me.spend_on(WorkerState::Parked);
        let slept = self.sleep(me, permit, tasks, search.set_on(false));
        let is_searcher = slept == Slept::Searching;
        me.spend_on(if is_searcher { WorkerState::Searching } else { WorkerState::Busy });
        search.set_on(is_searcher);
        slept
    }

    /// Gives the permit up and sleeps until somebody gives one, or something else to do.
    fn sleep(&self, me: &Me, permit: &OwnPermit, tasks: &OwnTasks, was_searching: bool) -> Slept {
        me.trace(Kind::Park, 0);
        let (permits, threads) = (me.permits(), me.pool.threads());
        // S1: from here on an announcement of work finds a free permit and no searcher, and wakes a sleeper: us.
        if is_planted("idle_arm_before_count") {
            threads.table().arm_others(me.id());
        }
        let mut open = permits.open();
        let index = permit.index();
        let grant = index.and_then(|index| open.release(me.id(), index));
        permit.set_index(me, None);
        open.park(me.id());
        let is_alone = open.parked().len() == threads.live();
        open.hand_over(threads.table(), grant);
        if let Some(index) = index {
            me.pool.driver_waiter().hasten_given_up(index);
        }
        if was_searching {
            permits.end_search();
        }
        let was_overtaking = permit.role() == Role::Overtaker;
        if was_overtaking && !is_planted("overtaker_uncounted_too_late") {
            permits.end_overtaking();
        }
        permit.set_role(me, Role::Holder);
        // S2: every running thread is asked to look for sleepers at its next push.
        if permits.ask_and_look(&me.pool, me.id(), is_alone) {
            if let Some(slept) = self.rise_for_visible_work(me, permit) {
                let _ = me.shared.stack.arm();
                return slept;
            }
            // LIVENESS(S3): what is left may be a broadcast to, or a pinned tick of, a thread that has gone to sleep because we searched (S2), and where thread
            // and permit are one, only that thread can have it.
            if !is_planted("idle_broadcast_left") {
                permits.wake_for_bound(&me.pool);
            }
            // LIVENESS(S3): or what was announced to nobody because we searched or ran tasks, and for which there is no permit for us: others
            // have them all by now, perhaps without searching, or ours is not active any more. It is announced again, so that who may comes
            // for it, or the monitor looks after it.
            if !is_planted("overtaker_no_last_look") {
                self.announce_left(me);
            }
        }
        if was_overtaking && is_planted("overtaker_uncounted_too_late") {
            permits.end_overtaking();
        }
        threads.leave_if_done(&me.pool);
        let slept = self.sleep_until_given(me, permit, tasks);
        me.shared.affinity.after_wake();
        // LIVENESS: those that fell asleep meanwhile have not asked us, since we slept. Our next push looks for them.
        if !is_planted("idle_riser_asks_nobody") {
            let _ = me.shared.stack.arm();
        }
        slept
    }

    /// S3: something came before the request. Takes a permit to look for it, unless somebody has just given one.
    fn rise_for_visible_work(&self, me: &Me, permit: &OwnPermit) -> Option<Slept> {
        let mut open = me.permits().open();
        let (queues, table) = (me.pool.queues(), me.pool.threads().table());
        let may_have = |index: &u16| open.may_have(me.shared.home(), *index);
        let free = match Permits::bound_indices(&me.pool)
            .find(|index| open.free().contains(index) && may_have(index))
        {
            Some(index) => Some(index),
            None if queues.has_work_for_anyone(table) || me.pool.due().stealable().is_some() => {
                open.free().iter().copied().rfind(may_have)
            }
            None => None,
        };
        if let Some(index) = free
            && open.unpark(me.id())
        {
            let index = open.acquire(me.id(), index);
            open.count(Count::Searching);
            drop(open);
            permit.set_index(me, index);
            me.trace(Kind::Wake, u32::from(me.id()));
            return Some(Slept::Searching);
        }
        None
    }

    /// Something is left that this thread may not take a permit for. If all that hold one compute, a thread runs tasks without: perhaps
    /// this one.
    fn announce_left(&self, me: &Me) {
        let (queues, table) = (me.pool.queues(), me.pool.threads().table());
        if queues.has_tasks(table) || me.pool.due().stealable().is_some() {
            me.permits().announce(&me.pool, WokenFor::Task);
        } else if queues.has_work_for_anyone(table) {
            me.permits().announce(&me.pool, WokenFor::Job);
        }
    }

    /// A thread that was parked runs tasks without a permit.
    fn overtake(&self, me: &Me, permit: &OwnPermit, mut open: Open<'_>) -> Slept {
        open.count(Count::Overtaking);
        drop(open);
        permit.set_role(me, Role::Overtaker);
        Slept::Woken
    }

    /// S4: sleeps on its parker, or in the driver.
    fn sleep_until_given(&self, me: &Me, permit: &OwnPermit, tasks: &OwnTasks) -> Slept {
        let (pool, threads) = (&me.pool, me.pool.threads());
        let mut is_refused = false;
        loop {
            match me.shared.take_given() {
                Some(Given::Permit(index)) => {
                    self.end_residence(me);
                    permit.set_index(me, Some(index));
                    me.trace(Kind::Wake, u32::from(me.id()));
                    me.pool.driver_waiter().leave();
                    return Slept::Searching;
                }
                Some(Given::Tasks) => {
                    permit.set_role(me, Role::Overtaker);
                    me.pool.driver_waiter().leave();
                    return Slept::Woken;
                }
                Some(Given::Leave) => return Slept::Leave,
                None => me.shared.affinity.before_sleep(),
            }
            if pool.driver().is_unattended() {
                // Sleeping in the driver makes sense if this thread could run what it finds there.
                let may_sit_there = me.permits().count(Count::Free) > 0 || self.is_resident(me);
                let least_ns = if is_refused { tuning::TICK_RETRY_NS } else { 0 };
                if may_sit_there && tasks.park_in_driver(me, least_ns) {
                    let rose = self.rise_for_tick(me, permit);
                    if rose == Some(true) || me.shared.has_tasks() && self.rise_with_tasks(me, permit, tasks)
                    {
                        return Slept::Woken;
                    }
                    is_refused = rose == Some(false);
                    if rose.is_none() && pool.due().is_rise_due() {
                        // Another thread is in the middle of changing a queue, and is waited for without sleeping.
                        thread::yield_now();
                    }
                    threads.leave_if_done(pool);
                    continue;
                }
            }
            if pool.driver().is_unattended() {
                // LIVENESS: those that hold a permit look at it between two polls, and the monitor sees to it that they do.
                pool.watched().watch();
            }
            // LIVENESS(S4): whoever gives a permit, or dismisses us, unparks us after it has written so.
            if !threads.may_retire(pool) {
                me.park(None);
            } else if !me.park(Some(Duration::from_nanos(tuning::SPARE_KEPT_NS)))
                && threads.may_retire(pool)
                && me.permits().open().unpark(me.id())
            {
                return Slept::Leave;
            }
        }
    }

    /// A parked thread looks whether a tick is due, and takes a permit for it: that of the tick's index if it can, so that the tick stays
    /// where it is. If none is free, the tick is late enough to be run without. False if the thread may not run it, `None` if there is
    /// none.
    fn rise_for_tick(&self, me: &Me, permit: &OwnPermit) -> Option<bool> {
        let pool = &me.pool;
        let bound = pool.due().free_indices().next();
        let due = bound.or_else(|| pool.due().stealable())?;
        let mut open = me.permits().open();
        if !open.unpark(me.id()) {
            // LIVENESS: somebody wakes us, and unparks us once it has written down what we are given. That is worth a wait.
            return Some(false);
        }
        let is_own = open.free().contains(&due) && open.may_have(me.shared.home(), due);
        let index = if is_own { open.acquire(me.id(), due) } else { None };
        let index = index.or_else(|| open.acquire_any(me.id(), me.shared.home()));
        if index.is_some() {
            drop(open);
            self.end_residence(me);
            permit.set_index(me, index);
            me.trace(Kind::Wake, u32::from(me.id()));
        } else if open.free().is_empty() && pool.due().stealable().is_some() {
            let _ = self.overtake(me, permit, open);
        } else {
            // It is pinned to an index that is not for this thread.
            open.park(me.id());
            drop(open);
            me.permits().wake_for_bound(pool);
            return Some(false);
        }
        me.pool.driver_waiter().leave();
        Some(true)
    }

    /// A parked thread has found tasks in the driver. True if it may run them.
    fn rise_with_tasks(&self, me: &Me, permit: &OwnPermit, tasks: &OwnTasks) -> bool {
        let mut open = me.permits().open();
        if !open.unpark(me.id()) {
            // Somebody has just woken us: what we were given is written down.
            return false;
        }
        let is_resident = self.is_resident(me);
        // While somebody computes: a thread that has computed lately does not get a core at once when it is woken, and this one does.
        if is_resident && me.permits().computing(&me.pool).any(|computes| computes) {
            let _ = self.overtake(me, permit, open);
        } else if !is_resident && let Some(index) = open.acquire_any(me.id(), me.shared.home()) {
            drop(open);
            permit.set_index(me, Some(index));
            me.trace(Kind::Wake, u32::from(me.id()));
        } else {
            // Others have a permit, or can have one, and get to them at once: what begins here may take long, and this thread is
            // wanted in the driver.
            open.park(me.id());
            drop(open);
            me.hand_in_tasks();
            return false;
        }
        // Nobody has been told of these tasks.
        tasks.announce_found(me);
        me.pool.driver_waiter().leave();
        true
    }

    /// Whether this thread should serve the driver without a permit: all that hold one compute, or did a moment ago. A program
    /// that computes in bursts would else pay for the monitor's notice at each of them; and a thread that computes itself now and
    /// then does not get a core at once when it wakes up.
    pub fn is_resident(&self, me: &Me) -> bool {
        if me.permits().computing(&me.pool).all(|computes| computes) {
            if me.permits().words().settle(me.id()) {
                let kept = Duration::from_nanos(tuning::RESIDENT_KEPT_NS);
                if self.resident_until.replace(Some(Instant::now() + kept)).is_none() {
                    me.pool.system().set_slice(Some(tuning::RESIDENT_SLICE_NS));
                }
            }
            return true;
        }
        let is_kept = self.resident_until.get().is_some_and(|until| Instant::now() < until);
        if !is_kept {
            self.end_residence(me);
        }
        is_kept
    }

    /// This thread has something else to do than to sit in the driver.
    fn end_residence(&self, me: &Me) {
        if self.resident_until.take().is_some() {
            me.permits().words().move_out(me.id());
            me.pool.system().set_slice(None);
        }
    }
}
