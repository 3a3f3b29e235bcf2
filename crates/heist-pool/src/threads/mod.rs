//! The pool's threads: how they come, who they are, and how they go.

mod close;
#[cfg(not(heist_loom))]
pub mod guest;
mod start;
mod table;

pub use start::ThreadStart;
pub use table::{MOST, Table};

use crate::pool::{Config, Pool};
use heist_os::{CpuMask, System};
use heist_policy::tuning;
use heist_sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use heist_sync::clock::Instant;
use heist_sync::{Condvar, Mutex, lock, thread};
use std::time::Duration;

/// The pool is open.
const OPEN: u8 = 0;
/// The handle is gone; what was accepted still runs.
const CLOSING: u8 = 1;
/// Nothing is left to do; threads leave.
const OVER: u8 = 2;

/// See the module.
pub struct Threads {
    table: Table,
    phase: AtomicU8,
    /// Threads with the loop at the bottom.
    live: AtomicUsize,
    /// Other threads that have joined in.
    guests: AtomicUsize,
    /// One of these has made the pool, and belongs to it until it ends.
    has_maker: AtomicBool,
    handles: Mutex<Vec<thread::JoinHandle<()>>>,
    left: Mutex<()>,
    all_left: Condvar,
    /// A thread runs tasks that became ready after the pool's own had left.
    has_late: AtomicBool,
    refusal: Mutex<Option<Refusal>>,
    /// Whether there is a refusal, in front of its lock.
    is_refused: AtomicBool,
    /// The CPUs of the thread that made the pool: whoever starts a spare thread later may have fewer.
    mask: Option<CpuMask>,
}

/// The system has refused to start a thread.
struct Refusal {
    /// Not before that it is asked again.
    until: Instant,
    wait: Duration,
}

impl Threads {
    pub(crate) fn new(config: &Config, system: &'static dyn System) -> Self {
        Self {
            table: Table::new(system),
            phase: AtomicU8::new(OPEN),
            live: AtomicUsize::new(0),
            guests: AtomicUsize::new(0),
            has_maker: AtomicBool::new(false),
            handles: Mutex::new(Vec::new()),
            left: Mutex::new(()),
            all_left: Condvar::new(),
            has_late: AtomicBool::new(false),
            refusal: Mutex::new(None),
            is_refused: AtomicBool::new(false),
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

    pub(crate) fn guest_comes(&self) {
        self.guests.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn guest_goes(&self) {
        self.guests.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn set_has_maker(&self, yes: bool) {
        self.has_maker.store(yes, Ordering::Relaxed);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.phase.load(Ordering::Acquire) == OVER
    }

    /// Whether there are more than permits, so that one without work may leave. A thread that somebody else has started cannot be
    /// started again.
    pub(crate) fn may_retire(&self, pool: &Pool) -> bool {
        !pool.config().foreign_threads && self.live() > pool.parallelism()
    }

    /// The calling thread, a new one, has the mask of the thread that started it, which a program may have narrowed. It takes that
    /// of the pool's maker.
    fn take_own_mask(&self, system: &dyn System) {
        if let Some(mask) = &self.mask
            && system.mask(None).is_some_and(|now| now != *mask)
        {
            system.set_mask(None, mask);
        }
    }

    /// A thread was started, and is to be joined.
    fn keep(&self, handle: thread::JoinHandle<()>) {
        let mut handles = lock(&self.handles);
        // The checkers' handles cannot tell; their pools are short.
        #[cfg(not(any(heist_loom, heist_shuttle)))]
        handles.retain(|h| !h.is_finished());
        handles.push(handle);
    }

    /// Whether a spare thread can be had now.
    pub(crate) fn may_start(&self, pool: &Pool) -> bool {
        let config = pool.config();
        let most = match config.max_threads {
            0 if config.is_bound() => pool.parallelism(),
            0 => pool.parallelism() + crate::pool::DEFAULT_SPARES,
            n => n,
        };
        let own = self.live.load(Ordering::Relaxed) + usize::from(self.has_maker.load(Ordering::Relaxed));
        !config.foreign_threads && own < most && !self.is_over() && !self.is_refused_now()
    }

    /// Whether the system has refused the last thread that was asked for.
    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed)
    }

    /// Whether it was so lately that asking again makes no sense.
    fn is_refused_now(&self) -> bool {
        self.is_refused()
            && lock(&self.refusal).as_ref().is_some_and(|refusal| Instant::now() < refusal.until)
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
            let wait = match &*refusal {
                None => Duration::from_nanos(tuning::REFUSED_WAIT_NS),
                Some(before) => (2 * before.wait).min(longest),
            };
            Refusal { until: Instant::now() + wait, wait }
        });
        self.is_refused.store(is_refused, Ordering::Relaxed);
        is_refused && first
    }
}
