//! What heist's own crates need: the doors into a given pool, what may be attached to a scope, and what a loop asks about the
//! calling thread. Not for users: it changes without notice.

pub use crate::broadcast::{broadcast_in, spawn_broadcast_in};
pub use crate::fork::fork_in;
pub use crate::scope::{AnyScope, Attached, Base, in_place_scope_fifo_in, in_place_scope_in};
pub use crate::spawn::{spawn_fifo_in, spawn_in};
pub use heist_pool::raw::worker::Demand;
use heist_pool::raw::worker::Worker;

/// Joins that take little code.
pub mod compact {
    pub use crate::compact::{enter, join, join_staying};
}

/// Work and span of loops.
pub mod profile {
    pub use heist_pool::raw::profile::Blocks;
}

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

/// Waits until somebody takes what this thread has forked last, if the thread should stop because there are fewer permits.
pub fn stand_aside() {
    if let Some(worker) = Worker::current() {
        worker.stand_aside();
    }
}

/// Who would take more work from this thread now. Lets a thread that has asked take what is there. A few relaxed loads if nobody has;
/// nobody outside of a pool.
#[inline]
pub fn demand() -> Demand {
    Worker::current().map_or(Demand::None, Worker::demand)
}
