//! Computations of one pool that tasks await.

use crate::thread_pool::ThreadPool;
use heist_async::task::{Compute, compute_in};

/// Jobs of this pool that tasks await. Needs the feature `async`, which is on by default.
impl ThreadPool {
    /// Runs a closure as a job of this pool and is awaited, as [`task::compute`](crate::task::compute) does in the current one. Needs
    /// the feature `async`.
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
    #[track_caller]
    pub fn compute<F, R>(&self, f: F) -> Compute<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        compute_in(&self.pool, f)
    }
}
