//! A thread's own tasks: where a task that became ready goes, and which is next.

use super::me::Me;
use crate::driver::Patience;
use crate::driver_lock::Locked;
use crate::queues::SLOTS;
use crate::queues::task::{Place, TaskRef};
use heist_os::WokenFor;
use heist_policy::tuning::LIFO_RUNS_MOST;
use std::cell::Cell;

/// The owner's side of its run queue.
#[derive(Default)]
pub(super) struct OwnTasks {
    /// A task's poll is on the stack.
    is_polling: Cell<bool>,
    /// The thread is in the driver: it runs what it wakes there as soon as it is back.
    is_in_driver: Cell<bool>,
    /// How many polls in a row went to the LIFO slot.
    lifo_runs: Cell<u32>,
}

impl OwnTasks {
    pub fn is_polling(&self) -> bool {
        self.is_polling.get()
    }

    /// Gives a task its turn.
    pub fn poll(&self, task: TaskRef) {
        let was_polling = self.is_polling.replace(true);
        task.run();
        self.is_polling.set(was_polling);
    }

    /// Takes a turn of the driver. Tasks that are woken there go to the own queue.
    fn turn(&self, driver: &Locked<'_>) {
        let was_in = self.is_in_driver.replace(true);
        driver.turn();
        self.is_in_driver.set(was_in);
    }

    /// Looks at sockets and timers, if there is something to look after and nobody else does.
    pub fn poll_driver(&self, me: &Me) -> bool {
        let Some(driver) = me.pool.driver().try_lock(Patience::None) else { return false };
        self.turn(&driver);
        drop(driver);
        self.announce_found(me);
        true
    }

    /// Sleeps in the driver until something is ready there, or somebody unparks this thread. False if somebody else is there, or
    /// nothing is registered.
    pub fn park_in_driver(&self, me: &Me) -> bool {
        let Some(driver) = me.pool.driver().try_lock(Patience::Forever) else { return false };
        me.shared.parker().park_in(|| me.pool.driver().interrupter(), || self.turn(&driver));
        true
    }

    /// The driver has put tasks into the own queue. This thread runs the first one; others may help with the rest.
    pub fn announce_found(&self, me: &Me) {
        if me.shared.tasks.len() > 1 {
            me.permits().announce(&me.pool, WokenFor::Task);
        }
    }

    /// Queues a task that became ready on this thread.
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
        // One more than there is room for: the first does not go into the ring.
        let most = SLOTS - queue.len() + 1;
        me.pool.queues().tasks.take_share(me.pool.parallelism(), most, |task| match first {
            None => first = Some(task),
            Some(_) => queue.push(task, |_| unreachable!("no more than there is room for")),
        });
        first
    }
}
