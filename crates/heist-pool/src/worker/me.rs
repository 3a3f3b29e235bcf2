//! Who the thread is, and the owner's ends of its queues.

use super::{Doing, WorkerShared};
use crate::metrics::WorkerState;
use crate::permits::Permits;
use crate::pool::Pool;
use crate::queues::forks::{Hot, Pushed, Slot};
use crate::queues::job::JobRef;
use crate::queues::task::TaskRef;
use crate::recorder;
use crate::recorder::asleep::{Asleep, Begun};
use heist_deque::Owner;
use heist_os::WokenFor;
use heist_policy as policy;
use heist_sync::StdArc as Arc;
use heist_sync::atomic::{Ordering, fence};
use heist_sync::planted::is_planted;
use heist_trace::{Event, Kind, Ring};
use std::cell::RefCell;
use std::time::Duration;

/// What every part of a [`Worker`](super::Worker) needs of its thread.
pub(crate) struct Me {
    pub pool: Arc<Pool>,
    pub shared: Arc<WorkerShared>,
    pub hot: &'static Hot,
    /// The owner's end of its queue of spawned jobs.
    pub spawned: Owner<JobRef>,
    /// For traces: how much of what it runs it spends asleep.
    pub asleep: Asleep,
    /// The ticks that it runs, which record that themselves; one may run on top of another.
    pub ticks: RefCell<Vec<Begun>>,
}

impl Me {
    pub fn id(&self) -> u16 {
        self.shared.id()
    }

    pub fn permits(&self) -> &Permits {
        self.pool.permits()
    }

    /// Records an event. One predictable branch when nobody records.
    #[inline]
    pub fn trace(&self, kind: Kind, arg: u32) {
        if self.is_traced() {
            self.record(kind, arg, 0);
        }
    }

    /// Whether somebody records.
    #[inline]
    pub fn is_traced(&self) -> bool {
        self.pool.recorder().is_on()
    }

    /// Records an event with that name, or without one if it is 0.
    #[cold]
    pub fn record(&self, kind: Kind, arg: u32, name: u32) {
        match kind {
            Kind::TickStart => {
                let begun = self.record_begin(kind, arg, name);
                self.ticks.borrow_mut().push(begun);
            }
            Kind::TickEnd => {
                let begun = self.ticks.borrow_mut().pop();
                self.record_end(begun, kind, arg);
            }
            _ => self.record_at(heist_trace::now_ns(), kind, arg, name),
        }
    }

    fn record_at(&self, at_ns: u64, kind: Kind, arg: u32, name: u32) {
        match kind {
            Kind::Block => self.asleep.block(at_ns),
            Kind::Unblock => self.asleep.unblock(at_ns),
            // It runs none: those that are left have ended while nobody recorded.
            Kind::Park => self.ticks.borrow_mut().clear(),
            _ => {}
        }
        let ring = self.shared.ring.get_or_init(|| Ring::new(recorder::RING_EVENTS));
        let held =
            Some(self.shared.home()).filter(|&index| self.permits().words().get(index).is_by(self.id()));
        recorder::record_in(ring, Event { at_ns, kind, thread: self.id(), worker: held, arg }, name);
    }

    /// Records that the thread begins a job, a poll or a tick.
    #[cold]
    pub fn record_begin(&self, kind: Kind, arg: u32, name: u32) -> Begun {
        let at_ns = heist_trace::now_ns();
        self.record_at(at_ns, kind, arg, name);
        self.asleep.begin(at_ns, || self.pool.system().usage())
    }

    /// Records its end, and what of it the thread has spent asleep.
    #[cold]
    pub fn record_end(&self, begun: Option<Begun>, kind: Kind, arg: u32) {
        let at_ns = heist_trace::now_ns();
        let asleep_ns = begun.map_or(0, |begun| self.asleep.end(begun, at_ns, || self.pool.system().usage()));
        if asleep_ns > 0 {
            self.record_at(at_ns, Kind::Asleep, u32::try_from(asleep_ns / 1_000).unwrap_or(u32::MAX), 0);
        }
        self.record_at(at_ns, kind, arg, 0);
    }

    /// Whether the thread was left behind by a fork: its pool is the parent's.
    #[inline]
    pub fn is_orphan(&self) -> bool {
        self.pool.is_foreign()
    }

    /// Runs a job, in which the thread is meanwhile.
    #[inline]
    pub fn run_job(&self, number: u32, run: impl FnOnce()) {
        self.shared.while_doing(Doing::Job, || {
            let begun = self.is_traced().then(|| self.record_begin(Kind::JobStart, number, 0));
            run();
            if self.is_traced() {
                self.record_end(begun, Kind::JobEnd, number);
            }
        });
    }

    /// Runs what a thread of the program's own has called, which must not unwind. For traces it is a job.
    #[inline]
    pub fn run_visit(&self, run: impl FnOnce()) {
        let begun = self.is_traced().then(|| {
            let name = heist_trace::name::number("call from outside");
            self.record_begin(Kind::JobStart, 0, name)
        });
        run();
        if self.is_traced() && !self.is_orphan() {
            self.record_end(begun, Kind::JobEnd, 0);
        }
    }

    /// Sleeps on its parker until there is a token, or for that long. True if there was one.
    pub fn park(&self, timeout: Option<Duration>) -> bool {
        let parker = self.shared.parker();
        match (self.pool.queues().ticks().clock().manual(), timeout) {
            (None, None) => {
                parker.park();
                true
            }
            (None, Some(timeout)) => parker.park_timeout(timeout),
            (Some(clock), _) => {
                clock.fall_asleep();
                parker.park_telling(timeout, || clock.tend())
            }
        }
    }

    /// This thread spends its time on something else from here on. Returns what it did before.
    pub fn spend_on(&self, state: WorkerState) -> WorkerState {
        self.shared.own().times.switch(state)
    }

    /// Something of this thread's stack was shared, behind a fence.
    pub fn announce_shared(&self) {
        self.shared.note_cpu(&self.pool);
        self.permits().announce_fenced(&self.pool, WokenFor::Job);
    }

    /// Goes on with a push that met its bound. Whoever sleeps is told if something was shared.
    ///
    /// # Safety
    /// `slot` was pushed last on this thread, and the push has found its bound.
    pub unsafe fn push_or_share(&self, slot: *mut Slot) -> Pushed {
        let is_told = !is_planted("idle_clear_after_counters")
            || policy::on_new_work(self.permits().counters().view()) != policy::Wake::Nobody;
        // SAFETY: by the caller.
        let pushed = unsafe { self.shared.stack.push_slow(self.hot, slot) };
        if pushed == Pushed::Shared && is_told {
            self.announce_shared();
        }
        pushed
    }

    /// Puts a job into the own queue and tells whoever sleeps.
    pub fn spawn(&self, job: JobRef) {
        self.trace(Kind::Spawn, job.number());
        self.spawned.push(job);
        // ORDERING(PERMIT-E3): as in `Permits::announce`.
        if !is_planted("idle_spawn_unfenced") {
            fence(Ordering::SeqCst);
        }
        if self.permits().is_somebody_idle() {
            self.spawned.share_all();
        }
        self.permits().announce_fenced(&self.pool, WokenFor::Job);
    }

    /// Puts a task at the end of the own run queue. Tells nobody.
    #[inline]
    pub fn push_task(&self, task: TaskRef) {
        self.shared.tasks.push(task, |old| {
            self.shared.own().overflows.add(1);
            self.pool.queues().tasks.push_batch(old);
        });
    }

    /// Lets others have what is queued here, because this thread will not get to it.
    pub fn share_all(&self) {
        self.shared.stack.share_all(self.hot);
        self.spawned.share_all();
        if let Some(task) = self.shared.tasks.take_lifo() {
            self.push_task(task);
        }
    }

    /// Queues a job that was queued here for whoever is free.
    pub fn requeue(&self, job: JobRef) {
        self.pool.queues().jobs.push(job);
        self.permits().announce(&self.pool, WokenFor::Job);
    }

    /// Everything that is queued here goes to the injectors: this thread has no permit to run it with.
    pub fn hand_in(&self) {
        while !self.spawned.is_empty()
            && let Some(job) = self.spawned.pop()
        {
            self.requeue(job);
        }
        self.hand_in_tasks();
    }

    /// All tasks that are queued here go to the injector.
    pub fn hand_in_tasks(&self) {
        let tasks = &self.shared.tasks;
        if self.shared.has_tasks() {
            let lifo = tasks.take_lifo();
            self.pool.queues().tasks.push_batch(std::iter::from_fn(|| tasks.pop()).chain(lifo));
            self.permits().announce(&self.pool, WokenFor::Task);
        }
    }
}
