//! rayon-core's API over heist's pool.
//!
//! In the manifest of the *application* (a `links` key may only be there once):
//!
//! ```toml
//! [patch.crates-io]
//! rayon-core = { path = "path/to/heist/compat/rayon-core" }
//! ```
//!
//! From then on `rayon`, and every dependency that uses it, runs on heist's workers.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod deprecated;

pub use heist::{
    BroadcastContext, FnContext, Scope, ScopeFifo, ThreadBuilder, ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder,
    Yield, broadcast, current_num_threads, current_thread_has_pending_tasks, current_thread_index, in_place_scope,
    in_place_scope_fifo, join, join_context, max_num_threads, scope, scope_fifo, spawn, spawn_broadcast, spawn_fifo,
    yield_local, yield_now,
};

#[allow(deprecated)]
pub use deprecated::{Configuration, initialize};
