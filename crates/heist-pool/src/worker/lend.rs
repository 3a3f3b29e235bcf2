//! Lending the index while a thread sleeps in a wait, and getting it back.

use super::Local;
use crate::idle::Regain;
use crate::job::{HeapJob, JobRef, StackJob};
use crate::kernel;
use crate::place::For;
use crate::signal::Awaited;
use heist_policy as policy;
use heist_sync::StdArc as Arc;
use heist_sync::atomic::{AtomicBool, Ordering};
use heist_trace::Kind;
use std::time::Duration;

/// How often a thread that wants its index back looks whether the holder is asleep.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// As rarely as that, after a while.
const LOOK_AT_LAST_EVERY: Duration = Duration::from_millis(64);

impl Local {
    /// Sleeps until `target` is over, and meanwhile lets another thread have the index. The caller has announced the wait.
    pub(super) fn sleep_until(&self, target: &impl Awaited) {
        self.trace(Kind::Block, 0);
        let index = self.index.get();
        self.lend(true);
        while !target.is_over() {
            // LIVENESS(W1): the wait was announced; who ends it unparks us. Other unparks give us an index to help with,
            // where no other thread can be had.
            self.worker.parker.park();
            if let Some(given) = self.worker.take_given_index() {
                self.set_index(Some(given));
                self.searching.set(true);
                self.pool.warn_no_spare();
                self.help_anyone(target);
                self.lend(true);
            }
        }
        self.regain(index);
        self.trace(Kind::Unblock, 0);
    }

    /// While another thread cannot be had: runs whatever there is, as rayon's waits do.
    fn help_anyone(&self, target: &impl Awaited) {
        while !target.is_over() {
            let Some(found) = self.search() else { break };
            self.end_search(&found);
            self.run_found(found);
        }
        if self.searching.get() {
            self.searching.set(false);
            let counters = self.pool.idle().end_search();
            // The wake that brought us here was for work that we leave to others.
            if target.is_over() && policy::on_new_work(counters.view()) == policy::Wake::One {
                self.pool.wake_one(For::Job);
            }
        }
    }

    /// Shares everything and gives the index away. `sleeps`: the thread can be woken to help.
    pub(super) fn lend(&self, sleeps: bool) {
        self.worker.stack.share_all(self.hot);
        self.spawned.share_all();
        self.share_tasks();
        let mut desk = self.pool.idle().open();
        let gift = self.index.get().and_then(|i| {
            let gift = desk.release(self.worker.id, i);
            desk.mark(i);
            gift
        });
        if sleeps {
            desk.wait(self.worker.id);
        }
        let alone = self.is_guest && desk.parked().len() + 1 == self.pool.live();
        drop(desk);
        if let Some(index) = self.index.get() {
            self.trace(Kind::Lend, u32::from(index));
        }
        let lent = self.index.get().is_some();
        self.set_index(None);
        match gift {
            Some(gift) => self.pool.tell(gift),
            // As in `sleep`: an index is free, and nobody searches for it.
            None if lent && self.pool.ask_and_look(&self.worker, alone) => self.pool.wake_visible(),
            None => {}
        }
    }

    /// After a wait: the index that the thread had before, or none if whoever has it sleeps in the kernel.
    pub(super) fn regain(&self, index: Option<u16>) {
        let mut desk = self.pool.idle().open();
        desk.end_wait(self.worker.id);
        drop(desk);
        // Woken to help at the very moment the wait ended.
        if let Some(given) = self.worker.take_given_index() {
            self.set_index(Some(given));
            let counters = self.pool.idle().end_search();
            if Some(given) == index {
                if policy::on_new_work(counters.view()) == policy::Wake::One {
                    self.pool.wake_one(For::Job);
                }
                return;
            }
            self.lend(false);
        }
        let Some(index) = index else { return };
        let mut desk = self.pool.idle().open();
        let regain = desk.want(self.worker.id, index);
        desk.mark(index);
        let holder = desk.holder(index);
        drop(desk);
        if regain == Regain::Have {
            self.set_index(Some(index));
            self.trace(Kind::Return, u32::from(index));
            return;
        }
        let mut holder = holder;
        loop {
            // LIVENESS: the holder gives the index at its next job boundary and unparks us. If it sleeps, which can be
            // because of a lock that we hold, we go on without.
            self.worker.parker.park_timeout(LOOK_EVERY);
            if let Some(given) = self.worker.take_given_index() {
                debug_assert_eq!(given, index);
                self.set_index(Some(given));
                self.trace(Kind::Return, u32::from(index));
                return;
            }
            let asleep = holder
                .and_then(|h| self.pool.table().get(h.into()))
                .is_none_or(|w| kernel::is_asleep(w.tid()));
            let mut desk = self.pool.idle().open();
            if desk.holder(index) != holder {
                holder = desk.holder(index);
            } else if asleep && desk.forgo(self.worker.id, index) {
                desk.mark(index);
                return;
            }
        }
    }

    /// Runs `f` on a thread with an index, for a task that runs without one, and waits for it. If all that have an index sleep
    /// in the kernel, which can be because of a lock that the task holds, it goes on without, as [`regain`](Self::regain)
    /// does.
    #[cold]
    pub(crate) fn install_with_index<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        struct Queued {
            is_taken: AtomicBool,
            job: JobRef,
        }
        // SAFETY: only the one that takes the job uses it, and a job may run on any thread.
        unsafe impl Sync for Queued {}
        struct Forgo<'a>(&'a Local);
        impl Drop for Forgo<'_> {
            fn drop(&mut self) {
                self.0.forgoes.set(false);
            }
        }

        let job = StackJob::new(f, Arc::clone(&self.worker.parker));
        // SAFETY: we wait for its signal before it moves; whoever is too late for it does not look at it.
        let queued = Arc::new(Queued { is_taken: AtomicBool::new(false), job: unsafe { job.as_job_ref() } });
        let theirs = Arc::clone(&queued);
        let take = move || {
            if !theirs.is_taken.swap(true, Ordering::AcqRel) {
                // SAFETY: taken, so once.
                unsafe { theirs.job.run() };
            }
        };
        // SAFETY: jobs on the stack do not unwind, and what is borrowed is not touched after we have taken it back.
        self.pool.inject(unsafe { HeapJob::boxed(take, std::ptr::null()) });
        self.trace(Kind::Block, 0);
        let mut look_in = LOOK_EVERY;
        let mut asleep = None;
        // LIVENESS: announced, so whoever runs the job unparks us; and we look ourselves, less and less often: many may wait
        // beside a long computation.
        while job.signal().announce_wait() {
            let is_told = self.worker.parker.park_timeout(look_in);
            look_in = (2 * look_in).min(LOOK_AT_LAST_EVERY);
            // Twice the same, without any CPU time in between: not just at a lock on their way to the job.
            let before = std::mem::replace(&mut asleep, self.pool.sleeping_holders());
            let is_stuck = asleep.is_some() && asleep == before;
            if !is_told && is_stuck && !queued.is_taken.swap(true, Ordering::AcqRel) {
                self.forgoes.set(true);
                let _forgo = Forgo(self);
                // SAFETY: taken, so once.
                unsafe { queued.job.run() };
            }
        }
        self.trace(Kind::Unblock, 0);
        job.into_result()
    }

    /// A guest goes: what it spawned stays, and its index is free.
    pub(crate) fn hand_in(&self) {
        while let Some(job) = self.spawned.pop() {
            self.pool.inject(job);
        }
        self.hand_in_tasks();
        self.lend(false);
    }

    /// Runs `f`, which is expected to block, while another thread has the index.
    pub fn blocking<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Back<'a>(&'a Local, Option<u16>);
        impl Drop for Back<'_> {
            fn drop(&mut self) {
                self.0.regain(self.1);
                self.0.trace(Kind::Unblock, 0);
            }
        }
        let index = self.index.get();
        self.trace(Kind::Block, 0);
        self.lend(false);
        let _back = Back(self, index);
        f()
    }
}
