//! A pool's public handle: everything that jobs and tasks have to do with one pool.

#[cfg(not(heist_shuttle))]
use heist_async::task::{Compute, compute};
use heist_async::task::{InPool, JoinHandle};
use heist_fork::raw::{
    broadcast_in, fork_in, in_place_scope_fifo_in, in_place_scope_in, spawn_broadcast_in, spawn_fifo_in,
    spawn_in,
};
use heist_fork::{BroadcastContext, Fork, Scope, ScopeFifo, Yield, join, scope, scope_fifo};
use heist_pool::pool::Pool;
use heist_pool::worker::Worker;
use heist_sync::Arc;
use heist_trace::Trace;
use std::error::Error;
use std::fmt;
#[cfg(not(heist_shuttle))]
use std::task::{Context, Poll};

/// A pool of work-stealing threads.
///
/// Dropping it never blocks: what was accepted still runs, then the threads leave. [`shutdown`](Self::shutdown) waits for that.
///
/// ```
/// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let (a, b) = pool.join(|| 1, || 2);
/// assert_eq!(a + b, 3);
/// pool.shutdown().unwrap();
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
///
/// Everything that spawns tasks takes a pool as well: [`task::spawn_in`](crate::task::spawn_in),
/// [`JoinSet::spawn_in`](crate::task::JoinSet::spawn_in), [`Builder::spawn_in`](crate::task::Builder::spawn_in).
///
/// ```
/// use heist::task;
///
/// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let one = task::spawn_in(&pool, async { 1 });
/// let two = task::Builder::new().name("two").spawn_in(&pool, async { 2 });
/// let mut set = task::JoinSet::new();
/// set.spawn_in(&pool, async { 3 });
/// let sum = heist::block_on(async { one.await.unwrap() + two.await.unwrap() + set.join_next().await.unwrap().unwrap() });
/// assert_eq!(sum, 6);
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPool {
    pool: Arc<Pool>,
}

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
}

impl fmt::Display for ShutdownError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
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

    fn own(&self) -> Option<&'static Worker> {
        Worker::current().filter(|worker| Arc::ptr_eq(worker.pool(), &self.pool))
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
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        self.pool.install(op)
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
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast_in(&self.pool, op)
    }

    /// How many of the pool's threads run at once.
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
        self.own().map(Worker::has_own_work)
    }

    /// [`join`](crate::join) in this pool.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
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
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        spawn_in(&self.pool, op);
    }

    /// Runs a future as a task of this pool, as [`task::spawn`](crate::task::spawn) does in the current one.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let task = pool.spawn_task(async { 21 * 2 });
    /// assert_eq!(pool.block_on(task).unwrap(), 42);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[track_caller]
    pub fn spawn_task<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        heist_async::task::spawn_in(&self.pool, future)
    }

    /// Polls a future on the calling thread until it is ready. Tasks that it spawns, and its timers and sockets, are this
    /// pool's.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// assert_eq!(pool.block_on(async { 7 }), 7);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    ///
    /// # Panics
    /// If the future does.
    ///
    /// # Blocking
    /// Until the future is ready. A thread of a pool lends its place to another meanwhile.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        heist_async::block_on_in(&self.pool, future)
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

    /// Starts recording what the pool's threads do: jobs, steals, parking, waking, blocking. See [`trace`](crate::trace).
    ///
    /// Recording costs some 40 ns an event. Each thread keeps its newest 16,384 events; the trace says how many are missing.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// pool.start_trace();
    /// pool.install(|| heist::join(|| 1, || 2));
    /// let trace = pool.stop_trace();
    /// assert!(!trace.events().is_empty());
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn start_trace(&self) {
        self.pool.recorder().start(self.pool.threads().table());
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
        self.pool.recorder().stop(self.pool.threads().table())
    }

    /// Closes the pool and waits until everything that was accepted has run and every thread has left.
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
    pub fn shutdown(self) -> Result<(), ShutdownError> {
        if self.own().is_some() {
            return Err(ShutdownError::OwnThread);
        }
        self.pool.close();
        // A thread of another pool lets that pool have its place meanwhile: what we wait for may need it.
        heist_fork::blocking(|| self.pool.threads().join());
        Ok(())
    }
}

/// What [`ThreadPool::shutdown_within`] found when it stopped waiting.
///
/// ```
/// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let report = pool.shutdown_within(std::time::Duration::from_secs(10)).unwrap();
/// assert_eq!((report.is_complete, report.threads), (true, 0));
/// assert_eq!(report.to_string(), "the pool has ended; nothing was left");
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[cfg(not(heist_shuttle))]
#[derive(Debug)]
#[non_exhaustive]
pub struct Report {
    /// Whether every job and task was over and every thread had left in time.
    pub is_complete: bool,
    /// Tasks that were not over: where each was spawned, what it was doing, and since when. They have been aborted.
    pub tasks: Vec<heist_async::task::Info>,
    /// Threads that had not left.
    pub threads: usize,
}

#[cfg(not(heist_shuttle))]
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_complete {
            return f.write_str("the pool has ended; nothing was left");
        }
        writeln!(f, "the pool has not ended: {} threads, {} tasks", self.threads, self.tasks.len())?;
        for task in &self.tasks {
            writeln!(f, "  {task}")?;
        }
        Ok(())
    }
}

#[cfg(not(heist_shuttle))]
impl ThreadPool {
    /// Closes the pool and waits until everything is over and every thread has left, but not longer than `limit`. Tasks that
    /// are not over then are aborted, and the report says where they were spawned.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// let stuck = pool.spawn_task(std::future::pending::<()>());
    /// let report = pool.shutdown_within(Duration::from_millis(10)).unwrap();
    /// assert_eq!(report.tasks.len(), 1);
    /// assert!(report.to_string().contains(file!()));
    /// # drop(stuck);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    ///
    /// # Errors
    /// On one of the pool's own threads.
    ///
    /// # Blocking
    /// For at most about `limit`.
    pub fn shutdown_within(self, limit: std::time::Duration) -> Result<Report, ShutdownError> {
        if self.own().is_some() {
            return Err(ShutdownError::OwnThread);
        }
        self.pool.close();
        let threads = heist_fork::blocking(|| self.pool.threads().join_within(limit));
        let tasks = heist_async::task::dump_of(&self.pool);
        heist_async::task::abort_all_of(&self.pool);
        Ok(Report { is_complete: threads == 0 && tasks.is_empty(), tasks, threads })
    }
}

#[cfg(not(heist_shuttle))]
impl ThreadPool {
    /// Runs a closure as a job of this pool and is awaited, as [`task::compute`](crate::task::compute) does in the current one.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let sum = pool.compute(|| (1..=100u64).into_par_iter().sum::<u64>());
    /// assert_eq!(heist::block_on(sum), 5050);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    ///
    /// # Panics
    /// As there: a panic of the closure goes on where the result is awaited.
    pub fn compute<F, R>(&self, f: F) -> Compute<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        // The future is ready at once: it is only there to say which pool is meant.
        let mut f = Some(f);
        let begin = |_: &mut Context<'_>| Poll::Ready(compute(f.take().expect("polled once")));
        heist_async::block_on_in(&self.pool, std::future::poll_fn(begin))
    }
}

impl InPool for ThreadPool {
    fn pool(&self) -> &Arc<Pool> {
        &self.pool
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
