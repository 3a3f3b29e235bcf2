//! The one door to the pool: nothing else in this crate names whoever runs the work.

pub(crate) use heist_fork::blocking;
pub(crate) use heist_fork::raw::profile::Blocks;
pub(crate) use heist_fork::raw::{Demand, demand, stand_aside, thread_number};

/// How many workers a loop is divided for.
pub(crate) fn workers() -> usize {
    heist_fork::active_num_threads().max(1)
}

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

// Every loop has forks of its own: they are the ones that take little code.
pub(crate) use heist_fork::raw::compact::{enter, join, join_staying as join_here};
