//! What a run of a tick is told, and what it answers.

use crate::cell::Cell;
use crate::cell::schedule::Run;
use heist_pool::raw::tick::Clock;
use heist_sync::clock::Instant;
use heist_sync::thread_local;
use std::cell::Cell as StdCell;
use std::time::Duration;

/// What comes after a run.
///
/// ```
/// use heist::tick::{self, Next};
/// use std::time::Duration;
///
/// let mut left = 3;
/// let countdown = tick::every(Duration::from_millis(1)).spawn(move |_| {
///     left -= 1;
///     if left == 0 { Next::Stop } else { Next::Continue }
/// });
/// countdown.wait().unwrap();
/// assert_eq!(countdown.stats().ledger.run, 3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The next run, a period later.
    Continue,
    /// The next run at that time; the periods count from there on. During a [`sprint`](crate::Handle::sprint) only what its last run says
    /// counts.
    At(Instant),
    /// No more runs.
    Stop,
}

/// What a run can ask.
///
/// ```
/// use heist::tick::{self, Next};
/// use std::time::Duration;
///
/// let mut position = 0.0;
/// let simulation = tick::every(Duration::from_millis(5)).spawn(move |cx| {
///     // A late run makes up for those that were skipped.
///     position += 0.005 * cx.count() as f64;
///     if position > 0.02 { Next::Stop } else { Next::Continue }
/// });
/// simulation.wait().unwrap();
/// ```
#[derive(Debug)]
pub struct Context {
    clock: Clock,
    run: Run,
    lateness_ns: u64,
    next_ns: Option<u64>,
}

impl Context {
    pub(crate) fn new(clock: &Clock, run: Run, lateness_ns: u64, next_ns: Option<u64>) -> Self {
        Self { clock: clock.clone(), run, lateness_ns, next_ns }
    }

    /// How many periods this run stands for: one, and those that were skipped before it.
    ///
    /// See [`Context`] for an example.
    pub fn count(&self) -> u64 {
        self.run.count
    }

    /// When this run was due.
    ///
    /// ```
    /// use heist::tick::{self, Next};
    /// use std::time::{Duration, Instant};
    ///
    /// let tick = tick::every(Duration::from_millis(1)).spawn(|cx| {
    ///     assert!(cx.scheduled() <= Instant::now());
    ///     Next::Stop
    /// });
    /// tick.wait().unwrap();
    /// ```
    pub fn scheduled(&self) -> Instant {
        self.clock.instant_of(self.run.scheduled_ns)
    }

    /// How long after that it has begun.
    ///
    /// ```
    /// use heist::tick::{self, Next};
    /// use std::time::Duration;
    ///
    /// let tick = tick::every(Duration::from_millis(1)).spawn(|cx| {
    ///     println!("late by {:?}", cx.lateness());
    ///     Next::Stop
    /// });
    /// tick.wait().unwrap();
    /// ```
    pub fn lateness(&self) -> Duration {
        Duration::from_nanos(self.lateness_ns)
    }

    /// How long it is until the next run is due, as things stand. Zero if it is overdue, or if none is to come.
    ///
    /// ```
    /// use heist::tick::{self, Next};
    /// use std::time::Duration;
    ///
    /// let tick = tick::every(Duration::from_secs(1)).start_at(std::time::Instant::now()).spawn(|cx| {
    ///     assert!(cx.remaining() <= Duration::from_secs(1));
    ///     Next::Stop
    /// });
    /// tick.wait().unwrap();
    /// ```
    pub fn remaining(&self) -> Duration {
        let now_ns = self.clock.now_ns();
        Duration::from_nanos(self.next_ns.map_or(0, |next_ns| next_ns.saturating_sub(now_ns)))
    }
}

thread_local! {
    /// The tick that the thread runs.
    #[allow(clippy::missing_const_for_thread_local, reason = "loom's macro takes no const block")]
    static RUNNING: StdCell<*const ()> = StdCell::new(std::ptr::null());
}

/// The calling thread runs a tick, or a closure that was submitted to it.
pub(crate) struct Running {
    outer: *const (),
}

impl Running {
    pub fn enter(cell: &Cell) -> Self {
        Self { outer: RUNNING.with(|running| running.replace(std::ptr::from_ref(cell).cast())) }
    }

    /// Whether the calling thread runs this very tick.
    pub fn is(cell: &Cell) -> bool {
        RUNNING.with(StdCell::get) == std::ptr::from_ref(cell).cast()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.with(|running| running.set(self.outer));
    }
}
