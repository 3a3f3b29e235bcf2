//! The one door to the pool: nothing else in this crate names whoever runs the work.

pub(crate) use heist_fork::raw::{Demand, demand, thread_number};
pub(crate) use heist_fork::{blocking, current_num_threads, join, join_context};

/// Whether another worker would take work from this thread now, be it after a wake-up. Costs a few nanoseconds; `false` outside of a pool.
///
/// If there is something to take already, this lets whoever has asked take it.
#[inline]
pub(crate) fn should_offer_work() -> bool {
    demand() != Demand::None
}

/// Whether the calling thread is a pool's. It may be without an index for a while.
#[inline]
pub(crate) fn is_worker() -> bool {
    heist_fork::raw::is_worker()
}

/// Runs `op` in a pool: here if the calling thread is a pool's, else in the pool that a `join` from here would use.
pub(crate) use heist_fork::raw::enter;

/// [`join_context`] for a worker, whose first half stays on the calling thread, and so need not be `Send`.
pub(crate) use heist_fork::raw::join_staying as join_here;
