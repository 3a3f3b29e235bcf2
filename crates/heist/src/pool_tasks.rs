//! What tasks have to do with one pool.

use crate::thread_pool::ThreadPool;
use heist_async::task::{InPool, JoinHandle};
use heist_pool::raw::pool::Pool;
use heist_sync::Arc;

/// Tasks of this pool. Needs the feature `async`, which is on by default.
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
impl ThreadPool {
    /// Runs a future as a task of this pool, as [`task::spawn`](crate::task::spawn) does in the current one. Needs the feature `async`.
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

    /// Polls a future on the calling thread until it is ready. Tasks that it spawns, its timers and sockets, and what it gives to
    /// [`task::compute`](crate::task::compute) are this pool's. Needs the feature `async`.
    ///
    /// The thread itself stays where it is: what the future forks, spawns as a job or installs goes where it would from this thread without
    /// `block_on`. So [`join`](crate::join), [`scope`](crate::scope()), [`spawn`](crate::spawn()) and parallel iterators use the pool
    /// that the calling thread belongs to, or else the global one. [`install`](Self::install) inside of the future, or a task of this
    /// pool, runs them here.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(3).build()?;
    /// let elsewhere = heist::current_num_threads();
    /// pool.block_on(async {
    ///     assert_eq!(heist::current_num_threads(), elsewhere);
    ///     assert_eq!(pool.install(heist::current_num_threads), 3);
    ///     assert_eq!(heist::task::spawn(async { heist::current_num_threads() }).await.unwrap(), 3);
    /// });
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
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
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        heist_async::block_on_in(&self.pool, future)
    }
}

impl InPool for ThreadPool {
    fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }
}
