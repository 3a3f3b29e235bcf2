//! The explicit form of fork-join: a [`Fork`] is passed from call to call, so that no call has to look for its worker.

use crate::join::{Half, fork_at};
use heist_pool::forks::{Hot, Slot, hot};
use heist_pool::global;
use heist_pool::pool::Pool;
use heist_pool::worker::Local;
use heist_sync::Arc;
use std::marker::PhantomData;

/// The right to fork on the calling thread: its worker and the top of its stack, two words that stay in registers.
///
/// It is made by [`fork`] and handed by value to the closures of [`Fork::join`]. It is neither `Send` nor `Sync` nor `Copy`;
/// the closures are `Send`, because either half may run on another thread, where it gets a `Fork` of that thread.
///
/// ```
/// use heist_fork::{Fork, fork};
///
/// fn fib(f: Fork<'_>, n: u32) -> u64 {
///     if n < 2 {
///         return n.into();
///     }
///     let (a, b) = f.join(|f| fib(f, n - 1), |f| fib(f, n - 2));
///     a + b
/// }
/// assert_eq!(fork(|f| fib(f, 20)), 6765);
/// ```
#[derive(Debug)]
pub struct Fork<'a> {
    hot: &'static Hot,
    top: *mut Slot,
    /// Not longer than the closure that got it, and not on another thread.
    life: PhantomData<(&'a mut (), *mut ())>,
}

impl Fork<'_> {
    #[inline(always)]
    fn new(hot: &'static Hot, top: *mut Slot) -> Self {
        Self { hot, top, life: PhantomData }
    }

    /// Runs both closures, possibly in parallel, like [`join`](crate::join).
    ///
    /// ```
    /// let (a, b) = heist_fork::fork(|f| f.join(|_| 1, |_| 2));
    /// assert_eq!(a + b, 3);
    /// ```
    ///
    /// # Panics
    /// As [`join`](crate::join).
    ///
    /// # Blocking
    /// As [`join`](crate::join).
    #[inline(always)]
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(Fork<'_>) -> RA + Send,
        B: FnOnce(Fork<'_>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        // The top is where it was when this `Fork` was made: whatever could have moved it runs in a `Send` closure, which
        // cannot hold `&self`, and has put it back.
        fork_at(self.hot, self.top, Carried(a), Carried(b))
    }
}

/// A closure that gets the `Fork` of the thread it runs on.
struct Carried<F>(F);

impl<R, F: FnOnce(Fork<'_>) -> R + Send> Half<R> for Carried<F> {
    #[inline(always)]
    fn run_here(self, hot: &'static Hot, top: *mut Slot) -> R {
        (self.0)(Fork::new(hot, top))
    }
    fn run_stolen(self) -> R {
        let hot = hot();
        (self.0)(Fork::new(hot, hot.top()))
    }
}

/// Runs `f` with the right to fork, in the current pool or else the global one.
///
/// From a thread outside of any pool it runs on the calling thread itself, if a worker sleeps whose index can be borrowed: no
/// hop, so small work stays small. Otherwise it queues for a worker like [`ThreadPool::install`](crate::ThreadPool::install).
///
/// ```
/// let (a, b) = heist_fork::fork(|f| f.join(|_| "left", |_| "right"));
/// assert_eq!((a, b), ("left", "right"));
/// ```
///
/// # Panics
/// A panic of `f` goes on here.
///
/// # Blocking
/// Waits for `f` if it was queued.
pub fn fork<F, R>(f: F) -> R
where
    F: FnOnce(Fork<'_>) -> R + Send,
    R: Send,
{
    match Local::current() {
        Some(local) if local.runs_jobs() => run(f),
        Some(local) => local.pool().install(|| run(f)),
        None => fork_outside(global::pool(), f),
    }
}

fn run<R>(f: impl FnOnce(Fork<'_>) -> R) -> R {
    let hot = hot();
    f(Fork::new(hot, hot.top()))
}

/// `fork` in a given pool.
pub(crate) fn fork_in<F, R>(pool: &Arc<Pool>, f: F) -> R
where
    F: FnOnce(Fork<'_>) -> R + Send,
    R: Send,
{
    match Local::current() {
        Some(local) if Arc::ptr_eq(local.pool(), pool) && local.runs_jobs() => run(f),
        Some(_) => pool.install(|| run(f)),
        None => fork_outside(pool, f),
    }
}

fn fork_outside<F, R>(pool: &Arc<Pool>, f: F) -> R
where
    F: FnOnce(Fork<'_>) -> R + Send,
    R: Send,
{
    match pool.visit(|| run(f)) {
        Ok(Ok(result)) => result,
        Ok(Err(payload)) => std::panic::resume_unwind(payload),
        Err(f) => pool.install(f),
    }
}
