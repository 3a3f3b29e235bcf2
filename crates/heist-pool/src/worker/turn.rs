//! A thread's own tasks: where a task that became ready goes, and which is next.

use super::Local;
use crate::task::{Place, TaskRef};
use heist_policy::tuning::NEXT_RUNS_MOST;

impl Local {
    /// Queues a task that became ready on this thread.
    pub(crate) fn schedule(&self, task: TaskRef, place: Place) {
        let queue = &self.worker.tasks;
        if !self.in_turn.get() {
            // Whatever runs here may run for long; somebody else should take it.
            self.push_task(task);
            self.pool.announce_task();
            self.pool.watch_tasks();
            return;
        }
        match place {
            Place::Next => match queue.put_next(task) {
                // LIVENESS: not announced, because we run it as soon as this turn ends; if that does not happen, the
                // monitor sees it.
                None => self.pool.watch_tasks(),
                Some(old) => self.push_and_announce(old),
            },
            Place::Last if queue.is_empty() && !queue.has_next() => {
                // LIVENESS: as above.
                self.push_task(task);
                self.pool.watch_tasks();
            }
            Place::Last => self.push_and_announce(task),
        }
    }

    fn push_and_announce(&self, task: TaskRef) {
        let was_empty = self.worker.tasks.is_empty();
        self.push_task(task);
        // LIVENESS: a thread that sleeps has looked into this ring and found it empty; so only the first task that comes
        // into an empty ring has to be announced. If a thief emptied it behind our back, we miss a chance to share, not the
        // task: we run it ourselves, and the monitor sees if we do not.
        if was_empty {
            self.pool.announce_task();
        }
        self.pool.watch_tasks();
    }

    fn push_task(&self, task: TaskRef) {
        self.worker.tasks.push(task, |old| self.pool.tasks().push_batch(old));
    }

    /// The task that this thread should run now.
    pub(super) fn take_own_task(&self) -> Option<TaskRef> {
        let queue = &self.worker.tasks;
        if self.next_runs.get() < NEXT_RUNS_MOST || queue.is_empty() {
            if let Some(next) = queue.take_next() {
                self.next_runs.set(self.next_runs.get().saturating_add(1));
                return Some(next);
            }
        } else if let Some(next) = queue.take_next() {
            self.push_task(next);
        }
        self.next_runs.set(0);
        queue.pop()
    }

    pub(super) fn has_own_tasks(&self) -> bool {
        !self.worker.tasks.is_empty() || self.worker.tasks.has_next()
    }

    /// A fair share of the injected tasks: one to run, the rest into the own queue.
    pub(super) fn take_injected_tasks(&self) -> Option<TaskRef> {
        let queue = &self.worker.tasks;
        let mut first = None;
        // One more than there is room for: the first does not go into the ring.
        let most = queue.room() + 1;
        self.pool.tasks().take_share(self.pool.parallelism(), most, |task| match first {
            None => first = Some(task),
            Some(_) => queue.push(task, |_| unreachable!("no more than there is room for")),
        });
        first
    }

    /// Lets others have what is queued here, because this thread will not get to it.
    pub(super) fn share_tasks(&self) {
        if let Some(next) = self.worker.tasks.take_next() {
            self.push_task(next);
        }
    }

    /// Gives up everything that is queued here.
    pub(super) fn hand_in_tasks(&self) {
        self.share_tasks();
        if self.worker.tasks.is_empty() {
            return;
        }
        self.pool.tasks().push_batch(std::iter::from_fn(|| self.worker.tasks.pop()));
        self.pool.announce_task();
        self.pool.watch_tasks();
    }
}
