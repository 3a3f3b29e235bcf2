//! The explicit form of fork-join: a [`Fork`] is passed from call to call, so that no call has to look for its worker.

use crate::join::{Half, fork_at};
use heist_pool::raw::forks::{Hot, hot};
use heist_pool::raw::global;
use heist_pool::raw::pool::Pool;
use heist_sync::Arc;
use std::marker::PhantomData;

/// The right to fork on the calling thread: the address of what a fork touches, one word that stays in a register.
///
/// It is made by [`fork`] and handed by value to the closures of [`Fork::join`]. It is neither `Send` nor `Sync` nor `Copy`;
/// the closures are `Send`, because either half may run on another thread, where it gets a `Fork` of that thread.
///
/// ```
/// use heist::{Fork, fork};
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
    /// Not longer than the closure that got it, and not on another thread.
    life: PhantomData<(&'a mut (), *mut ())>,
}

impl Fork<'_> {
    #[inline(always)]
    fn new(hot: &'static Hot) -> Self {
        Self { hot, life: PhantomData }
    }

    /// Runs both closures, possibly in parallel, like [`join`](crate::join).
    ///
    /// ```
    /// let (a, b) = heist::fork(|f| f.join(|_| 1, |_| 2));
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
        // Nothing here depends on how deep the thread has forked since this `Fork` was made: a closure may use the `Fork` of
        // a caller further out, if it proves by other means (a wrapper that checks the thread) that it is still there.
        fork_at(self.hot, Carried(a), Carried(b))
    }
}

/// A closure that gets the `Fork` of the thread it runs on.
struct Carried<F>(F);

impl<R, F: FnOnce(Fork<'_>) -> R + Send> Half<R> for Carried<F> {
    const MAY_BE_OUTSIDE: bool = false;
    #[inline(always)]
    fn run_here(self, hot: &'static Hot) -> R {
        (self.0)(Fork::new(hot))
    }
    fn run_stolen(self) -> R {
        (self.0)(Fork::new(hot()))
    }
}

/// Runs `f` with the right to fork, in the current pool or else the global one.
///
/// From a thread outside any pool it runs on the calling thread itself, if a worker sleeps whose permit can be borrowed: no
/// hop, so small work stays small. Otherwise it queues for a worker like `ThreadPool::install`.
///
/// ```
/// let (a, b) = heist::fork(|f| f.join(|_| "left", |_| "right"));
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
    global::install(|| f(Fork::new(hot())))
}

/// [`fork`] in a given pool.
#[track_caller]
pub fn fork_in<F, R>(pool: &Arc<Pool>, f: F) -> R
where
    F: FnOnce(Fork<'_>) -> R + Send,
    R: Send,
{
    pool.install(|| f(Fork::new(hot())))
}
