//! Ticks: work that recurs with a deadline, on the same workers as jobs and tasks. In heist they need the feature `tick`, which is on by
//! default.
//!
//! [`every`] begins one. Each run is executed, or skipped with a count, or cancelled; [`Handle::stats`] has the ledger. A tick stays with
//! the worker that served it last. If that worker is late by more than [`steal_after`](Builder::steal_after), waits, or computes for
//! long, another one takes it over: also one that sleeps, and if all compute, a thread beyond them. Inside of a tick `join`, parallel
//! iterators, tasks and further ticks work as in a job. Closures can be submitted to a tick; they run between its runs and never at the same
//! time ([`Handle::submit`]).
//!
//! ```
//! use heist::tick::{self, Next};
//! use std::sync::mpsc::channel;
//! use std::time::Duration;
//!
//! let (send, receive) = channel();
//! let region = tick::every(Duration::from_millis(50)).name("region 0").spawn(move |cx| {
//!     // A late run stands for the periods that it has missed.
//!     send.send(cx.count()).unwrap();
//!     Next::Continue
//! });
//! assert!(receive.recv().unwrap() >= 1);
//! region.submit(|| println!("between two runs")).unwrap();
//! region.cancel_and_wait();
//! println!("{:?}", region.stats());
//! ```
//!
//! What a worker takes next is the most overdue tick; while jobs or tasks wait, ticks have at most 95 % of its time. Ticks that run while no
//! permit is free have no index: `current_thread_index` is `None` there.

// The models use the cell without the surface.
#![cfg_attr(heist_model, allow(dead_code))]

mod builder;
mod cell;
mod context;
mod error;
mod handle;
mod report;
mod stats;

#[doc(hidden)]
pub use builder::stats_of;
pub use builder::{Builder, InPool, OnPanic, every, stats};
pub use cell::schedule::Ledger;
pub use context::{Context, Next};
pub use error::{Error, Panicked, SubmitError};
pub use handle::Handle;
pub use heist_policy::tick::Overrun;
pub use report::{Report, on_report};
pub use stats::{Distribution, Histogram, Stats, Totals, Window, WindowStats};
