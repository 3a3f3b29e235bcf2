//! Waiting for a future whose tasks run in a pool that the caller names.

use crate::block_on::block_on;
use crate::task::turn;
use heist_pool::raw::pool::Pool;
use heist_sync::StdArc as Arc;
use std::future::Future;

/// As [`block_on`], and the tasks that the future spawns run in `pool`: heist's `ThreadPool::block_on`.
///
/// The future itself stays on the calling thread. What it forks or installs goes where it would without this.
///
/// ```
/// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build()?;
/// let answer = pool.block_on(async { heist::task::spawn(async { 42 }).await.unwrap() });
/// assert_eq!(answer, 42);
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[track_caller]
pub fn block_on_in<F: Future>(pool: &Arc<Pool>, future: F) -> F::Output {
    turn::inside(pool, || block_on(future))
}
