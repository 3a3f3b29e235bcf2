//! What a pool was doing when somebody stopped waiting for it.

use crate::thread_pool::{ShutdownError, ThreadPool};
#[cfg(feature = "async")]
use heist_async::task::{CallInfo, Info, dump_calls_of, dump_of};
use heist_pool::raw::pool::Pool;
use heist_pool::raw::threads::ThreadNow;
use std::fmt;

pub use heist_pool::raw::threads::ThreadState;

/// What [`ThreadPool::shutdown_within`](crate::ThreadPool::shutdown_within) found when it stopped waiting.
///
/// ```
/// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let report = pool.shutdown_within(std::time::Duration::from_secs(10)).unwrap();
/// assert_eq!((report.is_complete, report.threads), (true, 0));
/// assert_eq!(report.to_string(), "the pool has ended; nothing was left");
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Report {
    /// Whether every job, task and call was over and every thread had left in time.
    pub is_complete: bool,
    /// Tasks that were not over: where each was spawned, what it was doing, and since when. They have been aborted. Needs the feature `async`.
    #[cfg(feature = "async")]
    pub tasks: Vec<Info>,
    /// Closures of [`spawn_blocking`](crate::task::spawn_blocking) and [`compute`](crate::task::compute) that were queued or running.
    /// Needs the feature `async`.
    #[cfg(feature = "async")]
    pub calls: Vec<CallInfo>,
    /// Ticks of which a run, or a closure that was submitted to them, had not ended. Needs the feature `tick`.
    #[cfg(feature = "tick")]
    pub ticks: Vec<TickInfo>,
    /// How many threads had not left.
    pub threads: usize,
    /// What these threads were doing, those that do not work for the pool yet excepted.
    pub workers: Vec<ThreadInfo>,
}

/// A thread of a pool, as it was a moment ago.
///
/// ```
/// use std::time::Duration;
///
/// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build()?;
/// let (begin, begun) = std::sync::mpsc::channel();
/// let (end, ended) = std::sync::mpsc::channel::<()>();
/// pool.spawn(move || {
///     begin.send(()).unwrap();
///     let _ = ended.recv();
/// });
/// begun.recv().unwrap();
/// let report = pool.shutdown_within(Duration::from_millis(10)).unwrap();
/// let busy = report.workers.iter().find(|thread| thread.state() == heist::ThreadState::Job).unwrap();
/// assert_eq!(busy.call().unwrap().site().file(), file!());
/// println!("{busy}");
/// # drop(end);
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ThreadInfo {
    name: Option<Box<str>>,
    state: ThreadState,
    #[cfg(feature = "async")]
    call: Option<CallInfo>,
}

impl ThreadInfo {
    fn new(thread: ThreadNow) -> Self {
        Self {
            name: thread.name,
            state: thread.state,
            #[cfg(feature = "async")]
            call: thread.closure.map(CallInfo::of_closure),
        }
    }

    /// The thread's name.
    ///
    /// See [`ThreadInfo`] for an example.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// What the thread was doing.
    ///
    /// See [`ThreadInfo`] for an example.
    pub fn state(&self) -> ThreadState {
        self.state
    }

    /// The closure that it was inside of: a detached job, what was given to `install`, `compute` or [`blocking`](crate::blocking); the
    /// innermost of these. `None` in a poll, and in a half of a join or a job of a scope that another thread has opened.
    /// Needs the feature `async`.
    ///
    /// See [`ThreadInfo`] for an example.
    #[cfg(feature = "async")]
    pub fn call(&self) -> Option<&CallInfo> {
        self.call.as_ref()
    }
}

impl fmt::Display for ThreadInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state;
        write!(f, "thread {} {state}", self.name().unwrap_or("without a name"))?;
        #[cfg(feature = "async")]
        if let Some(call) = &self.call {
            write!(f, ": {call}")?;
        }
        Ok(())
    }
}

/// A tick of a pool that was under way a moment ago.
///
/// ```
/// use heist::tick::{self, Next};
/// use std::time::{Duration, Instant};
///
/// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build()?;
/// let (begin, begun) = std::sync::mpsc::channel();
/// let (end, ended) = std::sync::mpsc::channel::<()>();
/// tick::every(Duration::from_secs(1)).name("region 7").start_at(Instant::now()).spawn_on(&pool, move |_| {
///     begin.send(()).unwrap();
///     let _ = ended.recv();
///     Next::Stop
/// });
/// begun.recv().unwrap();
/// let report = pool.shutdown_within(Duration::from_millis(10)).unwrap();
/// let stuck = &report.ticks[0];
/// assert_eq!((stuck.name(), stuck.site().file()), (Some("region 7"), file!()));
/// assert!(stuck.since() > Duration::ZERO && stuck.to_string().starts_with("the tick \"region 7\""));
/// # drop(end);
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[cfg(feature = "tick")]
#[derive(Clone, Debug)]
pub struct TickInfo(heist_pool::raw::tick::TickNow);

#[cfg(feature = "tick")]
impl TickInfo {
    /// The tick's name. See [`TickInfo`] for an example.
    pub fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    /// Where it was spawned. See [`TickInfo`] for an example.
    pub fn site(&self) -> &'static std::panic::Location<'static> {
        self.0.site
    }

    /// For how long its run, or the closure that was submitted to it, had lasted. See [`TickInfo`] for an example.
    pub fn since(&self) -> std::time::Duration {
        self.0.since
    }
}

#[cfg(feature = "tick")]
impl fmt::Display for TickInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (site, since) = (self.site(), self.since());
        match self.name() {
            Some(name) => write!(f, "the tick {name:?} from {site} has been running for {since:?}"),
            None => write!(f, "a tick from {site} has been running for {since:?}"),
        }
    }
}

impl Report {
    pub(crate) fn of(pool: &Pool, threads: usize) -> Self {
        #[cfg(feature = "async")]
        let (tasks, calls) = (dump_of(pool), dump_calls_of(pool));
        #[cfg(feature = "async")]
        let are_tasks_over = tasks.is_empty() && calls.is_empty();
        #[cfg(not(feature = "async"))]
        let are_tasks_over = true;
        Self {
            is_complete: threads == 0 && are_tasks_over,
            #[cfg(feature = "async")]
            tasks,
            #[cfg(feature = "async")]
            calls,
            #[cfg(feature = "tick")]
            ticks: pool.queues().ticks().running().into_iter().map(TickInfo).collect(),
            threads,
            workers: pool.threads().now().into_iter().map(ThreadInfo::new).collect(),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_complete {
            return f.write_str("the pool has ended; nothing was left");
        }
        let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        write!(f, "the pool has not ended: {}", count(self.threads, "thread"))?;
        #[cfg(feature = "async")]
        {
            let (n, m) = (self.tasks.len(), self.calls.len());
            let calls =
                if m == 1 { "blocking call or computation" } else { "blocking calls and computations" };
            write!(f, ", {}, {m} {calls}", count(n, "task"))?;
        }
        writeln!(f)?;
        self.workers.iter().try_for_each(|thread| writeln!(f, "  {thread}"))?;
        #[cfg(feature = "async")]
        {
            self.tasks.iter().try_for_each(|task| writeln!(f, "  {task}"))?;
            self.calls.iter().try_for_each(|call| writeln!(f, "  {call}"))?;
        }
        #[cfg(feature = "tick")]
        self.ticks.iter().try_for_each(|tick| writeln!(f, "  {tick}"))?;
        Ok(())
    }
}

impl ThreadPool {
    /// Closes the pool and waits until everything is over and every thread has left, but not longer than `limit`. Tasks that
    /// are not over then are aborted. The [`Report`] says what was left: the tasks and where they were spawned, the threads and what they
    /// were doing, and the calls and ticks that had not ended.
    ///
    /// Jobs and blocking calls cannot be aborted: they run on.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// let (end, ended) = std::sync::mpsc::channel::<()>();
    /// pool.spawn(move || { let _ = ended.recv(); });
    /// let report = pool.shutdown_within(Duration::from_millis(10)).unwrap();
    /// assert!(!report.is_complete);
    /// assert!(report.to_string().starts_with("the pool has not ended"));
    /// # drop(end);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    ///
    /// # Errors
    /// On one of the pool's own threads.
    ///
    /// # Blocking
    /// For at most about `limit`.
    #[track_caller]
    pub fn shutdown_within(self, limit: std::time::Duration) -> Result<Report, ShutdownError> {
        self.may_wait()?;
        self.pool.close();
        let threads = heist_fork::blocking(|| self.pool.threads().join_within(limit));
        let report = Report::of(&self.pool, threads);
        #[cfg(feature = "async")]
        heist_async::task::abort_all_of(&self.pool);
        Ok(report)
    }
}
