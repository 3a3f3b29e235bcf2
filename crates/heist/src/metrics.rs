//! What the threads of a pool have done and what waits there, as numbers: [`metrics()`] of the global pool,
//! [`ThreadPool::metrics`](crate::ThreadPool::metrics) of any other.
//!
//! Everything but the histograms of polls is always counted. It costs an addition for each job and poll, and a look at the clock where a
//! thread goes to sleep, wakes up, and begins or ends a search. A fork costs nothing more. The histograms take two looks at the clock for each poll
//! and one for each task that becomes ready, so they have to be asked for:
//! [`ThreadPoolBuilder::poll_histograms`](crate::ThreadPoolBuilder::poll_histograms), `HEIST_POLL_HISTOGRAMS=1`.
//!
//! ```
//! let before = heist::metrics();
//! heist::scope(|scope| (0..8).for_each(|_| scope.spawn(|_| ())));
//! let after = heist::metrics();
//! let jobs = after.sum(|worker| worker.jobs) - before.sum(|worker| worker.jobs);
//! assert!(jobs >= 8);
//! ```

use crate::ThreadPool;
use heist_pool::raw::global;
pub use heist_pool::raw::metrics::{Histogram, Metrics, WorkerMetrics, WorkerState};

/// What the threads of the global pool have done since it was started, and what waits there. All zeros, and no thread, if it has not been
/// started: this does not start it.
///
/// ```
/// heist::join(|| 1, || 2);
/// let metrics = heist::metrics();
/// assert!(metrics.active >= 1);
/// ```
pub fn metrics() -> Metrics {
    global::started().map_or_else(Metrics::default, |pool| Metrics::of(pool))
}

impl ThreadPool {
    /// What the pool's threads have done since it was built, and what waits there: see [`Metrics`].
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(3).build()?;
    /// assert_eq!(pool.metrics().active, 3);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn metrics(&self) -> Metrics {
        self.pool.refuse_if_foreign();
        Metrics::of(&self.pool)
    }
}
