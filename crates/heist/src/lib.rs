//! heist: one pool of work-stealing threads for all the parallel work of a program.
//!
//! The crate's root is rayon's, name for name. A program moves over with `rayon = { package = "heist", ... }` in its manifest; what
//! differs is what it costs, and what a wait may do:
//!
//! - a fork costs a few nanoseconds, and everything that is forked can be stolen;
//! - **a wait never runs a stranger**: a [`join`] or [`scope`] that waits runs only what it waits for, or lends its place in the pool to
//!   another thread and sleeps. Locks, `OnceLock`s and `RefCell`s may be held across a join;
//! - **async tasks run on the same workers** ([`task`], [`time`], [`net`], [`block_on`]): inside of a task `join`, `scope` and parallel
//!   iterators just work, and a task that blocks or computes for long is overtaken by the others;
//! - blocking calls can say so ([`blocking`]), and a pool whose workers have all blocked is rescued;
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
//! It starts on first use, with as many workers as affinity and cgroup quota allow. `HEIST_NUM_THREADS` in the environment, or else
//! `RAYON_NUM_THREADS`, says otherwise; `HEIST_NUM_THREADS` also lowers what code asks for. [`ThreadPoolBuilder::build_global`] sets it up
//! by hand.
//!
//! # Indices
//!
//! [`current_thread_index`] is below [`current_num_threads`], belongs to one running thread at a time, and stays the same for as long as a
//! job runs, across joins. While a job waits, another thread may run other jobs with its index, exactly as in rayon, where they run on
//! the same thread; [`WorkerLocal`] is by thread and not exposed to that.

#[cfg(feature = "hyper")]
pub use heist_async::hyper_rt;
pub use heist_async::{TaskGroup, block_on, net, task, time};
pub use heist_fork::*;
pub use heist_iter::{
    array, collections, iter, option, prelude, range, range_inclusive, result, slice, str, string, vec,
};

/// What the pool's threads did: events, timelines, and files for trace viewers.
pub mod trace {
    pub use heist_trace::*;
}
