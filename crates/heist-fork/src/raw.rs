//! What heist's own crates need to know about the calling thread. Not for users: it changes without notice.

use heist_pool::worker::Local;

/// Whether the calling thread is a pool's and may run jobs.
#[inline]
pub fn is_worker() -> bool {
    Local::current().is_some_and(Local::runs_jobs)
}

/// Whether another thread would take more work from this one now: somebody searches, sleeps with a free index, or waits for
/// what this thread runs, and what it offered last has been taken. Lets whoever has asked take what is there. A few relaxed
/// loads if nobody has; false outside of a pool.
#[inline]
pub fn is_hungry() -> bool {
    Local::current().is_some_and(Local::is_hungry)
}
