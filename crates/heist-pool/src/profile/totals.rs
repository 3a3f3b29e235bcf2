//! What is counted for the whole process while a profile is taken.

use super::frame::Outcome;
use super::meter::Root;
use super::start::{Gathered, Start};
use super::sums::{Path, Sums};
use crate::metrics::histogram::{Histogram, Recorded};
use crate::metrics::polls::waited_ns;
use crate::queues::task::TaskRef;
use crate::worker::Worker;
use heist_sync::process::PerProcess;
use heist_sync::std_atomic::{AtomicU64, Ordering};
use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Why a thread with a permit runs nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Idle {
    /// It looks for work.
    Searching = 0,
    /// It waits for another thread, and has not lent its permit yet.
    Waiting = 1,
}

static IDLE_NS: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// So much time was spent so.
pub(crate) fn note_idle(why: Idle, ns: u64) {
    IDLE_NS[why as usize].fetch_add(ns, Ordering::Relaxed);
}

/// Polls of tasks, or runs of ticks.
struct Runs {
    count: AtomicU64,
    time: AtomicU64,
    longest: AtomicU64,
    /// How often a task was made ready, and how often while it was polled.
    wakes: AtomicU64,
    self_wakes: AtomicU64,
    /// How long they were ready, or due, before they began; in nanoseconds.
    waited: Recorded,
}

impl Runs {
    const fn new() -> Self {
        Self {
            count: AtomicU64::new(0),
            time: AtomicU64::new(0),
            longest: AtomicU64::new(0),
            wakes: AtomicU64::new(0),
            self_wakes: AtomicU64::new(0),
            waited: Recorded::new(),
        }
    }
}

static POLLS: Runs = Runs::new();
static TICKS: Runs = Runs::new();

/// How often, for how long in all, the longest, and what came before they began.
#[derive(Clone, Default, Debug)]
pub(super) struct RunsSeen {
    pub count: u64,
    pub time: u64,
    pub longest: u64,
    pub wakes: u64,
    pub self_wakes: u64,
    // Large for a stack.
    pub waited_ns: Box<Histogram>,
}

/// The task at this address is made ready: by its own thread in the middle of its poll, if it was woken there.
pub(crate) fn note_ready(task: usize) {
    POLLS.wakes.fetch_add(1, Ordering::Relaxed);
    if Worker::current().is_some_and(|worker| worker.shared().own().running() == task) {
        POLLS.self_wakes.fetch_add(1, Ordering::Relaxed);
    }
}

/// The task is polled now. `is_timed`: somebody else asks the same after.
pub(crate) fn note_waited(task: &TaskRef, is_timed: bool) {
    waited_ns(task, is_timed).into_iter().for_each(|ns| POLLS.waited.record_shared(ns));
}

/// A tick begins so long after it was due.
pub fn note_late(ns: u64) {
    TICKS.waited.record_shared(ns);
}

/// A profile begins, and there is no other: what was longest before is none of its.
pub(super) fn forget_longest() {
    for runs in [&POLLS, &TICKS] {
        runs.longest.store(0, Ordering::Relaxed);
        runs.waited.forget_max();
    }
}

impl Runs {
    fn add(&self, outcome: &Outcome) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.time.fetch_add(outcome.sums.work, Ordering::Relaxed);
        self.longest.fetch_max(outcome.sums.work, Ordering::Relaxed);
    }

    fn seen(&self) -> RunsSeen {
        let read = |word: &AtomicU64| word.load(Ordering::Relaxed);
        RunsSeen {
            count: read(&self.count),
            time: read(&self.time),
            longest: read(&self.longest),
            wakes: read(&self.wakes),
            self_wakes: read(&self.self_wakes),
            waited_ns: Box::new(self.waited.histogram()),
        }
    }
}

/// What was counted up to now; two of them tell what came between.
#[derive(Clone, Default, Debug)]
pub(super) struct Seen {
    pub searching_ns: u64,
    pub waiting_ns: u64,
    pub steals: u64,
    pub tries: u64,
    pub polls: RunsSeen,
    pub ticks: RunsSeen,
}

impl Seen {
    pub fn now() -> Self {
        let idle = |why: Idle| IDLE_NS[why as usize].load(Ordering::Relaxed);
        let (mut steals, mut tries) = (0, 0);
        for pool in crate::global::all() {
            for worker in pool.threads().table().iter() {
                steals += worker.own().steals.get();
                tries += worker.own().steals_tried.get();
            }
        }
        Self {
            searching_ns: idle(Idle::Searching),
            waiting_ns: idle(Idle::Waiting),
            steals,
            tries,
            polls: POLLS.seen(),
            ticks: TICKS.seen(),
        }
    }

    pub fn since(self, before: &Self) -> Self {
        // A pool that is gone takes its counts with it.
        let runs = |now: RunsSeen, before: &RunsSeen| RunsSeen {
            count: now.count - before.count,
            time: now.time - before.time,
            longest: now.longest,
            wakes: now.wakes - before.wakes,
            self_wakes: now.self_wakes - before.self_wakes,
            waited_ns: Box::new(now.waited_ns.since(&before.waited_ns)),
        };
        Self {
            searching_ns: self.searching_ns - before.searching_ns,
            waiting_ns: self.waiting_ns - before.waiting_ns,
            steals: self.steals.saturating_sub(before.steals),
            tries: self.tries.saturating_sub(before.tries),
            polls: runs(self.polls, &before.polls),
            ticks: runs(self.ticks, &before.ticks),
        }
    }
}

/// What the process has computed, if it is profiled as a whole.
#[derive(Clone, Default, Debug)]
pub(super) struct Whole {
    pub sums: Sums,
    pub path: Path,
    /// How many calls from outside run, since when one does, and for how long one did.
    running: u32,
    since: u64,
    pub inside: u64,
}

// A child of a fork has its own: the lock may be another thread's there.
static WHOLE: PerProcess<Mutex<Option<Whole>>> = PerProcess::new(Mutex::new(None), || Mutex::new(None));

thread_local! {
    /// How far this thread of the program's own has come, by its calls one after the other.
    static CHAIN: Cell<Path> = const { Cell::new(Path { span: 0, burdened: 0 }) };
}

fn whole() -> MutexGuard<'static, Option<Whole>> {
    WHOLE.get().lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn begin_whole() {
    whole().get_or_insert_default();
}

/// As it is now. `None` if another thread does not give the lock back soon: at the end of a process it may not exist any more.
pub(super) fn whole_now(now: u64) -> Option<Whole> {
    let mut whole = heist_sync::lock_soon(|| WHOLE.get().try_lock())?.clone()?;
    if whole.running > 0 {
        whole.inside += now.saturating_sub(whole.since);
    }
    Some(whole)
}

/// A thread of the program's own calls into a pool.
pub(super) fn begin_call(now: u64) {
    if let Some(whole) = whole().as_mut() {
        whole.running += 1;
        if whole.running == 1 {
            whole.since = now;
        }
    }
}

/// The call has returned.
pub(super) fn end_call(outcome: &Outcome, now: u64) {
    if let Some(whole) = whole().as_mut() {
        let chain = CHAIN.get().then(outcome.path);
        CHAIN.set(chain);
        whole.running -= 1;
        if whole.running == 0 {
            whole.inside += now.saturating_sub(whole.since);
        }
        whole.sums.add(&outcome.sums);
        whole.path = whole.path.longer(chain);
    }
}

pub(super) fn add_root(root: Root, outcome: &Outcome) {
    match root {
        Root::Poll => POLLS.add(outcome),
        Root::Tick => TICKS.add(outcome),
        Root::Job => {
            if let Some(whole) = whole().as_mut() {
                whole.sums.add(&outcome.sums);
                whole.path = whole.path.longer(outcome.path);
            }
        }
    }
}

pub(super) fn add_gathered(gathered: &Gathered) {
    if let Some(whole) = whole().as_mut() {
        whole.sums.add(&gathered.sums);
        whole.path = whole.path.longer(gathered.end_from(&Start::default()));
    }
}
