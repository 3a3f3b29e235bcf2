//! A thread of the pool: what others may touch of it ([`Worker`]), what only it touches ([`Local`]), and its verbs.

mod find;
mod lend;
#[cfg(all(test, heist_loom))]
mod loom;
mod park;
mod run;
mod turn;
mod wait;

pub use find::Found;
pub use wait::{Own, Spawned};

use crate::forks::{Hot, Stack, hot};
use crate::job::JobRef;
use crate::place::{Bed, For};
use crate::pool::Pool;
use crate::tasks::RunQueue;
use heist_deque::{Owner, Thief};
#[cfg(not(any(heist_loom, heist_shuttle)))]
use heist_policy::tuning;
use heist_sync::atomic::{AtomicBool, AtomicU32, Ordering};
use heist_sync::clock::Instant;
use heist_sync::rand::Random;
use heist_sync::{Mutex, Parker, StdArc as Arc, lock};
use heist_trace::{Event, Kind, Ring};
use std::cell::{Cell, RefCell};
use std::sync::OnceLock;

/// What others may touch.
pub struct Worker {
    id: u16,
    pub(crate) stack: Stack,
    /// Jobs of scopes and detached ones that its thread has spawned.
    pub(crate) spawned: Thief<JobRef>,
    /// The other end of that, while no thread has it.
    vacant_end: Mutex<Option<Owner<JobRef>>>,
    pub(crate) tasks: RunQueue,
    pub(crate) parker: Arc<Parker>,
    /// What was given to the thread while it slept: one more than an index, `TASKS`, `LEAVE`, or 0 for nothing.
    given: AtomicU32,
    /// What it does, for the monitor: counts jobs and turns as they begin and end; odd inside of one. Written by its thread.
    pace: AtomicU32,
    /// Its thread is the program's.
    is_guest: AtomicBool,
    /// Whether its thread has an index.
    holds: AtomicBool,
    /// One more than the index it had last.
    home: AtomicU32,
    /// The kernel's number for the thread, 0 while there is none.
    tid: AtomicU32,
    /// Where it was when it last shared a job, as `place::here` says.
    core: AtomicU32,
    ring: OnceLock<Ring>,
    pub(crate) bed: Bed,
}

impl Worker {
    pub(crate) fn new(id: u16) -> Self {
        let (owner, spawned) = heist_deque::deque();
        Self {
            id,
            stack: Stack::new(),
            spawned,
            vacant_end: Mutex::new(Some(owner)),
            tasks: RunQueue::new(),
            parker: Arc::new(Parker::new()),
            given: AtomicU32::new(0),
            pace: AtomicU32::new(0),
            is_guest: AtomicBool::new(false),
            holds: AtomicBool::new(false),
            home: AtomicU32::new(0),
            tid: AtomicU32::new(0),
            core: AtomicU32::new(0),
            ring: OnceLock::new(),
            bed: Bed::new(),
        }
    }

    /// Its number among the pool's threads. Not the index: see there.
    pub fn id(&self) -> u16 {
        self.id
    }

    /// Where its thread sleeps.
    pub fn parker(&self) -> &Arc<Parker> {
        &self.parker
    }

    pub(crate) fn tid(&self) -> u32 {
        self.tid.load(Ordering::Relaxed)
    }

    /// Its thread's number in the kernel, unless that thread is the program's or has gone: then 0.
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    pub(crate) fn own_tid(&self) -> u32 {
        if self.is_guest.load(Ordering::Relaxed) { 0 } else { self.tid() }
    }

    pub(crate) fn home(&self) -> u16 {
        self.home.load(Ordering::Relaxed).saturating_sub(1) as u16
    }

    /// Tells a sleeping thread which index it now has, and wakes it; for a job, away from the caller's core if it can be.
    pub(crate) fn give(&self, index: u16, what: For, attend: &crate::attend::Attendance) {
        self.wake_with(u32::from(index) + 1, what, attend);
    }

    /// Tells a parked thread to run tasks without an index.
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    pub(crate) fn give_tasks(&self, attend: &crate::attend::Attendance) {
        self.wake_with(TASKS, For::Task, attend);
    }

    /// Tells a parked thread, which is not in the list of parked ones any more, to leave.
    pub(crate) fn dismiss(&self, attend: &crate::attend::Attendance) {
        self.wake_with(LEAVE, For::Task, attend);
    }

    fn wake_with(&self, given: u32, what: For, attend: &crate::attend::Attendance) {
        // ORDERING: release with the acquire in `take_given`: the desk's state. The parker would do, but a thread that
        // has not slept yet looks without it.
        self.given.store(given, Ordering::Release);
        if what == For::Job {
            self.bed.prepare(self.tid());
        }
        self.parker.unpark();
        attend.rouse(self.id);
    }

    fn take_given(&self) -> Option<Given> {
        if self.given.load(Ordering::Relaxed) == 0 {
            return None;
        }
        match self.given.swap(0, Ordering::Acquire) {
            0 => None,
            TASKS => Some(Given::Tasks),
            LEAVE => Some(Given::Leave),
            n => Some(Given::Index((n - 1) as u16)),
        }
    }

    fn was_given(&self) -> bool {
        self.given.load(Ordering::Relaxed) != 0
    }

    /// As `take_given`, for a thread in a wait: only a parked one is told to run tasks.
    fn take_given_index(&self) -> Option<u16> {
        self.take_given().map(|given| match given {
            Given::Index(index) => index,
            Given::Tasks | Given::Leave => unreachable!("given to a thread that is not parked"),
        })
    }

    /// What its thread does; changes whenever a job or turn begins or ends, and is odd inside of one.
    pub(crate) fn pace(&self) -> u32 {
        self.pace.load(Ordering::Relaxed)
    }

    /// Whether its thread has an index.
    pub(crate) fn holds_index(&self) -> bool {
        self.holds.load(Ordering::Relaxed)
    }

    pub(crate) fn has_work(&self) -> bool {
        self.has_jobs() || !self.tasks.is_empty()
    }

    pub(crate) fn has_jobs(&self) -> bool {
        self.stack.has_jobs() || !self.spawned.is_empty()
    }

    pub(crate) fn ring(&self) -> Option<&Ring> {
        self.ring.get()
    }
}

/// See [`Worker::give_tasks`].
const TASKS: u32 = u32::MAX;
/// See [`Worker::dismiss`].
const LEAVE: u32 = u32::MAX - 1;

/// What a sleeping thread was given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Given {
    Index(u16),
    /// No index, but tasks to run.
    Tasks,
    /// The pool has no use for it any more.
    Leave,
}

/// What a thread without an index is there for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Errand {
    /// Nothing.
    None,
    /// It runs jobs until there are none, because all others are stuck.
    Rescue,
    /// It runs tasks while every holder of an index is inside of one long turn.
    Overtake,
}

/// What only the thread itself touches. It lives on the thread's own stack for as long as the thread belongs to the pool.
pub struct Local {
    pool: Arc<Pool>,
    worker: Arc<Worker>,
    spawned: Owner<JobRef>,
    hot: &'static Hot,
    /// The index it runs with.
    index: Cell<Option<u16>>,
    searching: Cell<bool>,
    turn: Cell<u32>,
    random: RefCell<Random>,
    /// What it ran last.
    last: Cell<For>,
    /// It sleeps, or has not run anything since it slept: its core mask may not be its own.
    lying: Cell<bool>,
    errand: Cell<Errand>,
    /// It runs tasks without an index, and now jobs too, because all who have one sleep.
    forgoes: Cell<bool>,
    /// A task's turn is on its stack.
    in_turn: Cell<bool>,
    /// How many turns in a row went to the next place.
    next_runs: Cell<u32>,
    /// Since when it has seen something in the injector and run its own.
    injected_since: Cell<Option<Instant>>,
    /// When it last thought about whether it shares a core with its victim.
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    parted: Cell<Option<Instant>>,
    /// A thread of the pool's own, with the loop at the bottom of its stack; others are guests.
    is_guest: bool,
}

impl Local {
    /// Enrols the calling thread.
    ///
    /// # Safety
    /// The result must not move after `enter` and must be left on the same thread by `leave`.
    pub(crate) fn new(pool: Arc<Pool>, worker: Arc<Worker>, is_guest: bool) -> Self {
        let seed = pool.seed() ^ (u64::from(worker.id) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        worker.tid.store(crate::kernel::tid(), Ordering::Relaxed);
        worker.is_guest.store(is_guest, Ordering::Relaxed);
        let spawned = lock(&worker.vacant_end).take().expect("a vacant entry has its owner's end");
        Self {
            pool,
            worker,
            spawned,
            hot: hot(),
            index: Cell::new(None),
            searching: Cell::new(false),
            turn: Cell::new(0),
            random: RefCell::new(Random::new(seed)),
            last: Cell::new(For::Job),
            lying: Cell::new(false),
            errand: Cell::new(Errand::None),
            forgoes: Cell::new(false),
            in_turn: Cell::new(false),
            next_runs: Cell::new(0),
            injected_since: Cell::new(None),
            #[cfg(not(any(heist_loom, heist_shuttle)))]
            parted: Cell::new(None),
            is_guest,
        }
    }

    /// # Safety
    /// `self` must stay where it is until `leave`, which must come on this thread before it ends.
    pub(crate) unsafe fn enter(&self) {
        let me = std::ptr::from_ref(self).cast();
        // SAFETY: the entry came from the table, so nobody else owns its stack; the rest is the caller's promise.
        unsafe { self.worker.stack.enter(self.hot, me, !heist_sync::barrier::is_asymmetric()) };
    }

    pub(crate) fn leave(&self) {
        debug_assert!(self.spawned.is_empty() && !self.has_own_tasks());
        self.worker.stack.leave(self.hot);
        self.worker.tid.store(0, Ordering::Relaxed);
    }

    fn lie_down(&self) {
        if !self.lying.replace(true) {
            self.worker.bed.lie_down(self.last.get());
        }
    }

    /// Before anything of the user's runs.
    fn get_up(&self) {
        if self.lying.replace(false) {
            self.worker.bed.get_up();
        }
    }

    /// Gives the queue's end back to the entry, for the next thread.
    pub(crate) fn vacate(self) {
        let Self { pool, worker, spawned, .. } = self;
        *lock(&worker.vacant_end) = Some(spawned);
        pool.table().vacate(worker);
    }

    /// The calling thread's, if it belongs to a pool.
    #[inline]
    pub fn current() -> Option<&'static Self> {
        Self::of(hot())
    }

    /// As [`current`](Self::current), from the hot block.
    #[inline]
    pub fn of(hot: &Hot) -> Option<&'static Self> {
        let local = hot.local().cast::<Self>();
        // SAFETY: set by `enter` and cleared by `leave`; in between `Local` stays. The reference does not leave the thread
        // (`Local` is not `Sync`), and callers do not keep it beyond the call that needs it.
        (!local.is_null()).then(|| unsafe { &*local })
    }

    /// The pool it belongs to.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// The part that others may touch.
    pub fn worker(&self) -> &Arc<Worker> {
        &self.worker
    }

    /// The thread's hot block.
    pub fn hot(&self) -> &'static Hot {
        self.hot
    }

    /// The index it runs with.
    pub fn index(&self) -> Option<usize> {
        self.index.get().map(usize::from)
    }

    /// Whether it should offer work: somebody is idle or waits for what runs here, and what it offered last has been taken.
    ///
    /// If something is there to take, but private, this answers who has asked for it: the next push or pop, which would, may
    /// be far away.
    #[inline]
    pub fn is_hungry(&self) -> bool {
        let stack = &self.worker.stack;
        if stack.has_pending(self.hot) {
            if self.hot.is_asked() && stack.answer(self.hot) {
                self.announce_shared();
            }
            return false;
        }
        self.pool.is_somebody_idle() || self.hot.is_asked_by_thief()
    }

    /// Something of this thread's stack was shared, behind a fence.
    fn announce_shared(&self) {
        self.worker.core.store(crate::place::here(), Ordering::Relaxed);
        self.pool.announce_fenced();
    }

    /// This thread is about to run a job of `victim`'s. If the two share a core, it goes to another.
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    fn part_from(&self, victim: &Worker) {
        let here = crate::place::here();
        if here == 0 || victim.core.load(Ordering::Relaxed) != here || victim.id == self.worker.id {
            return;
        }
        let lately = |parted: Instant| parted.elapsed().as_nanos() < u128::from(tuning::PART_EVERY_NS);
        if self.parted.get().is_some_and(lately) {
            return;
        }
        self.parted.set(Some(Instant::now()));
        // It may have gone elsewhere since it said where it is.
        let core = here as usize - 1;
        if crate::kernel::computes_on(victim.tid()) == Some(core) {
            crate::place::leave(core);
        }
    }

    #[cfg(any(heist_loom, heist_shuttle))]
    fn part_from(&self, _: &Worker) {}

    /// Whether a job waits in its own queues.
    pub fn has_own_work(&self) -> bool {
        self.worker.has_work()
    }

    /// The first index of a thread that has just come. `is_searcher`: it was started to look for work, and is counted so.
    pub(crate) fn start_with(&self, index: u16, is_searcher: bool) {
        self.set_index(Some(index));
        self.searching.set(is_searcher);
    }

    /// A thread without an index has just come.
    pub(crate) fn start_errand(&self, errand: Errand) {
        match errand {
            Errand::Rescue => self.pool.rescuer_comes(self.worker.id),
            Errand::Overtake => {
                crate::kernel::set_slice(0, crate::kernel::Slice::Short);
                // Every push from here on comes to `push_slow`, which refuses it.
                let _ = self.worker.stack.arm();
            }
            Errand::None => {}
        }
        self.errand.set(errand);
    }

    /// It has nothing to do any more.
    fn end_errand(&self) {
        match self.errand.replace(Errand::None) {
            Errand::Rescue => self.pool.rescuer_goes(self.worker.id),
            Errand::Overtake => {
                self.hand_in_tasks();
                crate::kernel::set_slice(0, crate::kernel::Slice::Ordinary);
            }
            Errand::None => {}
        }
    }

    fn set_index(&self, index: Option<u16>) {
        if let Some(index) = index {
            self.worker.home.store(u32::from(index) + 1, Ordering::Relaxed);
        }
        self.worker.holds.store(index.is_some(), Ordering::Relaxed);
        self.index.set(index);
    }

    /// Whether jobs may run on this thread: not while it runs tasks without an index. Then they go through the injector, to
    /// a thread that has one.
    #[inline]
    pub fn runs_jobs(&self) -> bool {
        self.index.get().is_some() || self.errand.get() != Errand::Overtake || self.forgoes.get()
    }

    /// Whether tasks that become ready on this thread may be queued here: it comes back to its loop.
    pub(crate) fn keeps_tasks(&self) -> bool {
        !self.is_guest
    }

    /// Records an event. One predictable branch when nobody records.
    #[inline]
    pub(crate) fn trace(&self, kind: Kind, arg: u32) {
        if self.pool.is_tracing() {
            self.record(kind, arg);
        }
    }

    #[cold]
    fn record(&self, kind: Kind, arg: u32) {
        let ring = self.worker.ring.get_or_init(|| Ring::new(crate::pool::RING_EVENTS));
        ring.record(Event {
            at_ns: heist_trace::now_ns(),
            kind,
            thread: self.worker.id,
            worker: self.index.get(),
            arg,
        });
    }
}
