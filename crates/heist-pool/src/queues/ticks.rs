//! Where ticks wait until they are due: one queue for each index, by due time.
//!
//! What a tick is, and when it is due again, is its maker's business. The pool promises that each [`TickRef`] in a queue leaves it exactly
//! once: taken by a thread that runs it, or withdrawn by its maker. Queues belong to indices, not to threads: whoever holds a permit serves
//! its queue, so a thread that lends, blocks or leaves takes nothing with it.

use super::load::Loads;
use crate::clock::Clock;
use crate::pool::Pool;
use crate::watchdog::Watchdog;
use crossbeam_utils::CachePadded;
use heist_policy::tick::TickView;
use heist_sync::atomic::{AtomicU32, AtomicU64, Ordering};
use heist_sync::planted::is_planted;
use heist_sync::{Mutex, StdArc as Arc, lock, lock_soon, prefetch};
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::{OnceLock, Weak};
use std::time::Duration;

pub use heist_policy::tick::NEVER;

/// A tick, as far as the pool knows it.
pub trait Tick: Send + Sync {
    /// Runs what is due of it. The caller has taken it out of its queue. It must not unwind. Returns how long that took.
    fn run(self: Arc<Self>, taken: &Taken<'_>) -> u64;

    /// The pool is closing: it should end.
    fn close(self: Arc<Self>);

    /// No permit was active for a while, and in a moment one is: nothing is late for that.
    fn go_on(self: Arc<Self>) {}

    /// For the watchdog: after how long something about it should be reported; [`NEVER`] if nothing is to come.
    fn watchdog_ns(&self) -> u64;

    /// For the watchdog: whether something about it should be reported. Called every now and then, on any thread.
    fn is_overdue(&self, now_ns: u64) -> bool;

    /// Reports it, on a thread of its own.
    fn report(self: Arc<Self>);

    /// What of it is under way at `now_ns`, for those who wonder what a pool waits for.
    fn running(&self, _now_ns: u64) -> Option<TickNow> {
        None
    }

    /// How it is doing; `None` if it is over.
    fn shown(&self) -> Option<TickShown> {
        None
    }
}

/// A tick of which a run, or a closure that was submitted to it, is under way.
#[derive(Clone, Debug)]
pub struct TickNow {
    /// Its name.
    pub name: Option<Box<str>>,
    /// Where it was spawned.
    pub site: &'static Location<'static>,
    /// For how long.
    pub since: Duration,
}

/// How a tick is doing, in plain numbers: over the last 5 seconds, if nothing else is said.
#[derive(Clone, Debug)]
pub struct TickShown {
    /// Its name.
    pub name: Option<Box<str>>,
    /// Where it was spawned.
    pub site: &'static Location<'static>,
    /// How often it should run.
    pub period: Duration,
    /// Runs per second.
    pub tps: f64,
    /// How long runs took: the mean, and the longest.
    pub took: (Duration, Duration),
    /// How late runs began: the mean, and the latest.
    pub late: (Duration, Duration),
    /// Periods that were skipped since the beginning.
    pub skipped: u64,
}

/// So many cache lines of a tick are asked for before it is taken: what a short run touches of it.
const TICK_LINES: usize = 9;

/// What travels through the queues.
pub type TickRef = Arc<dyn Tick>;

/// When a tick is to be run, in nanoseconds since the pool's epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct When {
    /// Not before.
    pub due_ns: u64,
    /// From then on another worker may take it; [`NEVER`] for one that stays where it is.
    pub stealable_ns: u64,
    /// The node that it should run near, if there are several.
    pub near: Option<u16>,
}

/// A tick that others may take.
struct Loose {
    tick: TickRef,
    stealable_ns: u64,
    near: Option<u16>,
}

/// How a tick's maker finds it in its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key {
    order: Order,
    is_pinned: bool,
}

/// The order of a queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Order {
    due_ns: u64,
    /// Of two that are due at the same time, the one that was queued first comes first; where time is virtual, the one that was spawned first.
    number: u64,
}

/// A tick that was taken out of its queue, and by whom.
#[derive(Debug)]
pub struct Taken<'a> {
    /// The pool.
    pub pool: &'a Pool,
    /// The index whose queue it was in.
    pub from: u16,
    /// The index of the thread that has taken it. `None` if that has no permit.
    pub index: Option<u16>,
    /// Whether it stays with that index from here on: another thread serves the one that it was in, and was late.
    pub moves: bool,
    /// When it was taken.
    pub at_ns: u64,
}

impl Taken<'_> {
    /// When the next tick is due that the thread should run.
    pub fn next_due_ns(&self) -> u64 {
        let ticks = self.pool.queues().ticks();
        match self.index {
            Some(index) => ticks.due_ns(index),
            // Those that are pinned are not for this thread.
            None => ticks.view(self.from, true).due_ns,
        }
    }
}

/// The queue of one index, and what it says to those without its lock.
struct TickQueue {
    entries: Mutex<Entries>,
    /// When its first tick is due.
    due_ns: AtomicU64,
    /// When the first that others may take is due, and from when on they may.
    loose_due_ns: AtomicU64,
    stealable_ns: AtomicU64,
    /// One more than the node that it should run near, 0 for none. A hint.
    near: AtomicU32,
}

#[derive(Default)]
struct Entries {
    /// Those that others may take, once they are late enough.
    loose: BTreeMap<Order, Loose>,
    /// Those that only the holder of the index may run.
    pinned: BTreeMap<Order, TickRef>,
    /// How many have been queued.
    queued: u64,
}

impl TickQueue {
    fn new() -> Self {
        Self {
            entries: Mutex::new(Entries::default()),
            due_ns: AtomicU64::new(NEVER),
            loose_due_ns: AtomicU64::new(NEVER),
            stealable_ns: AtomicU64::new(NEVER),
            near: AtomicU32::new(0),
        }
    }

    /// Changes the queue and says what is first in it now.
    fn change<R>(&self, change: impl FnOnce(&mut Entries) -> R) -> R {
        let mut entries = lock(&self.entries);
        let result = change(&mut entries);
        let loose = entries.loose.first_key_value();
        if let Some((_, next)) = loose {
            // Of many ticks most are far away in memory. This one comes near while another runs.
            prefetch(Arc::as_ptr(&next.tick), TICK_LINES);
        }
        let (loose_due_ns, stealable_ns, near) =
            loose.map_or((NEVER, NEVER, None), |(order, next)| (order.due_ns, next.stealable_ns, next.near));
        self.near.store(near.map_or(0, |node| u32::from(node) + 1), Ordering::Relaxed);
        let pinned_ns = entries.pinned.keys().next().map_or(NEVER, |order| order.due_ns);
        // ORDERING(TICK-E1): relaxed, under the lock; whoever must not miss this fences between this and its own look
        // (`DriverWaiter::hasten`, `DriverLock::wait_for_ticks`).
        self.loose_due_ns.store(loose_due_ns, Ordering::Relaxed);
        self.stealable_ns.store(stealable_ns, Ordering::Relaxed);
        self.due_ns.store(loose_due_ns.min(pinned_ns), Ordering::Relaxed);
        result
    }
}

/// The tick queues of a pool, and all its ticks.
pub struct Ticks {
    clock: Clock,
    queues: Box<[CachePadded<TickQueue>]>,
    spawned: AtomicU64,
    loads: Loads,
    all: Mutex<All>,
    watchdog: Watchdog,
    /// What the maker of ticks keeps of the pool.
    extension: OnceLock<Box<dyn Any + Send + Sync>>,
}

/// Every tick that is not over, queued or not.
#[derive(Default)]
struct All {
    ticks: BTreeMap<u64, Weak<dyn Tick>>,
    next_id: u64,
    /// How often a watchdog has become more strict.
    watch_changes: u64,
    is_closed: bool,
}

impl Ticks {
    pub(crate) fn new(permits: usize, clock: Clock) -> Self {
        Self {
            clock,
            queues: (0..permits).map(|_| CachePadded::new(TickQueue::new())).collect(),
            spawned: AtomicU64::new(0),
            loads: Loads::new(permits),
            all: Mutex::new(All::default()),
            watchdog: Watchdog::default(),
            extension: OnceLock::new(),
        }
    }

    /// What the time is, and was.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Now, in the pool's time.
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// Counts the ticks that are spawned, from one on.
    pub fn next_spawned(&self) -> u64 {
        self.spawned.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A place for the maker of ticks.
    pub fn extension(&self) -> &OnceLock<Box<dyn Any + Send + Sync>> {
        &self.extension
    }

    /// How much work the ticks of each index are.
    pub fn loads(&self) -> &Loads {
        &self.loads
    }

    /// Adds a tick, which is to be found when the pool closes and by the watchdog. `None` if the pool is closed.
    pub fn enlist(&self, tick: Weak<dyn Tick>, watchdog_ns: u64) -> Option<u64> {
        let mut all = lock(&self.all);
        if all.is_closed {
            return None;
        }
        self.watch(&mut all, watchdog_ns);
        let id = all.next_id;
        all.next_id += 1;
        all.ticks.insert(id, tick);
        Some(id)
    }

    /// The watchdog looks often enough for this, too.
    fn watch(&self, all: &mut All, watchdog_ns: u64) {
        all.watch_changes += 1;
        self.watchdog.watch(watchdog_ns, self.now_ns());
    }

    /// The watchdog of a tick has become more strict. Returns when it looks next.
    pub(crate) fn watch_more(&self, watchdog_ns: u64) -> u64 {
        self.watch(&mut lock(&self.all), watchdog_ns);
        self.watchdog.next_ns()
    }

    /// A tick is over.
    pub fn delist(&self, id: u64) {
        let gone = lock(&self.all).ticks.remove(&id);
        drop(gone);
    }

    /// What is under way.
    pub fn running(&self) -> Vec<TickNow> {
        let all: Vec<_> = lock(&self.all).ticks.values().filter_map(Weak::upgrade).collect();
        let now_ns = self.now_ns();
        all.iter().filter_map(|tick| tick.running(now_ns)).collect()
    }

    /// How those are doing that were spawned first, at most so many; and how many more there are.
    pub fn shown(&self, most: usize) -> (Vec<TickShown>, usize) {
        let all = lock(&self.all);
        let more = all.ticks.len().saturating_sub(most);
        let first: Vec<_> = all.ticks.values().take(most).filter_map(Weak::upgrade).collect();
        drop(all);
        (first.iter().filter_map(|tick| tick.shown()).collect(), more)
    }

    /// How many wait in the queue of an index.
    pub(crate) fn queued(&self, index: u16) -> usize {
        let entries = lock(&self.queue(index).entries);
        entries.loose.len() + entries.pinned.len()
    }

    /// A permit is going to be active again, after none was.
    pub(crate) fn go_on(&self) {
        let ticks: Vec<_> = lock(&self.all).ticks.values().filter_map(Weak::upgrade).collect();
        ticks.into_iter().for_each(Tick::go_on);
    }

    /// As [`running`](Self::running), each with its address, for one who must not hang.
    pub(crate) fn try_running(&self) -> Option<Vec<(usize, TickNow)>> {
        let all: Vec<_> =
            lock_soon(|| self.all.try_lock())?.ticks.values().filter_map(Weak::upgrade).collect();
        let now_ns = self.now_ns();
        let running = |tick: &TickRef| Some((Arc::as_ptr(tick).addr(), tick.running(now_ns)?));
        Some(all.iter().filter_map(running).collect())
    }

    /// The pool is closing: no more ticks, and those that are there end.
    pub(crate) fn close(&self) {
        let ticks = {
            let mut all = lock(&self.all);
            all.is_closed = true;
            all.ticks.values().filter_map(Weak::upgrade).collect::<Vec<_>>()
        };
        ticks.into_iter().for_each(Tick::close);
    }

    fn queue(&self, index: u16) -> &TickQueue {
        &self.queues[usize::from(index)]
    }

    /// Queues a tick, with the number that it was enlisted with. The caller goes on with `DriverWaiter::hasten` once it has released its own
    /// locks.
    pub fn push(&self, index: u16, when: When, id: u64, tick: TickRef) -> Key {
        let is_pinned = when.stealable_ns == NEVER;
        self.queue(index).change(|entries| {
            let number = if self.clock.manual().is_some() { id } else { entries.queued };
            let order = Order { due_ns: when.due_ns, number };
            entries.queued += 1;
            match is_pinned {
                true => drop(entries.pinned.insert(order, tick)),
                false => {
                    let When { stealable_ns, near, .. } = when;
                    entries.loose.insert(order, Loose { tick, stealable_ns, near });
                }
            }
            Key { order, is_pinned }
        })
    }

    /// Takes a tick back out of its queue. `None` if a thread has taken it to run it.
    pub fn withdraw(&self, index: u16, key: Key) -> Option<TickRef> {
        self.queue(index).change(|entries| match key.is_pinned {
            true => entries.pinned.remove(&key.order),
            false => entries.loose.remove(&key.order).map(|loose| loose.tick),
        })
    }

    /// When the first tick of an index is due.
    pub(crate) fn due_ns(&self, index: u16) -> u64 {
        self.queue(index).due_ns.load(Ordering::Relaxed)
    }

    /// What others see of an index's queue. `is_open`: they may take what is due at once.
    pub(crate) fn view(&self, index: u16, is_open: bool) -> TickView {
        let queue = self.queue(index);
        let due_ns = queue.loose_due_ns.load(Ordering::Relaxed);
        let stealable_ns = queue.stealable_ns.load(Ordering::Relaxed);
        TickView { due_ns, stealable_ns: if is_open { due_ns } else { stealable_ns } }
    }

    /// The node that the tick of [`view`](Self::view) should run near.
    pub(crate) fn near(&self, index: u16) -> Option<u16> {
        self.queue(index).near.load(Ordering::Relaxed).checked_sub(1).map(|node| node as u16)
    }

    /// The first tick of an index, if it is due, for the holder of its permit.
    pub(crate) fn pop(&self, index: u16, now_ns: u64) -> Option<TickRef> {
        self.queue(index).change(|entries| {
            let loose = entries.loose.first_entry().filter(|first| first.key().due_ns <= now_ns);
            let pinned = entries.pinned.first_entry().filter(|first| first.key().due_ns <= now_ns);
            match (loose, pinned) {
                (Some(loose), Some(pinned)) if loose.key() < pinned.key() => Some(loose.remove().tick),
                (_, Some(pinned)) => Some(pinned.remove()),
                (Some(loose), None) => Some(loose.remove().tick),
                (None, None) => None,
            }
        })
    }

    /// The first tick of another index, if it may be taken. `is_open` as for [`view`](Self::view); `far_ns` is how much longer the thief
    /// leaves one to those that are nearer to a node.
    pub(crate) fn steal(
        &self,
        index: u16,
        now_ns: u64,
        is_open: bool,
        far_ns: impl FnOnce(Option<u16>) -> u64,
    ) -> Option<TickRef> {
        self.queue(index).change(|entries| {
            let first = entries.loose.first_entry()?;
            let from_ns = if is_open { first.key().due_ns } else { first.get().stealable_ns };
            let from_ns = from_ns.saturating_add(far_ns(first.get().near));
            (from_ns <= now_ns).then(|| match is_planted("tick_thief_leaves_it") {
                true => Arc::clone(&first.get().tick),
                false => first.remove().tick,
            })
        })
    }

    /// Who looks now and then whether a tick is late.
    pub(crate) fn watchdog(&self) -> &Watchdog {
        &self.watchdog
    }

    /// The watchdog's look, if it is time for one: those ticks about which something should be reported.
    pub(crate) fn overdue(&self, now_ns: u64) -> Vec<TickRef> {
        if !self.watchdog.begin(now_ns) {
            return Vec::new();
        }
        let all = lock(&self.all);
        let (changes, mut ticks) =
            (all.watch_changes, all.ticks.values().filter_map(Weak::upgrade).collect::<Vec<_>>());
        drop(all);
        // A tick's own lock comes before that of the list.
        let strictest_ns = ticks.iter().map(|tick| tick.watchdog_ns()).min().unwrap_or(NEVER);
        ticks.retain(|tick| tick.is_overdue(now_ns));
        let all = lock(&self.all);
        if all.watch_changes == changes {
            self.watchdog.watch_only(strictest_ns, now_ns);
        }
        drop(all);
        ticks
    }
}
