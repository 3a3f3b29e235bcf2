//! `compute`.

use super::calls::{CallKind, Listed};
use super::handoff::{Receiver, handoff};
use super::{end_if_child, in_current_span, queue};
use crate::budget;
use crate::task::turn;
use heist_pool::raw::job::{halt_unwinding, heap_job};
use heist_pool::raw::pool::Pool;
use heist_pool::raw::threads::{ClosureKind, named};
use heist_sync::StdArc as Arc;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Runs a closure as a job, where it may use `join`, `scope` and parallel iterators, and is awaited without holding the task's
/// worker: other tasks run meanwhile. The job is of the pool in which [`spawn`](crate::task::spawn) would start a task.
///
/// The job starts at once, whether or not the result is awaited. Dropping the future does not stop it.
///
/// ```
/// let sum = heist::block_on(async { heist::task::compute(|| (1..=100u64).sum::<u64>()).await });
/// assert_eq!(sum, 5050);
/// ```
///
/// # Panics
/// A panic of the closure goes on where the result is awaited. If nobody does, the pool's panic handler gets it, and
/// likewise a panic of the unwanted result's drop.
#[track_caller]
pub fn compute<F, R>(f: F) -> Compute<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    compute_in(&turn::pool(), f)
}

/// As [`compute`], in `pool`: heist's `ThreadPool::compute`.
#[doc(hidden)]
#[track_caller]
pub fn compute_in<F, R>(pool: &Arc<Pool>, f: F) -> Compute<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    pool.refuse_if_foreign();
    let site = Location::caller();
    let (sender, receiver) = handoff();
    let keeper = Arc::clone(pool);
    let f = in_current_span(f);
    let listed = Listed::new(pool, CallKind::Compute, None, site);
    let job = move || {
        listed.begin();
        let outcome = halt_unwinding(|| named(ClosureKind::Compute, site, f));
        end_if_child(&keeper, outcome.is_err());
        // Before anybody can know that it is over.
        drop(listed);
        if let Some(payload) = sender.send(outcome) {
            keeper.deliver_panic(payload);
        }
    };
    // SAFETY: it does not unwind, as neither `send` nor `deliver_panic` does, and borrows nothing.
    let job = unsafe { heap_job(job, std::ptr::null()) };
    queue(pool, job);
    Compute(receiver)
}

/// The result of [`compute`], when it is there.
///
/// ```
/// use heist::task::{Compute, compute};
///
/// let sums: Vec<Compute<u64>> = (1..=3u64).map(|n| compute(move || (1..=n).sum())).collect();
/// heist::block_on(async {
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
        // Only then: a task may poll any number of computations that go on.
        if self.0.is_ready() {
            ready!(budget::poll_proceed(cx));
        }
        Pin::new(&mut self.0).poll(cx)
    }
}
