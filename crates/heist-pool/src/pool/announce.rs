//! Work arrives, and somebody is told.

use super::Pool;
use crate::idle::{Give, Wake};
use crate::job::JobRef;
use crate::place::For;
use crate::task::{Place, TaskRef};
use crate::worker::{Local, Worker};
use heist_policy as policy;
use heist_sync::StdArc as Arc;
use heist_sync::atomic::{Ordering, fence};

impl Pool {
    /// Queues a job for whoever is free.
    pub fn inject(&self, job: JobRef) {
        self.injector.push(job);
        self.announce();
    }

    /// Queues a job that only the holder of `index` may run.
    pub fn inject_for(&self, index: usize, job: JobRef) {
        let index = index as u16;
        self.broadcasts(index).push(job);
        // ORDERING(E9): the job before the look at the desk; partner: `ask_and_look`.
        fence(Ordering::SeqCst);
        let mut desk = self.idle.open();
        let wake = desk.wake_for(index, self.may_start());
        self.carry_out(wake, For::Job, desk);
    }

    /// Queues a task that became ready, wherever that happened.
    #[inline]
    pub fn schedule(&self, task: TaskRef, place: Place) {
        match Local::current() {
            Some(local) if std::ptr::eq(Arc::as_ptr(local.pool()), self) && local.keeps_tasks() => {
                local.schedule(task, place);
            }
            _ => self.schedule_outside(task),
        }
    }

    fn schedule_outside(&self, task: TaskRef) {
        self.tasks.push(task);
        // The push ends with a fence: E9, and the partner of the one in `leave_if_done`.
        if self.is_over() {
            return self.revive();
        }
        self.announce_for(For::Task);
        if self.idle.counters().free() == 0 {
            // LIVENESS: everybody is busy, perhaps for long. While an index is free, a thread has just been woken for it,
            // or one searches.
            self.watch_tasks();
        }
    }

    /// Somebody made work that others can see.
    pub(crate) fn announce(&self) {
        // ORDERING(E9): the work before the look at the counters; partner: `ask_and_look`, which looks at the work after
        // the counters say that a thread sleeps.
        fence(Ordering::SeqCst);
        self.announce_fenced();
    }

    /// As `announce`, behind a fence of the caller's.
    pub fn announce_fenced(&self) {
        self.announce_for(For::Job);
    }

    /// As `announce`, for a task.
    pub(crate) fn announce_task(&self) {
        // ORDERING(E9): as there.
        fence(Ordering::SeqCst);
        self.announce_for(For::Task);
    }

    pub(crate) fn announce_for(&self, what: For) {
        if policy::on_new_work(self.idle.counters().view()) == policy::Wake::One {
            self.wake_one(what);
        } else {
            self.watch();
        }
    }

    #[cfg(any(heist_loom, heist_shuttle))]
    pub(crate) fn watch(&self) {}

    #[cfg(any(heist_loom, heist_shuttle))]
    pub(crate) fn watch_tasks(&self) {}

    /// Whether a thread searches, or could be woken: jobs should be shared at once.
    #[inline]
    pub fn is_somebody_idle(&self) -> bool {
        let counters = self.idle.counters();
        counters.searching() > 0 || counters.free() > 0
    }

    /// Wakes a thread to search, unless one searches already.
    #[cold]
    pub(crate) fn wake_one(&self, what: For) {
        let mut desk = self.idle.open();
        if self.idle.counters().searching() > 0 {
            return;
        }
        let wake = desk.wake(self.may_start(), |t| self.table.get(t.into()).map_or(0, Worker::home));
        self.carry_out(wake, what, desk);
    }

    fn carry_out(&self, wake: Wake, what: For, mut desk: crate::idle::Open<'_>) {
        match wake {
            Wake::Nobody => {}
            Wake::Give(give) => {
                desk.count_search();
                drop(desk);
                self.tell_for(give, what);
            }
            Wake::Start(index) => {
                desk.count_search();
                drop(desk);
                if let Err(error) = self.start_spare(index) {
                    self.warn_start(&error);
                    let mut desk = self.idle.open();
                    let wake = desk.start_failed(index);
                    drop(desk);
                    match wake {
                        Wake::Give(give) => self.tell_for(give, what),
                        Wake::Nobody | Wake::Start(_) => {
                            self.idle.end_search();
                        }
                    }
                }
            }
        }
    }

    pub(crate) fn tell(&self, give: Give) {
        self.tell_for(give, For::Job);
    }

    fn tell_for(&self, give: Give, what: For) {
        let Give { thread, index } = give;
        if let Some(worker) = self.table.get(thread.into()) {
            worker.give(index, what, &self.attendance);
        }
        self.watch();
    }

    /// An index is free and there is work: somebody gets it, for a broadcast that only its holder may run if there is one.
    pub(crate) fn wake_visible(&self) {
        for (index, queue) in self.broadcasts.iter().enumerate() {
            if !queue.is_empty() {
                let mut desk = self.idle.open();
                let wake = desk.wake_for(index as u16, self.may_start());
                self.carry_out(wake, For::Job, desk);
            }
        }
        self.announce();
    }

    /// What a thread that is about to sleep can still find.
    pub(crate) fn has_visible_work(&self) -> bool {
        self.has_work_for_anyone() || self.broadcasts.iter().any(|queue| !queue.is_empty())
    }

    pub(crate) fn has_work_for_anyone(&self) -> bool {
        !self.injector.is_empty() || !self.tasks.is_empty() || self.table.iter().any(Worker::has_work)
    }

    /// Whether jobs are queued.
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    pub(crate) fn has_jobs(&self) -> bool {
        !self.injector.is_empty() || self.table.iter().any(Worker::has_jobs)
    }

    /// Whether tasks are queued, those that only wait for a turn to end included.
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    pub(crate) fn has_tasks(&self) -> bool {
        let waits = |worker: &Worker| !worker.tasks.is_empty() || worker.tasks.has_next();
        !self.tasks.is_empty() || self.table.iter().any(waits)
    }

    /// Whether nothing can happen by itself any more: nobody runs, nothing is queued, no timer is set and no socket is
    /// registered.
    pub fn is_quiescent(&self) -> bool {
        self.idle.counters().free() == self.parallelism()
            && !self.has_visible_work()
            && !self.attendance.is_used()
    }
}
