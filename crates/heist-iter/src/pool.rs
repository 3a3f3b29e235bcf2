//! The one door to the pool: nothing else in this crate names whoever runs the work.

pub(crate) use heist_fork::raw::thread_number;
pub(crate) use heist_fork::{current_num_threads, join, join_context};

/// Whether another worker would take work from this thread now. Costs a few nanoseconds; `false` outside of a pool.
///
/// If there is something to take already, this lets whoever has asked take it.
#[inline]
pub(crate) fn wants_work() -> bool {
    heist_fork::raw::wants_work()
}

/// Whether the calling thread is a pool's. It may be without an index for a while.
#[inline]
pub(crate) fn is_worker() -> bool {
    heist_fork::raw::is_worker()
}

/// Runs `op` on one of the pool's threads: on this one if it is a worker, else on the pool that a `join` from here
/// would use.
pub(crate) fn enter<R: Send>(op: impl FnOnce() -> R + Send) -> R {
    if heist_fork::raw::is_worker() { op() } else { join(op, || ()).0 }
}

/// [`join_context`] for a worker, whose `left` stays on the calling thread, and so need not be `Send`. `right` is told
/// whether it has changed threads.
///
/// # Panics
///
/// Outside of a pool; see [`enter`].
pub(crate) fn join_here<A, B, RA, RB>(left: A, right: B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce(bool) -> RB + Send,
    RB: Send,
{
    /// Carries a value that does not change threads through a bound that asks for `Send`.
    struct Stays<T>(T);
    // SAFETY: `join_context` called by a worker runs its first closure on that same worker, inside the call, and hands
    // its result back there; the wrapped values are only touched in that closure and after the call.
    unsafe impl<T> Send for Stays<T> {}
    impl<T> Stays<T> {
        fn into_inner(self) -> T {
            self.0
        }
    }

    assert!(is_worker(), "join_here is for workers");
    let left = Stays(left);
    let (left, right) =
        join_context(move |_| Stays(left.into_inner()()), |context| right(context.migrated()));
    (left.into_inner(), right)
}
