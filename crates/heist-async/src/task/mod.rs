#![doc = include_str!("README.md")]

mod arena;
#[cfg(not(heist_loom))]
mod builder;
mod cell;
mod clock;
#[cfg(not(any(heist_loom, heist_shuttle)))]
mod dump;
mod error;
mod handle;
#[cfg_attr(heist_loom, path = "home_loom.rs")]
mod home;
mod id;
#[cfg(all(test, heist_loom))]
mod loom;
mod run;
#[cfg(not(heist_loom))]
mod scoped;
#[cfg(not(heist_loom))]
mod set;
#[cfg(not(heist_loom))]
mod spawn;
mod state;
pub(crate) mod turn;
mod waker;
mod yield_now;

pub use error::JoinError;
pub use handle::{AbortHandle, JoinHandle};
pub use id::Id;
#[cfg(not(heist_loom))]
#[doc(hidden)]
pub use spawn::InPool;
pub use yield_now::yield_now;
#[cfg(not(heist_loom))]
pub use {builder::Builder, scoped::spawn_scoped_raw, set::JoinSet, spawn::spawn, spawn::spawn_in};
#[cfg(not(any(heist_loom, heist_shuttle)))]
pub use {dump::Info, dump::State, dump::abort_all_of, dump::dump, dump::dump_of, dump::leaked};

#[cfg(not(any(heist_loom, heist_shuttle)))]
pub use crate::offload::{
    CallInfo, CallKind, Compute, blocking_threads, compute, dump_calls, spawn_blocking, spawn_pinned,
};

/// The id of the task that the calling thread polls, or `None` outside of tasks.
///
/// ```
/// assert_eq!(heist_async::task::try_id(), None);
/// ```
#[inline]
pub fn try_id() -> Option<Id> {
    turn::task().map(cell::Raw::id)
}

/// The id of the task that the calling thread polls.
///
/// # Panics
/// Outside of tasks.
///
/// ```
/// let handle = heist_async::task::spawn(async { heist_async::task::id() });
/// let id = handle.id();
/// assert_eq!(heist_async::block_on(handle).unwrap(), id);
/// ```
#[track_caller]
pub fn id() -> Id {
    match try_id() {
        Some(id) => id,
        None => panic!("heist_async::task::id was called outside of a task; try_id tells"),
    }
}
