//! What a thread can ask about itself and its pool.

use heist_pool::raw::global;
use heist_pool::raw::pool::MOST_INDICES;
use heist_pool::raw::worker::Worker;

/// What [`yield_now`] and [`yield_local`] found.
///
/// ```
/// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
/// assert_eq!(pool.install(heist::yield_local), Some(heist::Yield::Idle));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// A job was run.
    Executed,
    /// There was none.
    Idle,
}

impl Yield {
    fn from_ran(ran: bool) -> Self {
        if ran { Self::Executed } else { Self::Idle }
    }
}

/// How many threads the current pool, or else the global one, can have running at once: every index is below it, for the pool's life. How many
/// it lets run now is [`active_num_threads`].
///
/// ```
/// assert!(heist::current_num_threads() >= 1);
/// ```
pub fn current_num_threads() -> usize {
    match Worker::current() {
        Some(worker) => worker.pool().parallelism(),
        None => global::pool().parallelism(),
    }
}

/// How many threads may run at once in the current pool, or else in the global one, as
/// [`ThreadPool::set_num_threads`](https://docs.rs/heist/latest/heist/struct.ThreadPool.html) said last.
///
/// ```
/// assert!(heist::active_num_threads() <= heist::current_num_threads());
/// ```
pub fn active_num_threads() -> usize {
    match Worker::current() {
        Some(worker) => worker.pool().active(),
        None => global::pool().active(),
    }
}

/// The index of the calling thread in its pool: always below [`current_num_threads`], and held by no other running thread.
///
/// A job that has asked keeps its index: the answer is the same before and after each of its waits. `None` outside a pool, inside
/// [`blocking`](crate::blocking), in a task that runs without a permit because all workers compute, and in a job that a spare thread
/// runs because all workers are blocked (`ThreadPoolBuilder::rescue_blocked`).
///
/// ```
/// assert_eq!(heist::current_thread_index(), None);
/// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build()?;
/// assert_eq!(pool.install(heist::current_thread_index), Some(0));
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
///
/// # Blocking
/// A job that goes on after a wait without a permit, and asks for the first time, waits here until a permit is free.
///
/// # Deadlocks
/// A job that has asked for its index and holds a lock across a wait may deadlock, as in rayon: after the wait it needs the same index
/// back, and a job that has borrowed it and asked for it, too, may want the lock.
#[inline]
pub fn current_thread_index() -> Option<usize> {
    Worker::current().and_then(Worker::index)
}

/// Whether jobs wait in the calling thread's own queues; `None` outside of a pool.
///
/// ```
/// assert_eq!(heist::current_thread_has_pending_tasks(), None);
/// ```
#[inline]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    Worker::current().map(|worker| worker.shared().has_work())
}

/// Runs one job from anywhere in the pool, right here, on top of whatever the thread is doing; `None` outside of a pool.
///
/// Unlike a wait, this may run a stranger's job: hold no lock that one could want.
///
/// ```
/// assert_eq!(heist::yield_now(), None);
/// ```
pub fn yield_now() -> Option<Yield> {
    Worker::current().map(|worker| Yield::from_ran(worker.yield_now()))
}

/// As [`yield_now`], from the thread's own queues only.
///
/// ```
/// assert_eq!(heist::yield_local(), None);
/// ```
pub fn yield_local() -> Option<Yield> {
    Worker::current().map(|worker| Yield::from_ran(worker.yield_local()))
}

/// The most threads that `ThreadPoolBuilder::num_threads` takes.
///
/// ```
/// assert!(heist::max_num_threads() >= 1024);
/// ```
pub fn max_num_threads() -> usize {
    MOST_INDICES
}
