//! `compute`.

use super::handoff::{Receiver, handoff};
use heist_pool::global;
use heist_pool::job::{HeapJob, halt_unwinding};
use heist_pool::worker::Local;
use heist_sync::StdArc as Arc;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Runs a closure as a job of the current pool, where it may use `join`, `scope` and parallel iterators, and is awaited without
/// holding the task's worker: other tasks run meanwhile.
///
/// The job starts at once, whether or not the result is awaited. Dropping the future does not stop it.
///
/// ```
/// let sum = heist_async::block_on(async { heist_async::task::compute(|| (1..=100u64).sum::<u64>()).await });
/// assert_eq!(sum, 5050);
/// ```
///
/// # Panics
/// A panic of the closure goes on where the result is awaited.
pub fn compute<F, R>(f: F) -> Compute<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    let (sender, receiver) = handoff();
    let pool = global::current();
    let keeper = Arc::clone(&pool);
    let job = move || {
        if let Some(payload) = sender.send(halt_unwinding(f)) {
            keeper.deliver_panic(payload);
        }
    };
    // SAFETY: it does not unwind, and borrows nothing.
    let job = unsafe { HeapJob::boxed(job, std::ptr::null()) };
    match Local::current() {
        Some(local) if Arc::ptr_eq(local.pool(), &pool) => local.spawn(job),
        _ => pool.inject(job),
    }
    Compute(receiver)
}

/// The result of [`compute`], when it is there.
///
/// ```
/// use heist_async::task::{Compute, compute};
///
/// let sums: Vec<Compute<u64>> = (1..=3u64).map(|n| compute(move || (1..=n).sum())).collect();
/// heist_async::block_on(async {
///     for (sum, wanted) in sums.into_iter().zip([1, 3, 6]) {
///         assert_eq!(sum.await, wanted);
///     }
/// });
/// ```
#[derive(Debug)]
#[must_use = "the job runs anyway, but its result is dropped"]
pub struct Compute<R>(Receiver<R>);

impl<R> Future for Compute<R> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        Pin::new(&mut self.0).poll(cx)
    }
}
