//! heist: one pool of work-stealing threads for all the parallel work of a program.
//!
//! The crate's root is rayon's, name for name. A program moves over with `rayon = { package = "heist", ... }` in its manifest; what
//! differs is what it costs, and what a wait may do:
//!
//! - a fork costs a few nanoseconds, and everything that is forked can be stolen;
//! - **a wait never runs a stranger**: a [`join`] or [`scope`] that waits runs only what it waits for, or lends its permit to run to
//!   another thread and sleeps. Locks, `OnceLock`s and `RefCell`s may be held across a join;
//! - **async tasks run on the same workers** (`task`, `time`, `net`, `block_on`; features `async` and `net`): inside a task `join`, `scope` and parallel
//!   iterators just work, and a task that blocks or computes for long is overtaken by the others;
//! - **ticks, work that recurs with a deadline, run there, too** (`tick`; feature `tick`): other workers take over what is late;
//! - blocking calls can say so ([`blocking`]), and another thread works meanwhile;
//! - an idle pool uses no CPU at all.
//!
//! ```
//! fn quick_sort<T: PartialOrd + Send>(v: &mut [T]) {
//!     if v.len() <= 1 {
//!         return;
//!     }
//!     let last = v.len() - 1;
//!     let mut middle = 0;
//!     for i in 0..last {
//!         if v[i] < v[last] {
//!             v.swap(i, middle);
//!             middle += 1;
//!         }
//!     }
//!     v.swap(middle, last);
//!     let (below, above) = v.split_at_mut(middle);
//!     heist::join(|| quick_sort(below), || quick_sort(&mut above[1..]));
//! }
//!
//! let mut v = vec![5, 1, 4, 2, 3];
//! quick_sort(&mut v);
//! assert_eq!(v, [1, 2, 3, 4, 5]);
//! ```
//!
//! Code that forks at every call can pass a [`Fork`] along and save the look-up of its thread; see [`fork`].
//!
//! # The global pool
//!
//! It starts on first use, with as many workers as affinity and control groups allow. `HEIST_NUM_THREADS` in the environment, or else
//! `RAYON_NUM_THREADS`, says otherwise, and also lowers what code asks for. [`ThreadPoolBuilder::build_global`] sets it up
//! by hand.
//!
//! # Indices
//!
//! [`current_thread_index`] is below [`current_num_threads`] and belongs to one running thread at a time. A job that has asked for it keeps
//! it, across all its waits. A job that has not asked never waits for one. While a job waits, another thread may run other jobs with its
//! index, exactly as in rayon, where they run on the same thread; [`WorkerLocal`] is by thread and not exposed to that.
//!
//! # Child processes
//!
//! After `fork(2)` the child has none of the pool's threads. There the global pool starts anew on first use; a [`ThreadPool`] that was made before the
//! `fork` panics when it is used, and says so. Dropping it does nothing.
//!
//! # Features
//!
//! | feature | on by default | what it adds |
//! |---|---|---|
//! | `async` | yes | tasks and timers: `block_on`, `task`, `time`, `TaskGroup`, `SpawnTask`, and `spawn_task`, `block_on`, `compute` of [`ThreadPool`] |
//! | `net` | yes | sockets for tasks: `net`; implies `async` |
//! | `tick` | yes | work that recurs with a deadline: `tick` |
//! | `trace-output` | yes | what is made of a recorded [`trace`]: files for trace viewers, timelines for the terminal |
//! | `hyper` | no | hyper on heist's tasks, timers and sockets: `hyper_rt`; implies `net` |
//! | `live` | no | a page in the browser that draws what the pools do, while they do it: `live`, `HEIST_LIVE`; implies `net` |
//! | `signal` | no | Ctrl-C and Unix's signals: `signal`; implies `net` |
//! | `tracing` | no | tasks run inside of the tracing span in which they were spawned, and `trace::TracingLayer` shows spans in traces; implies `async` |
//!
//! A program that only forks and loops sets `default-features = false`: it has all of rayon's root and modules, [`fork`](fork()),
//! [`blocking`], [`WorkerLocal`], [`trace`] and [`ThreadPool`], and builds four crates of others instead of six.

mod builder;
pub mod metrics;
#[cfg(all(feature = "async", not(heist_model)))]
mod pool_compute;
#[cfg(feature = "async")]
mod pool_tasks;
#[cfg(not(heist_model))]
pub mod profile;
#[cfg(not(heist_model))]
mod report;
#[cfg(feature = "async")]
mod scope_tasks;
#[cfg(not(heist_model))]
pub mod stall;
mod thread_pool;

pub use builder::{ThreadBuilder, ThreadPoolBuildError, ThreadPoolBuilder};
#[cfg(feature = "async")]
pub use heist_async::{block_on, task};
pub use heist_fork::{
    BroadcastContext, FnContext, Fork, Scope, ScopeFifo, Yield, active_num_threads, blocking, broadcast,
    current_num_threads, current_thread_has_pending_tasks, current_thread_index, fork, in_place_scope,
    in_place_scope_fifo, join, join_context, max_num_threads, scope, scope_fifo, spawn, spawn_broadcast,
    spawn_fifo, yield_local, yield_now,
};
pub use heist_iter::{
    array, collections, iter, option, range, range_inclusive, result, slice, str, string, vec,
};
pub use metrics::metrics;
#[cfg(feature = "async")]
pub use scope_tasks::SpawnTask;
pub use thread_pool::{SetNumThreadsError, ShutdownError, ThreadPool};

/// For [`ThreadPoolBuilder::pin`].
///
/// ```
/// let pool = heist::ThreadPoolBuilder::new().num_threads(2).pin(heist::Pin::Node).build()?;
/// assert_eq!(pool.join(|| 1, || 2), (1, 2));
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
pub use heist_pool::raw::pool::Pin;

// What has to do with the system's clock, sockets and threads is not there in a checker's world.
#[cfg(all(feature = "hyper", not(heist_model)))]
pub use heist_async::hyper_rt;
#[cfg(all(feature = "net", not(heist_model)))]
pub use heist_async::net;
#[cfg(all(feature = "signal", unix, not(heist_model)))]
pub use heist_async::signal;
#[cfg(all(feature = "async", not(heist_model)))]
pub use heist_async::{TaskGroup, time};
#[cfg(not(heist_model))]
pub use heist_fork::WorkerLocal;
#[cfg(not(heist_model))]
pub use profile::profile;
#[cfg(all(feature = "tick", not(heist_model)))]
pub use report::TickInfo;
#[cfg(not(heist_model))]
pub use report::{Report, ThreadInfo, ThreadState};

/// A page in the browser that draws what the pools do, while they do it. Needs the feature `live`.
///
/// ```
/// let live = heist::live::serve("127.0.0.1:0")?;
/// println!("open {}", live.url());
/// # std::io::Result::Ok(())
/// ```
#[cfg(all(feature = "live", not(heist_model)))]
pub mod live {
    pub use heist_live::{Live, self_contained, serve, serve_beyond_loopback};
    #[doc(hidden)]
    pub use heist_live::{demo, frame, serve_demo};
}

/// The traits of parallel iterators, and (feature `async`) of tasks in scopes: `use heist::prelude::*`.
///
/// ```
/// use heist::prelude::*;
///
/// assert_eq!((1..=4).into_par_iter().sum::<i32>(), 10);
/// ```
pub mod prelude {
    #[cfg(feature = "async")]
    pub use crate::scope_tasks::SpawnTask as _;
    pub use heist_iter::prelude::*;
}

#[cfg(feature = "tick")]
#[doc(inline)]
pub use heist_tick as tick;

/// The time of ticks. With the feature `async` timers are here, too.
#[cfg(all(feature = "tick", not(feature = "async"), not(heist_model)))]
pub mod time {
    pub use heist_pool::raw::clock::ManualClock;
}

pub mod trace;
