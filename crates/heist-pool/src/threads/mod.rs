//! The pool's threads: how they come, who they are, and how they go.

mod close;
pub mod guest;
mod named;
mod start;
mod table;

pub(crate) use named::Named;
pub use named::{Closure, ClosureKind, ThreadNow, ThreadState, named};
pub use start::ThreadStart;
pub use table::{MOST, Table};

use crate::permits::Open;
use crate::pool::{Config, Pool};
use heist_os::{CpuMask, System};
use heist_policy::tuning;
use heist_sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use heist_sync::clock::Instant;
use heist_sync::{Condvar, Mutex, Rest, lock, thread};
use std::time::Duration;

/// The pool is open.
const OPEN: u8 = 0;
/// The handle is gone; what was accepted still runs.
const CLOSING: u8 = 1;
/// Nothing is left to do; threads leave.
const OVER: u8 = 2;

/// What a thread runs. In a box, so that starting one is compiled once.
type Run = Box<dyn FnOnce() + Send>;

/// See the module.
pub struct Threads {
    table: Table,
    phase: AtomicU8,
    /// Threads with the loop at the bottom.
    live: AtomicUsize,
    /// Other threads that have joined in. Changed while the ledger is open.
    pub(crate) guests: AtomicUsize,
    /// Whether others may.
    takes_guests: AtomicBool,
    /// One of these has made the pool, and belongs to it until it ends.
    has_maker: AtomicBool,
    handles: Mutex<Vec<thread::JoinHandle<()>>>,
    /// What those threads say of what they run.
    named: Mutex<Vec<heist_sync::StdArc<named::Entry>>>,
    left: Mutex<()>,
    all_left: Condvar,
    /// A thread runs tasks that became ready after the pool's own had left.
    has_late: AtomicBool,
    /// The system has refused to start a thread: when it is asked again, and how long that is after the last refusal.
    refusal: Mutex<Option<(Instant, Duration)>>,
    /// Whether there is a refusal, in front of its lock.
    is_refused: AtomicBool,
    has_warned_no_spare: AtomicBool,
    /// The CPUs of the thread that made the pool: whoever starts a spare thread later may have fewer.
    mask: Option<CpuMask>,
}

impl Threads {
    pub(crate) fn new(config: &Config, system: &'static dyn System) -> Self {
        let is_off = heist_sync::switch("HEIST_GUESTS") == Some(false);
        Self {
            table: Table::new(system),
            phase: AtomicU8::new(OPEN),
            live: AtomicUsize::new(0),
            guests: AtomicUsize::new(0),
            takes_guests: AtomicBool::new(config.may_take_guests() && !is_off),
            has_maker: AtomicBool::new(false),
            handles: Mutex::new(Vec::new()),
            named: Mutex::new(Vec::new()),
            left: Mutex::new(()),
            all_left: Condvar::new(),
            has_late: AtomicBool::new(false),
            refusal: Mutex::new(None),
            is_refused: AtomicBool::new(false),
            has_warned_no_spare: AtomicBool::new(false),
            mask: if config.foreign_threads { None } else { system.mask(None) },
        }
    }

    /// All that ever worked for the pool.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// How many there are, guests included.
    pub(crate) fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed) + self.guests.load(Ordering::Relaxed)
    }

    /// Whether all of them sleep, nobody has woken one, and there is nothing for which one will be.
    pub(crate) fn are_asleep(&self, pool: &Pool) -> bool {
        let sleeps = |rest| match rest {
            Rest::Awake => false,
            Rest::Here => true,
            Rest::Elsewhere => pool.driver().is_asleep(),
        };
        let asleep = self.table.iter().filter(|worker| sleeps(worker.parker().rest())).count();
        asleep == self.live()
            && pool.permits().are_all_free()
            && (pool.active() == 0 || !pool.queues().has_visible_work(&self.table))
    }

    /// How many of these are threads of the program's own.
    pub(crate) fn guests(&self) -> usize {
        self.guests.load(Ordering::Relaxed)
    }

    /// A thread of the program's own has got a permit, to work in the pool.
    pub(crate) fn count_guest(&self, _: &Open<'_>) {
        self.guests.store(self.guests() + 1, Ordering::Relaxed);
    }

    /// It has given it back, and leaves.
    pub(crate) fn uncount_guest(&self, _: &Open<'_>) {
        self.guests.store(self.guests() - 1, Ordering::Relaxed);
    }

    /// Whether a thread of the program's own may work in the pool.
    pub(crate) fn takes_guests(&self) -> bool {
        self.takes_guests.load(Ordering::Relaxed)
    }

    /// The program sets something up on each of the pool's threads, which a guest would lack.
    pub(crate) fn refuse_guests(&self) {
        if self.takes_guests() {
            self.takes_guests.store(false, Ordering::Relaxed);
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.phase.load(Ordering::Acquire) == OVER
    }

    /// Whether there are more than permits, so that one without work may leave. A thread that somebody else has started cannot be
    /// started again.
    pub(crate) fn may_retire(&self, pool: &Pool) -> bool {
        !pool.config().foreign_threads && self.live() > pool.active().max(1)
    }

    /// Whether the thread that built the pool is one of its own.
    pub(crate) fn has_maker(&self) -> bool {
        self.has_maker.load(Ordering::Relaxed)
    }

    /// Whether a spare thread can be had now.
    pub(crate) fn may_start(&self, pool: &Pool) -> bool {
        let config = pool.config();
        let most = match config.max_threads {
            0 if config.is_bound() => pool.parallelism(),
            0 => pool.parallelism() + crate::pool::DEFAULT_SPARES,
            n => n,
        };
        let own = self.live.load(Ordering::Relaxed) + usize::from(self.has_maker());
        // Refused so lately that asking again makes no sense.
        let is_too_early =
            || self.is_refused() && lock(&self.refusal).is_some_and(|(until, _)| Instant::now() < until);
        !config.foreign_threads && own < most && !self.is_over() && !is_too_early()
    }

    /// Said once: what it means for the program that there is none.
    pub(crate) fn warn_no_spare(&self) {
        if !self.has_warned_no_spare.swap(true, Ordering::Relaxed) {
            heist_sync::warn(format_args!(
                "a wait runs other jobs, because this pool cannot start spare threads (spawn_handler, build_scoped, \
                 use_current_thread with one thread, max_threads reached, or the system refuses); a lock held across a wait may \
                 deadlock. Hold none across join, scope, install and block_on, or let the pool have spare threads: raise \
                 max_threads or the system's limit (ulimit -u, pids.max), or let heist start the threads"
            ));
        }
    }

    /// Whether the system has refused the last thread that was asked for.
    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed)
    }

    /// A thread was asked for. True if that was refused for the first time since one was started.
    fn note_start(&self, is_refused: bool) -> bool {
        if !is_refused && !self.is_refused() {
            return false;
        }
        let mut refusal = lock(&self.refusal);
        let first = refusal.is_none();
        *refusal = is_refused.then(|| {
            let longest = Duration::from_nanos(tuning::REFUSED_WAIT_MOST_NS);
            let shortest = Duration::from_nanos(tuning::REFUSED_WAIT_NS);
            let wait = refusal.map_or(shortest, |(_, before)| (2 * before).min(longest));
            (Instant::now() + wait, wait)
        });
        self.is_refused.store(is_refused, Ordering::Relaxed);
        is_refused && first
    }
}
