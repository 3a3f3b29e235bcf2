//! A thread's own tasks: where a task that became ready goes, and which is next.

use super::me::Me;
use crate::driver::Patience;
use crate::driver_lock::Locked;
use crate::queues::task::{Place, TaskRef};
use crate::queues::ticks::NEVER;
use crate::queues::{HALF, SLOTS};
use heist_os::WokenFor;
use heist_policy::tick as policy;
use heist_policy::tuning::{self, INJECTED_MOST, LIFO_RUNS_MOST};
use heist_sync::atomic::{Ordering, fence};
use std::cell::Cell;
use std::time::Duration;

/// The owner's side of its run queue.
#[derive(Default)]
pub(super) struct OwnTasks {
    /// A task's poll is on the stack.
    is_polling: Cell<bool>,
    /// The thread is in the driver: it runs what it wakes there as soon as it is back.
    is_in_driver: Cell<bool>,
    /// The system was asked to wake this thread precisely.
    is_precise: Cell<bool>,
    /// How many polls in a row went to the LIFO slot.
    lifo_runs: Cell<u32>,
    /// How many ticks it has run since it last slept.
    ran: Cell<u32>,
}

impl OwnTasks {
    pub fn is_polling(&self) -> bool {
        self.is_polling.get()
    }

    /// Gives a task its turn.
    #[inline]
    pub fn poll(&self, me: &Me, task: TaskRef) {
        if self.is_polling.get() {
            return self.poll_nested(me, task);
        }
        self.is_polling.set(true);
        me.shared.own().run_task(task);
        me.shared.own().set_running(0);
        self.is_polling.set(false);
    }

    /// In the middle of the poll of another one, which waits.
    #[cold]
    fn poll_nested(&self, me: &Me, task: TaskRef) {
        let outer = me.shared.own().running();
        me.shared.own().run_task(task);
        me.shared.own().set_running(outer);
    }

    /// Takes a turn of the driver. Tasks that are woken there go to the own queue.
    fn turn(&self, driver: &Locked<'_>, patience: Patience) {
        let was_in = self.is_in_driver.replace(true);
        driver.turn(patience);
        self.is_in_driver.set(was_in);
    }

    /// Looks at sockets and timers, if there is something to look after and nobody else does.
    pub fn poll_driver(&self, me: &Me) -> bool {
        let Some(driver) = me.pool.driver().try_lock(false) else { return false };
        self.turn(&driver, Patience::None);
        let has_looked = driver.has_driver();
        drop(driver);
        self.announce_found(me);
        has_looked
    }

    /// Sleeps in the driver until something is ready there, a tick is due, or somebody unparks this thread. False if somebody else is
    /// there, or nothing is registered. `least_ns`: it could not run what is due, so it does not come back before that.
    pub fn park_in_driver(&self, me: &Me, least_ns: u64) -> bool {
        let pool = &me.pool;
        let Some(driver) = pool.driver().try_lock(true) else { return false };
        pool.watched().note_in_driver();
        let ticks = pool.queues().ticks();
        let is_manual = ticks.clock().manual().is_some();
        let until_ns = driver.wait_for_ticks(me.id(), || match pool.due().next_rise_ns() {
            // Whoever moves the clock sees to what is due then.
            rise_ns if ticks.clock().is_still_before(rise_ns) => NEVER,
            rise_ns => rise_ns,
        });
        let at_most = (until_ns < NEVER).then(|| {
            if is_manual {
                return Duration::from_nanos(least_ns);
            }
            self.ask_for_precision(me);
            let left_ns = until_ns.saturating_sub(ticks.now_ns());
            Duration::from_nanos(policy::sleep_ns(left_ns, self.ran.get()).max(least_ns))
        });
        let parker = me.shared.parker();
        // LIVENESS(TICK-E1): who queues an earlier tick from here on leaves a token, and with a token neither of these waits.
        match at_most {
            Some(at_most) if at_most.is_zero() => self.turn(&driver, Patience::None),
            at_most if driver.has_driver() => {
                let patience = at_most.map_or(Patience::Forever, Patience::AtMost);
                parker.park_in(|| pool.driver().interrupter(), || self.turn(&driver, patience));
            }
            // Without a time: a tick runs, and whoever queues it again unparks us.
            at_most if at_most.is_some() || pool.driver().has_ticks() => drop(me.park(at_most)),
            _ => {}
        }
        drop(driver);
        self.ran.set(0);
        // ORDERING(TICK-E1): the lock is free before this thread asks whether it should sit there again, or somebody else; partner:
        // `DriverWaiter::hasten`, which may still have seen it waiting.
        fence(Ordering::SeqCst);
        ticks.watchdog().look(pool);
        true
    }

    /// This thread has run a tick.
    pub fn note_tick(&self) {
        self.ran.set(self.ran.get().saturating_add(1));
    }

    /// The system should wake this thread when it is time, and not when it suits.
    fn ask_for_precision(&self, me: &Me) {
        if !self.is_precise.replace(true) {
            me.pool.system().set_timer_slack(tuning::TICK_TIMER_SLACK_NS);
        }
    }

    /// The driver has put tasks into the own queue. This thread runs the first one; others may help with the rest.
    pub fn announce_found(&self, me: &Me) {
        if me.shared.tasks.len() > 1 {
            me.permits().announce(&me.pool, WokenFor::Task);
        }
    }

    /// Queues a task that became ready on this thread.
    #[inline]
    pub fn schedule(&self, me: &Me, task: TaskRef, place: Place) {
        let queue = &me.shared.tasks;
        if self.is_in_driver.get() {
            // LIVENESS: this thread looks at its own tasks when it comes back.
            return me.push_task(task);
        }
        if !self.is_polling.get() {
            // Whatever runs here may run for long; somebody else should take it.
            me.push_task(task);
            return me.permits().announce(&me.pool, WokenFor::Task);
        }
        let pushed = match place {
            Place::Next => queue.put_lifo(task),
            Place::Last => Some(task),
        };
        // LIVENESS: what comes into the LIFO slot, or alone into the ring, is not announced, because we run it as soon as this poll
        // ends. Nor is what comes behind others in the ring: a thread that sleeps has looked into this ring and found it empty, so only
        // the first task there is news. If a thief emptied it behind our back, we miss a chance to share, not the task: we run it
        // ourselves, and the monitor sees if we do not.
        let is_news = pushed.is_some() && queue.is_empty() && queue.has_lifo();
        if let Some(task) = pushed {
            me.push_task(task);
        }
        if is_news { me.permits().announce(&me.pool, WokenFor::Task) } else { me.pool.watched().watch() }
    }

    /// The task that this thread should run now.
    #[inline]
    pub fn take(&self, me: &Me) -> Option<TaskRef> {
        let queue = &me.shared.tasks;
        let runs = &self.lifo_runs;
        if runs.get() < LIFO_RUNS_MOST || queue.is_empty() {
            if let Some(task) = queue.take_lifo() {
                runs.set(runs.get().saturating_add(1));
                return Some(task);
            }
        } else if let Some(task) = queue.take_lifo() {
            me.push_task(task);
        }
        runs.set(0);
        queue.pop()
    }

    /// A fair share of the injected tasks: one to run, the rest into the own queue.
    pub fn take_injected(&self, me: &Me) -> Option<TaskRef> {
        let queue = &me.shared.tasks;
        let mut first = None;
        let len = queue.len();
        // One more than there is room for: the first does not go into the ring.
        let most = HALF.saturating_sub(len).max(INJECTED_MOST).min(SLOTS - len + 1);
        me.pool.queues().tasks.take_share(me.pool.active().max(1), most, |mut share| {
            first = share.next();
            queue.extend(share);
        });
        first
    }
}
