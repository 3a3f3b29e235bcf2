//! What heist's own crates need: the doors into a given pool, what may be attached to a scope, and what a loop asks about the
//! calling thread. Not for users: it changes without notice.

pub use crate::broadcast::{broadcast_in, spawn_broadcast_in};
pub use crate::fork::fork_in;
pub use crate::scope::{AnyScope, Attached, Base, in_place_scope_fifo_in, in_place_scope_in};
pub use crate::spawn::{spawn_fifo_in, spawn_in};
use heist_pool::worker::Worker;

/// Whether the calling thread is a pool's and may run jobs.
#[inline]
pub fn is_worker() -> bool {
    Worker::current().is_some()
}

/// The number of the calling thread among those of its pool, which is not its index: asking for that would bind it.
#[inline]
pub fn thread_number() -> Option<usize> {
    Worker::current().map(|worker| usize::from(worker.shared().id()))
}

/// Whether another thread would take more work from this one now: somebody searches, a permit is free, or a thief waits for
/// what this thread runs, and what it offered last has been taken. Lets a thread that has asked take what is there. A few relaxed
/// loads if nobody has; false outside of a pool.
#[inline]
pub fn wants_work() -> bool {
    Worker::current().is_some_and(Worker::wants_work)
}
