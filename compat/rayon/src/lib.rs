//! rayon's API, which is heist's.
//!
//! In the manifest of the *application*:
//!
//! ```toml
//! [patch.crates-io]
//! rayon = { path = "path/to/heist/compat/rayon" }
//! ```
//!
//! From then on every crate of the program that names `rayon` gets heist: its functions, and also its traits. So what `indexmap`,
//! `hashbrown` or `ndarray` implement for rayon is a parallel iterator of heist.
//!
//! ```
//! use rayon::prelude::*;
//!
//! let squares: Vec<u32> = (1..=4).into_par_iter().map(|n| n * n).collect();
//! assert_eq!(squares, [1, 4, 9, 16]);
//! ```
//!
//! Only rayon's own names are here. A program that also wants heist's (tasks, timers, sockets, `blocking`) adds `heist` beside it: both
//! names are one pool.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

pub use heist::{array, collections, iter, option, range, range_inclusive, result, slice, str, string, vec};
pub use rayon_core::{
    BroadcastContext, FnContext, Scope, ScopeFifo, ThreadBuilder, ThreadPool, ThreadPoolBuildError,
    ThreadPoolBuilder, Yield, broadcast, current_num_threads, current_thread_index, in_place_scope,
    in_place_scope_fifo, join, join_context, max_num_threads, scope, scope_fifo, spawn, spawn_broadcast,
    spawn_fifo, yield_local, yield_now,
};

/// The traits of parallel iterators: `use rayon::prelude::*`.
///
/// ```
/// use rayon::prelude::*;
///
/// let mut words = ["pear", "apple", "plum"];
/// words.par_sort_unstable();
/// assert_eq!(words, ["apple", "pear", "plum"]);
/// ```
pub mod prelude {
    pub use crate::iter::{
        FromParallelIterator, IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator,
        IntoParallelRefMutIterator, ParallelBridge, ParallelDrainFull, ParallelDrainRange, ParallelExtend,
        ParallelIterator,
    };
    pub use crate::slice::{ParallelSlice, ParallelSliceMut};
    pub use crate::str::ParallelString;
}
