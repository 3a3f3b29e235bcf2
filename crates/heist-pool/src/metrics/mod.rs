//! What the pool counts of its threads, and the snapshot that users see.
//!
//! Each thread counts for itself, in `own.rs`: plain additions to words that nobody else writes, on lines that nobody else writes either. Its
//! time, in `times.rs`, is added up where the thread goes to sleep, wakes, and begins and ends a search; no clock is read for a job or a
//! poll. Only a pool that asks for histograms of its polls (`polls.rs`) reads the clock for each.
//!
//! Nobody stops for a snapshot, and a snapshot takes no lock: it can be had of a pool that hangs.

pub(crate) mod histogram;
mod own;
pub(crate) mod polls;
mod shown;
mod times;

pub use histogram::Histogram;
pub(crate) use own::OwnCounts;
pub use shown::{Metrics, WorkerMetrics};
pub use times::WorkerState;
