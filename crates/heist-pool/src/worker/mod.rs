//! A thread of the pool: what others may touch of it ([`WorkerShared`]), what only it touches ([`Worker`]), and its verbs.
//!
//! A [`Worker`] is made of parts, each of which knows only those before it: `Me` (who the thread is, and the ends of its queues),
//! `OwnPermit`, `OwnTasks`, `Search`, `Sleep` and `Aside`. The worker itself is the loop and the waits that join them, and the door for
//! other crates. What is left of it in a child of a fork is in `orphan`.

mod aside;
mod find;
#[cfg(all(test, heist_loom))]
mod loom;
mod me;
mod orphan;
mod park;
mod permit;
mod run;
mod shared;
mod tasks;
mod wait;

pub use orphan::{Inherited, orphan_of, pop_inherited};
pub(crate) use orphan::{end_visit, has_inherited_forks, leave_after_fork};
pub use shared::{Doing, Role, Vacant, WorkerShared};
pub(crate) use shared::{Given, Status};
pub use wait::{Own, Spawned};

use crate::metrics::WorkerState;
use crate::permits::Count;
use crate::pool::Pool;
use crate::profile;
use crate::queues::forks::{Hot, Popped, Pushed, Slot, hot};
use crate::queues::job::JobRef;
use crate::queues::task::{Place, TaskRef};
use crate::recorder::asleep::Asleep;
use aside::Aside;
use find::{Found, Search};
use heist_sync::StdArc as Arc;
use me::Me;
use orphan::Orphaned;
use park::Sleep;
use permit::OwnPermit;
use std::cell::RefCell;
use tasks::OwnTasks;

/// Who would take more work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Demand {
    /// Nobody.
    None,
    /// A thread that is awake and searches, or waits for what runs here: to offer it something costs nanoseconds.
    Awake,
    /// A thread that sleeps: it has to be woken.
    Asleep,
    /// Whoever comes: this thread should stop.
    Anybody,
}

/// What only the thread itself touches. It lives on the thread's own stack for as long as the thread belongs to the pool.
pub struct Worker {
    me: Me,
    permit: OwnPermit,
    tasks: OwnTasks,
    search: Search,
    sleep: Sleep,
    aside: Aside,
    orphaned: Orphaned,
}

impl Worker {
    /// Enrols the calling thread. `role` is `Guest` for a thread without the loop at the bottom of its stack.
    pub(crate) fn new(pool: Arc<Pool>, vacant: Vacant, role: Role) -> Self {
        let Vacant { shared, end: spawned } = vacant;
        // The same in each run of a model; threads only have to differ from each other.
        let seed = (u64::from(shared.id()) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        // A guest's place is kept by its thread, and the number with it: asking is a system call.
        if shared.number().is_none() {
            shared.set_number(pool.system().thread_number());
        }
        if pool.watched().times_polls() {
            shared.own().timed.get_or_init(Box::default);
        }
        shared.set_role(role);
        Self {
            me: Me {
                pool,
                shared,
                hot: hot(),
                spawned,
                asleep: Asleep::default(),
                ticks: RefCell::default(),
            },
            permit: OwnPermit::new(role),
            tasks: OwnTasks::default(),
            search: Search::new(seed),
            sleep: Sleep::default(),
            aside: Aside::default(),
            orphaned: Orphaned::default(),
        }
    }

    /// The thread's forks go through this worker from here on. It runs with the permit `index`, if it has one. `is_searcher`: it was
    /// started to look for work, and is counted so.
    ///
    /// # Safety
    /// `self` must stay where it is until `leave`, which must come on this thread before it ends.
    pub(crate) unsafe fn enter(&self, index: Option<u16>, is_searcher: bool) {
        let worker = std::ptr::from_ref(self).cast();
        let is_fenced = !heist_sync::barrier::is_asymmetric();
        // SAFETY: the entry came from the table, so nobody else owns its stack; the rest is the caller's promise.
        unsafe { self.me.shared.stack.enter(self.me.hot, worker, is_fenced) };
        self.permit.set_index(&self.me, index);
        self.search.set_on(is_searcher);
        if self.permit.is_guest() {
            // What runs here, from its first moment, is the program's. Guests come and go too often for a clock.
            self.me.shared.set_doing(Doing::Job);
        } else {
            self.me.spend_on(if is_searcher { WorkerState::Searching } else { WorkerState::Busy });
        }
    }

    /// The thread leaves: what a guest has spawned stays, what a thread that ends has spawned in its exit handler runs now.
    pub(crate) fn leave(&self) {
        let Me { pool, shared, hot, spawned, .. } = &self.me;
        if self.permit.is_guest() {
            shared.set_doing(Doing::Loop);
        }
        while !self.permit.is_guest()
            && let Some(found) =
                spawned.pop().map(Found::Job).or_else(|| self.tasks.take(&self.me).map(Found::Task))
        {
            self.run_found(found);
        }
        self.permit.give_up(&self.me);
        debug_assert!(spawned.is_empty() && !shared.has_tasks());
        shared.stack.leave(hot);
        if self.permit.is_guest() {
            self.aside.forget();
            if let Some(clock) = pool.queues().ticks().clock().manual() {
                clock.tend();
            }
        } else {
            pool.permits().words().move_out(shared.id());
            self.me.spend_on(WorkerState::Gone);
        }
    }

    /// The entry, for the next thread.
    pub(crate) fn vacate(self) -> (Arc<Pool>, Vacant) {
        let Me { pool, shared, spawned: end, .. } = self.me;
        (pool, Vacant { shared, end })
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

    /// The calling thread's, if it belongs to `pool`.
    #[inline]
    pub fn current_in(pool: &Pool) -> Option<&'static Self> {
        Self::current().filter(|worker| std::ptr::eq(Arc::as_ptr(worker.pool()), pool))
    }

    /// The pool it belongs to.
    #[inline]
    pub fn pool(&self) -> &Arc<Pool> {
        &self.me.pool
    }

    /// Who its thread is.
    pub(crate) fn me(&self) -> &Me {
        &self.me
    }

    /// The part that others may touch.
    #[inline]
    pub fn shared(&self) -> &Arc<WorkerShared> {
        &self.me.shared
    }

    /// Whether a task's poll is on its stack.
    pub(crate) fn is_polling(&self) -> bool {
        self.tasks.is_polling()
    }

    /// The index of the permit that this thread runs with. From here on it keeps it. Without a permit it waits for one, except
    /// where there is none to be had: inside of `blocking`, and on a thread that runs tasks or rescues jobs without one.
    #[inline]
    pub fn index(&self) -> Option<usize> {
        let index = self.permit.observed();
        index.or_else(|| self.permit.observe(&self.me, self.is_polling())).map(usize::from)
    }

    /// As [`index`](Self::index), if this thread holds a permit now.
    pub fn observe_held(&self) -> Option<usize> {
        self.permit.observe_held(&self.me).map(usize::from)
    }

    /// Who would take work that this thread offered now.
    ///
    /// Nobody, as long as what it offered last has not been taken. If that is private, this answers whoever has asked for it: the next
    /// push or pop, which would, may be far away.
    #[inline]
    pub fn demand(&self) -> Demand {
        let Me { shared, hot, .. } = &self.me;
        if self.aside.is_retired(&self.me, &self.permit) {
            return Demand::Anybody;
        }
        if shared.stack.has_pending(hot) {
            if hot.is_asked() && shared.stack.answer(hot) {
                self.me.announce_shared();
            }
            return Demand::None;
        }
        let counters = self.me.permits().counters();
        if counters.get(Count::Searching) > 0 || hot.is_asked_by_thief() {
            Demand::Awake
        } else if counters.get(Count::Free) > 0 {
            Demand::Asleep
        } else {
            Demand::None
        }
    }

    /// Goes on with a push that met its bound, and tells whoever sleeps if something was shared.
    ///
    /// # Safety
    /// `slot` was pushed last on this thread, and the push has found its bound.
    pub unsafe fn push_slow(&self, slot: *mut Slot) -> Pushed {
        let hot = self.me.hot;
        hot.note_slow_push();
        let now = profile::now_if_metered(hot);
        // SAFETY: by the caller.
        let pushed = unsafe { self.me.push_or_share(slot) };
        if let Some(now) = now
            && pushed != Pushed::Full
        {
            let slot = self.me.shared.stack.slot_of(slot);
            profile::forked(hot, slot, now, pushed == Pushed::Shared);
        }
        pushed
    }

    /// Goes on with a pop that met its bound, and tells whoever sleeps if something was shared.
    ///
    /// # Safety
    /// `slot` was popped last on this thread, and the pop has found its bound.
    pub unsafe fn pop_slow(&self, slot: *mut Slot) -> Popped {
        // SAFETY: by the caller.
        let popped = unsafe { self.me.shared.stack.pop_slow(self.me.hot, slot) };
        if popped == Popped::MineAndShared {
            self.me.announce_shared();
        }
        popped
    }

    /// Puts a job into the own queue and tells whoever sleeps. Without a permit this thread will not get to a detached one.
    pub fn spawn(&self, job: JobRef) {
        let has_permit = matches!(self.permit.role(), Role::Holder | Role::Guest);
        if has_permit || !job.owner().is_null() { self.me.spawn(job) } else { self.me.pool.inject(job) }
    }

    /// Leaves the rest of what it does to others, if its permit is not active any more: see `aside`.
    pub fn stand_aside(&self) {
        self.aside.stand(&self.me, &self.permit);
    }

    /// Queues a task that became ready on this thread. A guest does not come back to a loop that would run it.
    #[inline]
    pub(crate) fn schedule(&self, task: TaskRef, place: Place) {
        if self.permit.is_guest() {
            return self.me.pool.schedule_outside(task);
        }
        self.tasks.schedule(&self.me, task, place);
    }
}
