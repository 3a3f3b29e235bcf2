//! heist's fork-join surface: rayon's root, name for name, and [`fork`](fork()).

mod broadcast;
mod builder;
mod fork;
mod join;
#[doc(hidden)]
pub mod raw;
mod scope;
mod spawn;
mod thread_pool;
#[cfg(not(any(heist_loom, heist_shuttle)))]
mod worker_local;

pub use broadcast::{BroadcastContext, broadcast, spawn_broadcast};
pub use builder::{ThreadBuilder, ThreadPoolBuildError, ThreadPoolBuilder, max_num_threads};
pub use fork::{Fork, fork};
pub use join::{FnContext, join, join_context};
pub use scope::{Scope, ScopeFifo, in_place_scope, in_place_scope_fifo, scope, scope_fifo};
pub use spawn::{blocking, spawn, spawn_fifo};
pub use thread_pool::{
    ShutdownError, ThreadPool, Yield, current_num_threads, current_thread_has_pending_tasks,
    current_thread_index, yield_local, yield_now,
};
#[cfg(not(any(heist_loom, heist_shuttle)))]
pub use {thread_pool::Report, worker_local::WorkerLocal};
