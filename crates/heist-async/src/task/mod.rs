//! Async tasks: futures that run on the pool's workers, beside its jobs.
//!
//! # Spawn
//!
//! [`spawn`](spawn()) starts a task and gives its [`JoinHandle`]. There is no runtime to set up: outside of all pools the task runs in the global
//! pool, which starts by itself; inside a task or a job it runs in the same pool. [`spawn_in`] names another one. From code that is not
//! async, [`block_on`](crate::block_on) waits for a future.
//!
//! ```
//! use heist::task;
//!
//! let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
//! let sum = heist::block_on(async {
//!     let here = task::spawn(async { 40 });
//!     let there = task::spawn_in(&pool, async { 2 });
//!     here.await.unwrap() + there.await.unwrap()
//! });
//! assert_eq!(sum, 42);
//! # Ok::<(), heist::ThreadPoolBuildError>(())
//! ```
//!
//! A task may use `join`, `scope` and parallel iterators. What keeps a thread for long is better given away: a call that blocks to
//! [`spawn_blocking`], a computation to [`compute`], a future that may not change threads to [`spawn_pinned`].
//!
//! ```
//! use heist::task;
//!
//! let (bytes, sum) = heist::block_on(async {
//!     let file = task::spawn_blocking(|| std::fs::read("Cargo.toml"));
//!     let sum = task::compute(|| (1..=1000u64).sum::<u64>());
//!     (file.await.unwrap(), sum.await)
//! });
//! assert!(bytes.unwrap().len() > 10);
//! assert_eq!(sum, 500_500);
//! ```
//!
//! # Await
//!
//! A handle gives the task's output, or a [`JoinError`] if the task panicked or was cancelled. A task need not be awaited: a handle that
//! is dropped leaves it to run on its own, and a panic of it then goes to the pool's panic handler.
//!
//! ```
//! use heist::task;
//!
//! heist::block_on(async {
//!     let (send, receive) = std::sync::mpsc::channel();
//!     task::spawn(async move { send.send("nobody awaits me").unwrap() });
//!     assert_eq!(task::spawn(async { 6 * 7 }).await.unwrap(), 42);
//!     let error = task::spawn(async { assert_eq!(1, 2) }).await.unwrap_err();
//!     assert!(error.is_panic());
//!     assert_eq!(receive.recv(), Ok("nobody awaits me"));
//! });
//! ```
//!
//! # Cancel
//!
//! [`JoinHandle::abort`] has the future dropped on a worker as soon as it is not being polled: a task is cancelled where it awaits, never
//! in the middle of a poll. An [`AbortHandle`] can do that and nothing else. A task that waits, and whose last waker and handle are
//! gone, could never go on: it is cancelled, too.
//!
//! ```
//! let handle = heist::task::spawn(std::future::pending::<()>());
//! handle.abort();
//! assert!(heist::block_on(handle).unwrap_err().is_cancelled());
//! ```
//!
//! # Groups
//!
//! A [`JoinSet`] has many tasks and gives their outputs as they end; dropped, it aborts those that have not. In a
//! [`TaskGroup`](crate::TaskGroup) the first error cancels the rest, and a limit says how many run at a time.
//!
//! ```
//! use heist::TaskGroup;
//! use heist::task::JoinSet;
//!
//! heist::block_on(async {
//!     let mut set = JoinSet::new();
//!     for n in 0..5 {
//!         set.spawn(async move { n * n });
//!     }
//!     let mut squares = 0;
//!     while let Some(square) = set.join_next().await {
//!         squares += square.unwrap();
//!     }
//!     assert_eq!(squares, 30);
//!
//!     let mut group = TaskGroup::new().limit(2);
//!     for text in ["1", "2", "three", "4"] {
//!         group.spawn(async { text.parse::<i32>().map(drop) }).await;
//!     }
//!     assert!(group.wait().await.is_err());
//! });
//! ```
//!
//! Tasks that borrow are spawned in a `scope`, by `Scope::spawn_task`.
//!
//! # Name, and see
//!
//! [`dump`](dump()) tells of every task what it is doing, since when, and where it was spawned; [`dump_calls`] does so for blocking calls and
//! computations. A [`Builder`] adds a name to that.
//!
//! ```
//! use heist::task;
//!
//! let handle = task::Builder::new().name("waits for ever").spawn(std::future::pending::<()>());
//! let tasks = task::dump();
//! let info = tasks.iter().find(|task| task.name() == Some("waits for ever")).unwrap();
//! assert_eq!(info.id(), handle.id());
//! println!("{info}");
//! ```

// How it works, and who may touch what when, is in the README.md beside this file.

mod arena;
#[cfg(not(heist_loom))]
mod builder;
mod cell;
#[cfg(not(heist_model))]
mod dump;
mod error;
#[cfg_attr(heist_model, path = "ghost_model.rs")]
mod ghost;
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
#[cfg(not(heist_model))]
pub use {dump::Info, dump::State, dump::abort_all_of, dump::dump, dump::dump_of, dump::leaked};

#[cfg(not(heist_model))]
pub use crate::offload::{
    CallInfo, CallKind, Compute, blocking_threads, compute, compute_in, dump_calls, dump_calls_of,
    spawn_blocking, spawn_pinned,
};

#[cfg(not(heist_model))]
pub(crate) use dump::for_report;

/// The id of the task that the calling thread polls, or `None` outside of tasks.
///
/// ```
/// assert_eq!(heist::task::try_id(), None);
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
/// let handle = heist::task::spawn(async { heist::task::id() });
/// let id = handle.id();
/// assert_eq!(heist::block_on(handle).unwrap(), id);
/// ```
#[track_caller]
pub fn id() -> Id {
    match try_id() {
        Some(id) => id,
        None => panic!("heist::task::id was called outside of a task; try_id tells"),
    }
}
