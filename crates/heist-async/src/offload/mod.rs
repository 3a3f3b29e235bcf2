//! Work that should not be done inside of a poll: calls that block, computations, and futures that need a thread of their own.

mod blocking;
mod compute;
mod handoff;
mod pinned;
mod threads;

pub use blocking::{blocking_threads, spawn_blocking};
pub use compute::{Compute, compute};
pub use pinned::spawn_pinned;

/// How many blocking calls run or wait for a thread now.
pub(crate) fn busy_threads() -> usize {
    threads::busy()
}
