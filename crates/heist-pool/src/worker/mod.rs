//! A thread of the pool: what others may touch of it ([`WorkerShared`]), what only it touches ([`Worker`]), and its verbs.

mod find;
#[cfg(all(test, heist_loom))]
mod loom;
mod park;
mod permit;
mod run;
mod shared;
mod tasks;
mod wait;

pub use shared::WorkerShared;
pub(crate) use shared::{Doing, Given, Role, Status};
pub use wait::{Own, Spawned};

use crate::pool::Pool;
use crate::queues::forks::{Hot, Popped, Pushed, Slot, hot};
use crate::queues::job::JobRef;
use find::Search;
use heist_deque::Owner;
use heist_os::WokenFor;
use heist_policy as policy;
#[cfg(not(any(heist_loom, heist_shuttle)))]
use heist_sync::clock::Instant;
use heist_sync::planted::is_planted;
use heist_sync::{StdArc as Arc, lock};
use heist_trace::{Event, Kind, Ring};
use permit::OwnPermit;
use std::cell::Cell;
use tasks::OwnTasks;

/// What only the thread itself touches. It lives on the thread's own stack for as long as the thread belongs to the pool.
pub struct Worker {
    pool: Arc<Pool>,
    shared: Arc<WorkerShared>,
    hot: &'static Hot,
    permit: OwnPermit,
    search: Search,
    /// The owner's end of its queue of spawned jobs.
    spawned: Owner<JobRef>,
    tasks: OwnTasks,
    /// What it ran last.
    last: Cell<WokenFor>,
    /// When it last asked whether it shares a CPU with its victim.
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    left_cpu: Cell<Option<Instant>>,
}

impl Worker {
    /// Enrols the calling thread. `role` is `Guest` for a thread without the loop at the bottom of its stack.
    pub(crate) fn new(pool: Arc<Pool>, shared: Arc<WorkerShared>, role: Role) -> Self {
        let spawned = lock(&shared.vacant_end).take().expect("a vacant entry has its owner's end");
        let seed = std::ptr::from_ref(&*pool).addr() as u64
            ^ (u64::from(shared.id()) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        shared.set_number(pool.system().thread_number());
        shared.set_role(role);
        Self {
            pool,
            shared,
            hot: hot(),
            permit: OwnPermit::new(role),
            search: Search::new(seed),
            spawned,
            tasks: OwnTasks::default(),
            last: Cell::new(WokenFor::Job),
            #[cfg(not(any(heist_loom, heist_shuttle)))]
            left_cpu: Cell::new(None),
        }
    }

    /// The thread's forks go through this worker from here on.
    ///
    /// # Safety
    /// `self` must stay where it is until `leave`, which must come on this thread before it ends.
    pub(crate) unsafe fn enter(&self) {
        let me = std::ptr::from_ref(self).cast();
        // SAFETY: the entry came from the table, so nobody else owns its stack; the rest is the caller's promise.
        unsafe { self.shared.stack.enter(self.hot, me, !heist_sync::barrier::is_asymmetric()) };
    }

    pub(crate) fn leave(&self) {
        debug_assert!(self.spawned.is_empty() && !self.shared.has_tasks());
        self.shared.stack.leave(self.hot);
        self.pool.permits().words().move_out(self.shared.id());
        self.shared.set_number(None);
    }

    /// Gives the queue's end back to the entry, for the next thread.
    pub(crate) fn vacate(self) -> (Arc<Pool>, Arc<WorkerShared>) {
        let Self { pool, shared, spawned, .. } = self;
        *lock(&shared.vacant_end) = Some(spawned);
        (pool, shared)
    }

    /// The calling thread's, if it belongs to a pool.
    #[inline]
    pub fn current() -> Option<&'static Self> {
        Self::of(hot())
    }

    /// As [`current`](Self::current), from the hot block.
    #[inline]
    pub fn of(hot: &Hot) -> Option<&'static Self> {
        let worker = hot.worker().cast::<Self>();
        // SAFETY: set by `enter` and cleared by `leave`; in between `Worker` stays. The reference does not leave the thread
        // (`Worker` is not `Sync`), and callers do not keep it beyond the call that needs it.
        (!worker.is_null()).then(|| unsafe { &*worker })
    }

    /// The pool it belongs to.
    #[inline]
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// The part that others may touch.
    #[inline]
    pub fn shared(&self) -> &Arc<WorkerShared> {
        &self.shared
    }

    /// The thread's hot block.
    #[cfg(all(test, heist_loom))]
    pub fn hot(&self) -> &'static Hot {
        self.hot
    }

    /// Whether tasks that become ready on this thread may be queued here: it comes back to its loop.
    pub(crate) fn keeps_tasks(&self) -> bool {
        !self.permit.is_guest()
    }

    /// Whether a task's poll is on its stack.
    pub(crate) fn is_polling(&self) -> bool {
        self.tasks.is_polling.get()
    }

    /// Whether a job waits in its own queues.
    pub fn has_own_work(&self) -> bool {
        self.shared.has_work()
    }

    /// Whether it should offer work: somebody is idle or waits for what runs here, and what it offered last has been taken.
    ///
    /// If something is there to take, but private, this answers whoever has asked for it: the next push or pop, which would, may
    /// be far away.
    #[inline]
    pub fn wants_work(&self) -> bool {
        let stack = &self.shared.stack;
        if stack.has_pending(self.hot) {
            if self.hot.is_asked() && stack.answer(self.hot) {
                self.announce_shared();
            }
            return false;
        }
        self.pool.permits().is_somebody_idle() || self.hot.is_asked_by_thief()
    }

    /// Something of this thread's stack was shared, behind a fence.
    fn announce_shared(&self) {
        self.shared.note_cpu(&self.pool);
        self.pool.permits().announce_fenced(&self.pool, WokenFor::Job);
    }

    /// Goes on with a push that met its bound, and tells whoever sleeps if something was shared.
    ///
    /// # Safety
    /// `slot` was pushed last on this thread, and the push has found its bound.
    pub unsafe fn push_slow(&self, slot: *mut Slot) -> Pushed {
        if is_planted("idle_clear_after_counters")
            && policy::on_new_work(self.pool.permits().counters().view()) == policy::Wake::Nobody
        {
            // SAFETY: by the caller.
            return unsafe { self.shared.stack.push_slow(self.hot, slot) };
        }
        // SAFETY: by the caller.
        let pushed = unsafe { self.shared.stack.push_slow(self.hot, slot) };
        if pushed == Pushed::Shared {
            self.announce_shared();
        }
        pushed
    }

    /// Goes on with a pop that met its bound, and tells whoever sleeps if something was shared.
    ///
    /// # Safety
    /// `slot` was popped last on this thread, and the pop has found its bound.
    pub unsafe fn pop_slow(&self, slot: *mut Slot) -> Popped {
        // SAFETY: by the caller.
        let popped = unsafe { self.shared.stack.pop_slow(self.hot, slot) };
        if popped == Popped::MineAndShared {
            self.announce_shared();
        }
        popped
    }

    /// Records an event. One predictable branch when nobody records.
    #[inline]
    pub(crate) fn trace(&self, kind: Kind, arg: u32) {
        if self.pool.recorder().is_on() {
            self.record(kind, arg);
        }
    }

    #[cold]
    fn record(&self, kind: Kind, arg: u32) {
        let ring = self.shared.ring.get_or_init(|| Ring::new(crate::pool::RING_EVENTS));
        ring.record(Event {
            at_ns: heist_trace::now_ns(),
            kind,
            thread: self.shared.id(),
            worker: self.permit.index(),
            arg,
        });
    }
}
