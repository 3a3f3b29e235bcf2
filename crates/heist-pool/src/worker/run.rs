//! The loop at the bottom of every thread of the pool.

use super::Worker;
use super::find::Found;
use super::me::Me;
use super::park::Slept;
use super::shared::Doing;
use super::tasks::OwnTasks;
use crate::process::end_child;
use crate::profile::{self, Root};
use crate::queues::job::JobRef;
use crate::queues::task::TaskRef;
use crate::stall;
use heist_sync::StdArc as Arc;
use heist_trace::Kind;

/// Runs what was found in a queue, and measures it if a profile is taken.
#[inline]
fn as_root(root: Root, run: impl FnOnce()) {
    if !profile::is_on() {
        return run();
    }
    let mut run = Some(run);
    profile::run_root(root, &mut || {
        if let Some(run) = run.take() {
            run();
        }
    });
}

/// Runs a job that was taken out of a queue, and says for whom.
#[cold]
#[inline(never)]
fn run_watched(me: &Me, job: JobRef) {
    me.shared.own().serves.begin(job.awaited());
    // SAFETY: taken out of a queue, so once.
    as_root(Root::Job, || unsafe { job.run() });
    me.shared.own().serves.end();
}

#[cold]
#[inline(never)]
fn poll_measured(me: &Me, tasks: &OwnTasks, task: TaskRef) {
    profile::note_waited(&task, me.shared.own().timed.get().is_some());
    let mut task = Some(task);
    profile::run_root(Root::Poll, &mut || {
        if let Some(task) = task.take() {
            tasks.poll(me, task);
        }
    });
}

impl Worker {
    /// Runs jobs, tasks and ticks until the pool has no use for this thread any more. In a child process, whatever has forked there was
    /// the last.
    pub(crate) fn run(&self) {
        loop {
            if self.me.is_orphan() {
                end_child();
            }
            self.permit.reach_bottom(&self.me, || self.sleep.is_resident(&self.me));
            let found = if self.permit.index().is_some() {
                self.search.search(&self.me, &self.permit, &self.tasks)
            } else {
                self.search.find_without_permit(&self.me, &self.permit, &self.tasks)
            };
            match found {
                Some(found) => self.run_found(found),
                None if self.sleep.until_needed(&self.me, &self.permit, &self.tasks, &self.search)
                    == Slept::Leave =>
                {
                    return;
                }
                None => {}
            }
        }
    }

    /// Runs one job, task or tick on top of whatever is on this thread's stack.
    #[inline]
    pub(super) fn run_found(&self, found: Found<'_>) {
        self.search.note_run(&self.me, &found);
        match found {
            Found::Task(task) => {
                let number = task.number();
                let me = &self.me;
                let begun = me.is_traced().then(|| me.record_begin(Kind::PollStart, number, task.name()));
                me.shared.while_doing(Doing::Poll, || {
                    if profile::is_on() {
                        poll_measured(me, &self.tasks, task);
                    } else {
                        self.tasks.poll(me, task);
                    }
                });
                if me.is_traced() {
                    me.record_end(begun, Kind::PollEnd, number);
                }
            }
            Found::Job(job) => self.me.run_job(job.number(), || {
                self.me.shared.own().jobs.add(1);
                if stall::is_watched() {
                    return run_watched(&self.me, job);
                }
                // SAFETY: taken out of a queue, so once.
                as_root(Root::Job, || unsafe { job.run() });
            }),
            Found::Fork { job, victim } => self.me.run_job(0, || {
                self.me.shared.own().forks.add(1);
                if job.run(self.me.id(), self.me.shared.stack.floor(self.me.hot)) {
                    // LIVENESS(W1): the owner announced its wait before our swap.
                    victim.parker().unpark();
                }
            }),
            // It records its runs itself.
            Found::Tick(tick, taken) => self.me.shared.while_doing(Doing::Tick, || {
                let own = self.me.shared.own();
                own.ticks.add(1);
                let outer = own.running();
                own.set_running(Arc::as_ptr(&tick).addr());
                let mut took_ns = 0;
                as_root(Root::Tick, || took_ns = tick.run(&taken));
                own.set_running(outer);
                self.search.note_tick(taken.at_ns, took_ns);
                self.tasks.note_tick();
            }),
        }
    }

    /// As `run_found`, for something that whatever is on this thread's stack does not need. What it forks is not for those who
    /// wait for a job below.
    pub(super) fn run_stranger(&self, found: Found<'_>) {
        let stack = &self.me.shared.stack;
        stack.begin_stranger();
        self.run_found(found);
        stack.end_stranger();
    }
}
