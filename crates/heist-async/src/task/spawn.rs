//! Starting tasks.

use super::cell::{Tail, Task};
use super::handle::JoinHandle;
use super::home::Home;
use super::state::Word;
use super::turn;
use heist_pool::raw::pool::Pool;
use heist_pool::raw::task::Place;
use heist_sync::StdArc as Arc;
use std::future::Future;
use std::panic::Location;

/// Runs a future as a task, in the pool of the calling task or thread, or else in the global one, which starts by itself.
///
/// The task runs whether or not the handle is awaited.
///
/// ```
/// let answer = heist::block_on(async {
///     let a = heist::task::spawn(async { 40 });
///     let b = heist::task::spawn(async { 2 });
///     a.await.unwrap() + b.await.unwrap()
/// });
/// assert_eq!(answer, 42);
/// ```
#[track_caller]
#[inline]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    with_tail(future, (), turn::home(), Location::caller())
}

/// As [`spawn`], in `pool`.
///
/// ```
/// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build()?;
/// let handle = heist::task::spawn_in(&pool, async { 42 });
/// assert_eq!(heist::block_on(handle).unwrap(), 42);
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[track_caller]
#[inline]
pub fn spawn_in<F>(pool: &impl InPool, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    with_tail(future, (), Home::of(pool.pool()), Location::caller())
}

/// What names a pool: heist's `ThreadPool`.
pub trait InPool {
    /// The pool itself.
    #[doc(hidden)]
    fn pool(&self) -> &Arc<Pool>;
}

impl InPool for Arc<Pool> {
    #[inline]
    fn pool(&self) -> &Arc<Pool> {
        self
    }
}

/// `home` comes with a count of its own, which becomes the task's; the caller keeps the pool for the length of the call.
#[inline]
pub(super) fn with_tail<F, X>(
    future: F,
    tail: X,
    home: Home,
    site: &'static Location<'static>,
) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
    X: Tail + Send + 'static,
{
    // Spans follow the task.
    #[cfg(feature = "tracing")]
    let future = tracing::Instrument::in_current_span(future);
    let task = Task::make(future, tail, home, site, Word::spawned(true, 0));
    // SAFETY: this is the handle that the word counts.
    let handle = unsafe { JoinHandle::new(task) };
    // SAFETY: a new task's `TaskRef` is ours; the caller keeps the pool.
    unsafe { task.schedule(Place::Next) };
    handle
}
