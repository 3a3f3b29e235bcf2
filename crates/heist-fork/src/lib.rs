//! heist's fork-join surface: rayon's root, name for name, and [`fork`](fork()). The pool's handle, which has to do with tasks as
//! well, is in the facade.

mod broadcast;
mod compact;
mod current;
mod fork;
mod join;
mod pending;
#[doc(hidden)]
pub mod raw;
mod scope;
mod spawn;
#[cfg(not(heist_model))]
mod worker_local;

pub use broadcast::{BroadcastContext, broadcast, spawn_broadcast};
pub use current::{
    Yield, active_num_threads, current_num_threads, current_thread_has_pending_tasks, current_thread_index,
    max_num_threads, yield_local, yield_now,
};
pub use fork::{Fork, fork};
pub use join::{FnContext, join, join_context};
pub use scope::{Scope, ScopeFifo, in_place_scope, in_place_scope_fifo, scope, scope_fifo};
pub use spawn::{blocking, spawn, spawn_fifo};
#[cfg(not(heist_model))]
pub use worker_local::WorkerLocal;
