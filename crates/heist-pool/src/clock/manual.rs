//! A clock that stands still until the program moves it: virtual time for tests.
//!
//! Nobody waits for a time by it. A thread that has nothing to do sleeps without a time-out, and the last of them to fall asleep looks, on behalf
//! of whoever has called [`ManualClock::advance`], what is due next in any of the clock's pools, moves the clock there, and wakes a thread
//! of each pool in which something is due. So with one worker an hour of ticks is one loop on one thread, without a wake-up.
//!
//! **All sleep** if each thread of each pool says so by its parker, and no permit is in use. A thread that looks at the parkers one after the other
//! might find one asleep that is then woken by another one, which falls asleep before it is looked at. So each counts itself (`falls`)
//! before its parker says that it sleeps: if the count has not changed during the look, nobody who was awake at its begin has
//! fallen asleep. Who has counted itself wakes nobody any more.
//!
//! **Nobody oversleeps.** Whoever queues something due at `t`, or sets a timer, makes that visible, fences, and reads the clock: if it is not yet
//! `t`, nobody is told. Whoever moves the clock does so first, fences, and then looks for what is due: one of the two sees the other.
//! A look always follows the last move.

use crate::pool::Pool;
use crate::worker::Worker;
use heist_policy::tick::NEVER;
use heist_policy::tuning;
use heist_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use heist_sync::process::Origin;
use heist_sync::{Condvar, Mutex, StdArc as Arc, lock, thread_local};
use std::cell::Cell;
use std::fmt;
use std::sync::{PoisonError, Weak};
use std::time::{Duration, Instant};

/// So far a clock can be moved, some 36 years: what the wheel of timers can tell apart at nanoseconds.
const LAST_NS: u64 = (1 << 60) - 2;

/// Whether there is any.
static IS_USED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The clock that waits for the call which this thread runs.
    static CALLED_FOR: Cell<*const Shared> = const { Cell::new(std::ptr::null()) };
}

/// Time that passes when a program says so, for tests of timers and ticks.
///
/// A pool that is built with [`ThreadPoolBuilder::clock`](https://docs.rs/heist/latest/heist/struct.ThreadPoolBuilder.html#method.clock) goes by it: its sleeps,
/// time-outs, intervals and ticks, and their statistics. Several pools may share one. Clones are the same clock.
///
/// [`advance`](Self::advance) moves it from one due time to the next, and at each waits until all that has become due has run, and what that
/// has led to. At one time ticks come first, in the order of their spawning, and then timers, in the order in which they were set. With one
/// worker everything happens in the same order whenever the program runs; with several, the same things happen at the same times.
///
/// What the clock does not know: work of threads outside of its pools, and of pools with another clock. A future that is awaited by
/// [`block_on`](https://docs.rs/heist/latest/heist/fn.block_on.html) outside of the pool may see a later time; one that is
/// spawned does not. Sockets are the system's, and take real time.
///
/// ```
/// use heist::time::{ManualClock, sleep};
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let pool = heist::ThreadPoolBuilder::new().num_threads(1).clock(&clock).build()?;
/// let task = pool.spawn_task(async {
///     sleep(Duration::from_secs(3600)).await;
///     "an hour later"
/// });
/// clock.advance(Duration::from_secs(3599));
/// assert!(!task.is_finished());
/// clock.advance(Duration::from_secs(1));
/// assert!(task.is_finished());
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[derive(Clone)]
pub struct ManualClock {
    shared: Arc<Shared>,
}

struct Shared {
    epoch: Instant,
    now_ns: AtomicU64,
    /// How often a thread of its pools has said that it is about to sleep.
    falls: AtomicU64,
    /// Calls beside the pools that are waited for.
    calls: AtomicUsize,
    state: Mutex<State>,
    reached: Condvar,
    /// Held by the one who advances it.
    advancing: Mutex<()>,
    origin: Origin,
}

struct State {
    /// Where somebody waits for it to be moved.
    target_ns: Option<u64>,
    pools: Vec<Weak<Pool>>,
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManualClock").field("elapsed", &self.elapsed()).finish_non_exhaustive()
    }
}

/// A call beside the pools for which their clock waits.
#[derive(Debug)]
pub struct Held(ManualClock);

impl Held {
    /// Runs the call, on this thread.
    pub fn while_called<R>(&self, call: impl FnOnce() -> R) -> R {
        let before = CALLED_FOR.replace(Arc::as_ptr(&self.0.shared));
        let result = call();
        CALLED_FOR.set(before);
        result
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.shared.calls.fetch_sub(1, Ordering::SeqCst);
        self.0.tend();
    }
}

impl ManualClock {
    /// A clock that stands still. The first instant that it shows is the present one.
    ///
    /// ```
    /// let clock = heist::time::ManualClock::new();
    /// assert!(clock.elapsed().is_zero());
    /// ```
    pub fn new() -> Self {
        IS_USED.store(true, Ordering::Relaxed);
        Self {
            shared: Arc::new(Shared {
                epoch: Instant::now(),
                now_ns: AtomicU64::new(0),
                falls: AtomicU64::new(0),
                calls: AtomicUsize::new(0),
                state: Mutex::new(State { target_ns: None, pools: Vec::new() }),
                reached: Condvar::new(),
                advancing: Mutex::new(()),
                origin: Origin::here(),
            }),
        }
    }

    /// What it shows.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let clock = heist::time::ManualClock::new();
    /// let begin = clock.now();
    /// clock.advance(Duration::from_secs(60));
    /// assert_eq!(clock.now() - begin, Duration::from_secs(60));
    /// ```
    pub fn now(&self) -> Instant {
        self.shared.epoch + self.elapsed()
    }

    /// How far it has been moved since it was made.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let clock = heist::time::ManualClock::new();
    /// clock.advance(Duration::from_millis(1500));
    /// assert_eq!(clock.elapsed(), Duration::from_millis(1500));
    /// ```
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.now_ns())
    }

    /// Moves it by `duration`, from one due time to the next, and lets its pools run what is due at each until they are quiet: no job, task or
    /// tick runs or is queued, none is inside of `blocking`, and no call of `spawn_blocking` is under way. With a duration of zero it lets them run what is
    /// due now. Pools without an active thread ([`set_num_threads`](https://docs.rs/heist/latest/heist/struct.ThreadPool.html#method.set_num_threads)
    /// with 0) are passed over.
    ///
    /// If two threads call this, the second one waits for the first.
    ///
    /// ```
    /// use heist::tick::{self, Next};
    /// use heist::time::ManualClock;
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(1).clock(&clock).build()?;
    /// let tick = tick::every(Duration::from_millis(50)).spawn_on(&pool, |cx| {
    ///     assert!(cx.lateness().is_zero());
    ///     Next::Continue
    /// });
    /// clock.advance(Duration::from_secs(10));
    /// assert_eq!(tick.stats().ledger.run, 200);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    ///
    /// # Panics
    /// On a thread that the clock would have to wait for: of one of its pools, or of a call of `spawn_blocking` there. If the
    /// clock would have been moved by more than 36 years in all. In a child of `fork(2)`, if it was made before.
    ///
    /// # Blocking
    /// Until the pools are quiet. A job that waits for something which the caller does later is never over; after ten seconds a warning
    /// says that something still runs.
    #[track_caller]
    pub fn advance(&self, duration: Duration) {
        let shared = &*self.shared;
        assert!(
            !shared.origin.is_foreign(),
            "this ManualClock was made before fork(), and its pools do not exist in the child process; make a new one there"
        );
        assert!(
            !self.waits_for_caller(),
            "ManualClock::advance was called by something that the clock waits for, a job, task, tick or blocking call of one of its pools; \
             it would wait for itself. Call it on a thread outside of these pools"
        );
        let _alone = lock(&shared.advancing);
        let by_ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let target_ns = self.now_ns().saturating_add(by_ns);
        assert!(
            target_ns <= LAST_NS,
            "ManualClock::advance({duration:?}) would move the clock by more than 36 years in all; make a new clock"
        );
        lock(&shared.state).target_ns = Some(target_ns);
        self.tend();
        self.wait_until_reached();
    }

    fn waits_for_caller(&self) -> bool {
        CALLED_FOR.get() == Arc::as_ptr(&self.shared)
            || Worker::current().is_some_and(|worker| {
                worker
                    .pool()
                    .queues()
                    .ticks()
                    .clock()
                    .manual()
                    .is_some_and(|clock| Arc::ptr_eq(&clock.shared, &self.shared))
            })
    }

    /// LIVENESS: whoever falls asleep last moves the clock, and whoever moves it to the end notifies, under the lock.
    fn wait_until_reached(&self) {
        let mut is_patient = true;
        let mut state = lock(&self.shared.state);
        while state.target_ns.is_some() {
            let patience = Duration::from_nanos(tuning::MANUAL_CLOCK_PATIENCE_NS);
            let timed = self.shared.reached.wait_timeout(state, patience);
            let (woken, timeout) = timed.unwrap_or_else(PoisonError::into_inner);
            state = woken;
            if timeout.timed_out() && state.target_ns.is_some() && std::mem::take(&mut is_patient) {
                heist_sync::warn(format_args!(
                    "ManualClock::advance has waited for {patience:?} for its pools to be quiet: a job, task, tick or blocking call there does not \
                     end. If it waits for what comes after advance, let it wait in a task"
                ));
            }
        }
    }

    /// Whether there is any: nobody has to ask for a pool's clock otherwise.
    #[inline]
    #[doc(hidden)]
    pub fn is_used() -> bool {
        IS_USED.load(Ordering::Relaxed)
    }

    #[doc(hidden)]
    pub fn epoch(&self) -> Instant {
        self.shared.epoch
    }

    /// Now, since its epoch.
    #[inline]
    #[doc(hidden)]
    pub fn now_ns(&self) -> u64 {
        // ORDERING: see *Nobody oversleeps*.
        self.shared.now_ns.load(Ordering::SeqCst)
    }

    /// A pool goes by it from here on.
    pub(crate) fn drive(&self, pool: &Arc<Pool>) {
        let mut state = lock(&self.shared.state);
        state.pools.retain(|pool| pool.strong_count() > 0);
        state.pools.push(Arc::downgrade(pool));
    }

    /// The calling thread of one of its pools is about to sleep, and wakes nobody any more.
    #[doc(hidden)]
    pub fn fall_asleep(&self) {
        self.shared.falls.fetch_add(1, Ordering::SeqCst);
    }

    /// A call beside the pools begins, or is queued, for which it waits.
    #[doc(hidden)]
    pub fn hold(&self) -> Held {
        self.shared.calls.fetch_add(1, Ordering::SeqCst);
        Held(self.clone())
    }

    /// The calling thread sleeps, as far as others can tell: if all do, and somebody has asked for it, the clock is moved.
    #[doc(hidden)]
    pub fn tend(&self) {
        if self.shared.origin.is_foreign() {
            return;
        }
        let mut state = lock(&self.shared.state);
        if state.target_ns.is_none() {
            return;
        }
        let pools: Vec<_> =
            state.pools.iter().filter_map(Weak::upgrade).filter(|pool| !pool.is_foreign()).collect();
        let due_ns = self.shared.step(&mut state, &pools);
        drop(state);
        // Not under the lock: a thread may have to be started, and the program names it.
        if let Some(now_ns) = due_ns {
            let due = pools.iter().filter(|pool| pool.due().next_due_ns() <= now_ns);
            due.for_each(|pool| pool.driver_waiter().wake_for(now_ns));
        }
        pools.into_iter().for_each(crate::monitor::release);
    }
}

impl Shared {
    /// Moves the clock for as long as all sleep and nothing is due. Returns the time at which something is, for which somebody is to be woken.
    fn step(&self, state: &mut State, pools: &[Arc<Pool>]) -> Option<u64> {
        let target_ns = state.target_ns?;
        loop {
            let falls = self.falls.load(Ordering::SeqCst);
            fence(Ordering::SeqCst);
            // LIVENESS: whoever is awake, or is woken for what is queued, comes here when it falls asleep.
            if self.calls.load(Ordering::SeqCst) > 0
                || !pools.iter().all(|pool| pool.threads().are_asleep(pool))
            {
                return None;
            }
            let now_ns = self.now_ns.load(Ordering::SeqCst);
            let next_ns = pools.iter().map(|pool| pool.due().next_due_ns()).min().unwrap_or(NEVER);
            fence(Ordering::SeqCst);
            if self.falls.load(Ordering::SeqCst) != falls {
                continue;
            }
            if next_ns <= now_ns {
                return Some(now_ns);
            }
            if now_ns == target_ns {
                state.target_ns = None;
                self.reached.notify_all();
                return None;
            }
            self.now_ns.store(next_ns.min(target_ns), Ordering::SeqCst);
            fence(Ordering::SeqCst);
        }
    }
}
