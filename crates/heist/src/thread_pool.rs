//! A pool's public handle: everything that jobs have to do with one pool. What tasks have to do with it is in `pool_tasks.rs`.

use heist_fork::raw::{
    broadcast_in, fork_in, in_place_scope_fifo_in, in_place_scope_in, spawn_broadcast_in, spawn_fifo_in,
    spawn_in,
};
use heist_fork::{BroadcastContext, Fork, Scope, ScopeFifo, Yield, join, scope, scope_fifo};
use heist_pool::raw::pool::Pool;
use heist_pool::raw::process::FOREIGN_POOL;
use heist_pool::raw::threads::{ClosureKind, named};
use heist_pool::raw::worker::Worker;
use heist_sync::Arc;
use heist_trace::Trace;
use std::error::Error;
use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};

/// A pool of work-stealing threads.
///
/// Dropping it never blocks: what was accepted still runs, then the threads leave. [`shutdown`](Self::shutdown) waits for that.
///
/// A panic of what it runs leaves it as it was, so `catch_unwind` takes closures that use it as they are:
///
/// ```
/// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
/// assert!(std::panic::catch_unwind(|| pool.install(|| panic!("of a job"))).is_err());
/// assert_eq!(pool.install(|| 7), 7);
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
///
/// ```
/// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let (a, b) = pool.join(|| 1, || 2);
/// assert_eq!(a + b, 3);
/// pool.shutdown().unwrap();
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPool {
    pub(crate) pool: Arc<Pool>,
}

// A panic leaves the pool as it was: jobs catch it, and it goes on where their end is waited for.
impl UnwindSafe for ThreadPool {}
impl RefUnwindSafe for ThreadPool {}

/// Why [`ThreadPool::shutdown`] did not wait.
///
/// ```
/// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build()?;
/// let (send, receive) = std::sync::mpsc::channel::<heist::ThreadPool>();
/// let (send_error, receive_error) = std::sync::mpsc::channel();
/// pool.spawn(move || send_error.send(receive.recv().unwrap().shutdown()).unwrap());
/// send.send(pool).unwrap();
/// assert!(matches!(receive_error.recv().unwrap(), Err(heist::ShutdownError::OwnThread)));
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ShutdownError {
    /// It was called on one of the pool's own threads, which would wait for itself. The pool is closed all the same, as by a
    /// drop.
    OwnThread,
    /// The pool was made before `fork()`: in the child process there are no threads to wait for.
    Forked,
}

impl fmt::Display for ShutdownError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forked => f.write_str(FOREIGN_POOL),
            Self::OwnThread => f.write_str(
                "shutdown was called on one of the pool's own threads and would wait for itself; call it from outside of \
                 the pool, or drop the pool instead",
            ),
        }
    }
}

impl Error for ShutdownError {}

impl ThreadPool {
    pub(crate) fn new(pool: Arc<Pool>) -> Self {
        Self { pool }
    }

    /// Whether the calling thread can wait for the pool's.
    pub(crate) fn may_wait(&self) -> Result<(), ShutdownError> {
        if self.pool.is_foreign() {
            return Err(ShutdownError::Forked);
        }
        if self.own().is_some() {
            return Err(ShutdownError::OwnThread);
        }
        Ok(())
    }

    pub(crate) fn own(&self) -> Option<&'static Worker> {
        Worker::current_in(&self.pool)
    }

    /// Runs `op` on a thread of this pool and waits for it; forks inside it stay in this pool.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(3).build()?;
    /// assert_eq!(pool.install(heist::current_num_threads), 3);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    ///
    /// # Panics
    /// A panic of `op` goes on here.
    ///
    /// # Blocking
    /// Waits. On a thread of another pool, that pool gets the thread's place meanwhile, so two pools that install into each
    /// other do not hang.
    #[track_caller]
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        if self.own().is_some() {
            return op();
        }
        let site = Location::caller();
        self.pool.install(move || named(ClosureKind::Install, site, op))
    }

    /// [`fork`](crate::fork()) in this pool.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (a, b) = pool.fork(|f| f.join(|_| 1, |_| 2));
    /// assert_eq!(a + b, 3);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    ///
    /// # Panics
    /// A panic of `f` goes on here.
    #[track_caller]
    pub fn fork<F, R>(&self, f: F) -> R
    where
        F: FnOnce(Fork<'_>) -> R + Send,
        R: Send,
    {
        fork_in(&self.pool, f)
    }

    /// [`broadcast`](crate::broadcast) in this pool.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.broadcast(|c| c.index()), [0, 1]);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[track_caller]
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast_in(&self.pool, op)
    }

    /// How many of the pool's threads can run at once: every index is below it, for the pool's life. How many may now is
    /// [`active_num_threads`](Self::active_num_threads).
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.current_num_threads(), 2);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[inline]
    pub fn current_num_threads(&self) -> usize {
        self.pool.parallelism()
    }

    /// How many of the pool's threads may run at once now.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.active_num_threads(), 2);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[inline]
    pub fn active_num_threads(&self) -> usize {
        self.pool.active()
    }

    /// How all ticks of this pool are doing, those that are over included; [`tick::stats`](crate::tick::stats) is the same of the calling thread's
    /// pool. Needs the feature `tick`.
    ///
    /// ```
    /// use heist::tick::{self, Next, Window};
    /// use std::time::Duration;
    ///
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let ticks: Vec<_> = (0..10)
    ///     .map(|_| tick::every(Duration::from_millis(1)).spawn_on(&pool, |_| Next::Stop))
    ///     .collect();
    /// ticks.iter().for_each(|tick| tick.wait().unwrap());
    /// let stats = pool.tick_stats();
    /// assert_eq!((stats.ledger.run, stats.ledger.pending), (10, 0));
    /// println!("99 in 100 ran for at most {:?}", stats.window(Window::Secs5).mspt.p99);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    ///
    /// # Panics
    /// In a child process, if the pool was made before `fork()`.
    #[cfg(feature = "tick")]
    #[track_caller]
    pub fn tick_stats(&self) -> crate::tick::Stats {
        crate::tick::stats_of(&self.pool)
    }

    /// Lets `num_threads` threads run at once from here on, the ones with the lowest indices. Returns at once, from any thread.
    ///
    /// Threads above that number stop at their next job boundary, or between two blocks of a parallel loop; what they have queued goes
    /// to the others, their ticks and timers too. Nothing is lost and nothing runs twice. [`broadcast`](Self::broadcast) covers the
    /// indices below `num_threads`; loops are divided for as many. More threads get to work at once. A thread that belongs to the pool by
    /// [`use_current_thread`](crate::ThreadPoolBuilder::use_current_thread) has no such boundary, and stays.
    ///
    /// With 0 nothing new runs until the number is raised again: nothing that is spawned after the call, `install` and the like wait,
    /// [`broadcast`](Self::broadcast) has nobody to call and returns an empty list at once, and ticks count as paused. What has begun goes on to its next
    /// boundary. Shutdown and drop raise it to what it was.
    ///
    /// `HEIST_NUM_THREADS` and `RAYON_NUM_THREADS` are looked at when a pool is built, and not here.
    ///
    /// The global pool has no handle, so only [`follow_limits`](crate::ThreadPoolBuilder::follow_limits) changes its number.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// pool.set_num_threads(1).unwrap();
    /// assert_eq!(pool.broadcast(|c| c.index()), [0]);
    /// let error = pool.set_num_threads(3).unwrap_err();
    /// assert!(error.to_string().contains("max_num_threads(3)"), "{error}");
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    ///
    /// # Errors
    /// If that is more than [`max_num_threads`](crate::ThreadPoolBuilder::max_num_threads) allows.
    ///
    /// # Panics
    /// In a child process, if the pool was made before `fork()`.
    ///
    /// # Deadlocks
    /// With 0, whoever waits for the pool waits for whoever raises the number: a job that lowers it to 0 itself must raise it before it runs a
    /// parallel loop, or waits for other jobs.
    #[track_caller]
    pub fn set_num_threads(&self, num_threads: usize) -> Result<(), SetNumThreadsError> {
        let most = self.current_num_threads();
        if num_threads > most {
            return Err(SetNumThreadsError { asked: num_threads, most });
        }
        self.pool.set_active(num_threads);
        Ok(())
    }

    /// The index of the calling thread in this pool, always below [`current_num_threads`](Self::current_num_threads).
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.current_thread_index(), None);
    /// assert!(pool.install(|| pool.current_thread_index()).unwrap() < 2);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[inline]
    pub fn current_thread_index(&self) -> Option<usize> {
        self.own().and_then(Worker::index)
    }

    /// Whether jobs wait in the calling thread's own queues; `None` if it is not one of this pool's.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.current_thread_has_pending_tasks(), None);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[inline]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.own().map(|worker| worker.shared().has_work())
    }

    /// [`join`](crate::join) in this pool.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[track_caller]
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.install(|| join(oper_a, oper_b))
    }

    /// [`scope`](crate::scope) in this pool.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let mut n = 0;
    /// pool.scope(|s| s.spawn(|_| n += 1));
    /// assert_eq!(n, 1);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[track_caller]
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope(op))
    }

    /// [`scope_fifo`](crate::scope_fifo) in this pool.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let mut n = 0;
    /// pool.scope_fifo(|s| s.spawn_fifo(|_| n += 1));
    /// assert_eq!(n, 1);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[track_caller]
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope_fifo(op))
    }

    /// [`in_place_scope`](crate::in_place_scope) with jobs in this pool.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let mut n = 0;
    /// pool.in_place_scope(|s| s.spawn(|_| n += 1));
    /// assert_eq!(n, 1);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        in_place_scope_in(&self.pool, op)
    }

    /// [`in_place_scope_fifo`](crate::in_place_scope_fifo) with jobs in this pool.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let mut n = 0;
    /// pool.in_place_scope_fifo(|s| s.spawn_fifo(|_| n += 1));
    /// assert_eq!(n, 1);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        in_place_scope_fifo_in(&self.pool, op)
    }

    /// [`spawn`](crate::spawn) in this pool.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (send, receive) = std::sync::mpsc::channel();
    /// pool.spawn(move || send.send(7).unwrap());
    /// assert_eq!(receive.recv(), Ok(7));
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[track_caller]
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        spawn_in(&self.pool, op);
    }

    /// [`spawn_fifo`](crate::spawn_fifo) in this pool.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (send, receive) = std::sync::mpsc::channel();
    /// pool.spawn_fifo(move || send.send(7).unwrap());
    /// assert_eq!(receive.recv(), Ok(7));
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[track_caller]
    pub fn spawn_fifo<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        spawn_fifo_in(&self.pool, op);
    }

    /// [`spawn_broadcast`](crate::spawn_broadcast) in this pool.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (send, receive) = std::sync::mpsc::channel();
    /// pool.spawn_broadcast(move |c| send.send(c.index()).unwrap());
    /// assert_eq!(receive.into_iter().count(), 2);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[track_caller]
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        spawn_broadcast_in(&self.pool, op);
    }

    /// [`yield_now`](crate::yield_now), if the calling thread is one of this pool's.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.yield_now(), None);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn yield_now(&self) -> Option<Yield> {
        self.own().and_then(|_| heist_fork::yield_now())
    }

    /// [`yield_local`](crate::yield_local), if the calling thread is one of this pool's.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.yield_local(), None);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn yield_local(&self) -> Option<Yield> {
        self.own().and_then(|_| heist_fork::yield_local())
    }

    /// Starts recording what the pool's threads do: jobs, polls, ticks, steals, parking, waking, blocking. See [`trace`](crate::trace), which
    /// has the same for the global pool.
    ///
    /// Recording costs some 30 ns an event. Each thread keeps its newest 16,384 events; the trace says how many are missing.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// pool.start_trace();
    /// pool.install(|| heist::join(|| 1, || 2));
    /// let trace = pool.stop_trace();
    /// assert!(!trace.events().is_empty());
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[track_caller]
    pub fn start_trace(&self) {
        self.pool.refuse_if_foreign();
        self.pool.recorder().start(&self.pool);
    }

    /// Stops recording and returns what was recorded since [`start_trace`](Self::start_trace).
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// pool.start_trace();
    /// pool.join(|| (), || ());
    /// assert!(!pool.stop_trace().events().is_empty());
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn stop_trace(&self) -> Trace {
        self.pool.refuse_if_foreign();
        self.pool.recorder().stop(&self.pool)
    }

    /// What was recorded since [`start_trace`](Self::start_trace). The recording goes on.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// pool.start_trace();
    /// pool.join(|| (), || ());
    /// let (first, second) = (pool.snapshot_trace(), pool.stop_trace());
    /// assert!(first.events().len() <= second.events().len());
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn snapshot_trace(&self) -> Trace {
        self.pool.refuse_if_foreign();
        self.pool.recorder().snapshot(&self.pool)
    }

    /// Closes the pool and waits until every job that was accepted has run, every task that can go on by itself has ended, and every
    /// thread has left.
    ///
    /// A task goes on by itself while it is ready to run, and while it waits for a timer or a socket. One that waits for anything else is
    /// not waited for: for a channel, for a task of another pool, and for [`spawn_blocking`](crate::task::spawn_blocking), whose closures
    /// run on threads that are not the pool's. When such a task is woken later, threads of the pool come back for it: it is not lost, but
    /// `shutdown` may have returned before. Await what has to be over first. [`shutdown_within`](Self::shutdown_within) says
    /// which tasks and calls were left.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// let (send, receive) = std::sync::mpsc::channel();
    /// pool.spawn(move || send.send(1).unwrap());
    /// pool.shutdown().unwrap();
    /// assert_eq!(receive.try_recv(), Ok(1));
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    ///
    /// # Errors
    /// On one of the pool's own threads.
    ///
    /// # Blocking
    /// For as long as the accepted work takes.
    #[track_caller]
    pub fn shutdown(self) -> Result<(), ShutdownError> {
        self.may_wait()?;
        self.pool.close();
        // A thread of another pool lets that pool have its place meanwhile: what we wait for may need it.
        heist_fork::blocking(|| self.pool.threads().join());
        Ok(())
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.pool.close();
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool").field("num_threads", &self.current_num_threads()).finish_non_exhaustive()
    }
}

#[cfg(feature = "tick")]
impl heist_tick::InPool for ThreadPool {
    fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }
}

/// More threads were asked for than the pool can have; see [`ThreadPool::set_num_threads`].
///
/// ```
/// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build()?;
/// let error: heist::SetNumThreadsError = pool.set_num_threads(2).unwrap_err();
/// assert!(error.to_string().starts_with("set_num_threads(2)"));
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetNumThreadsError {
    asked: usize,
    most: usize,
}

impl std::fmt::Display for SetNumThreadsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { asked, most } = self;
        write!(
            f,
            "set_num_threads({asked}) is more than the {most} threads that this pool can have; ask for at most {most}, or build it with \
             max_num_threads({asked})"
        )
    }
}

impl std::error::Error for SetNumThreadsError {}
