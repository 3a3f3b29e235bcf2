//! A thread's own tasks: where a task that became ready goes, and which is next.

use super::Worker;
use crate::queues::task::{Place, TaskRef};
use heist_os::WokenFor;
use heist_policy::tuning::LIFO_RUNS_MOST;
use std::cell::Cell;

/// The owner's side of its run queue.
#[derive(Default)]
pub(super) struct OwnTasks {
    /// A task's poll is on the stack.
    pub is_polling: Cell<bool>,
    /// The thread is in the driver: it runs what it wakes there as soon as it is back.
    pub is_in_driver: Cell<bool>,
    /// How many polls in a row went to the LIFO slot.
    lifo_runs: Cell<u32>,
}

impl Worker {
    /// Queues a task that became ready on this thread.
    pub(crate) fn schedule(&self, task: TaskRef, place: Place) {
        let queue = &self.shared.tasks;
        if self.tasks.is_in_driver.get() {
            // LIVENESS: this thread looks at its own tasks when it comes back.
            return self.push_task(task);
        }
        if !self.tasks.is_polling.get() {
            // Whatever runs here may run for long; somebody else should take it.
            self.push_task(task);
            return self.pool.announce(WokenFor::Task);
        }
        match place {
            Place::Next => match queue.put_lifo(task) {
                // LIVENESS: not announced, because we run it as soon as this poll ends; if that does not happen, the
                // monitor sees it.
                None => self.pool.watched().watch(),
                Some(old) => self.push_and_announce(old),
            },
            Place::Last if queue.is_empty() && !queue.has_lifo() => {
                // LIVENESS: as above.
                self.push_task(task);
                self.pool.watched().watch();
            }
            Place::Last => self.push_and_announce(task),
        }
    }

    fn push_and_announce(&self, task: TaskRef) {
        let was_empty = self.shared.tasks.is_empty();
        self.push_task(task);
        // LIVENESS: a thread that sleeps has looked into this ring and found it empty; so only the first task that comes
        // into an empty ring has to be announced. If a thief emptied it behind our back, we miss a chance to share, not the
        // task: we run it ourselves, and the monitor sees if we do not.
        if was_empty { self.pool.announce(WokenFor::Task) } else { self.pool.watched().watch() }
    }

    fn push_task(&self, task: TaskRef) {
        self.shared.tasks.push(task, |old| self.pool.queues().tasks.push_batch(old));
    }

    /// The task that this thread should run now.
    pub(super) fn take_own_task(&self) -> Option<TaskRef> {
        let queue = &self.shared.tasks;
        let runs = &self.tasks.lifo_runs;
        if runs.get() < LIFO_RUNS_MOST || queue.is_empty() {
            if let Some(task) = queue.take_lifo() {
                runs.set(runs.get().saturating_add(1));
                return Some(task);
            }
        } else if let Some(task) = queue.take_lifo() {
            self.push_task(task);
        }
        runs.set(0);
        queue.pop()
    }

    /// A fair share of the injected tasks: one to run, the rest into the own queue.
    pub(super) fn take_injected_tasks(&self) -> Option<TaskRef> {
        let queue = &self.shared.tasks;
        let mut first = None;
        // One more than there is room for: the first does not go into the ring.
        let most = queue.room() + 1;
        self.pool.queues().tasks.take_share(self.pool.parallelism(), most, |task| match first {
            None => first = Some(task),
            Some(_) => queue.push(task, |_| unreachable!("no more than there is room for")),
        });
        first
    }

    /// The task in the LIFO slot goes to where others can see it.
    pub(super) fn share_lifo(&self) {
        if let Some(task) = self.shared.tasks.take_lifo() {
            self.push_task(task);
        }
    }

    /// All tasks that are queued here go to the injector.
    pub(super) fn hand_in_tasks(&self) {
        self.share_lifo();
        if self.shared.tasks.is_empty() {
            return;
        }
        self.pool.queues().tasks.push_batch(std::iter::from_fn(|| self.shared.tasks.pop()));
        self.pool.announce(WokenFor::Task);
    }
}
