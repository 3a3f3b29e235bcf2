//! How ticks are doing, as server owners know it: TPS, MSPT, lateness, and what was skipped.
//!
//! Data flows one way: a [`Recorder`] hears of every run and adds it up in the rings of `rings.rs`, in `counts.rs` for all ticks and
//! in `percentiles.rs`, whose slices are [`Histogram`]s, for those that ask; a snapshot of it is a [`Stats`]. Nothing here reads a
//! clock, takes a lock, or allocates after its first seconds, but for `pool.rs`: those are recorders for all ticks of a pool, one for each index.

#![forbid(unsafe_code)]

mod counts;
mod percentiles;
mod pool;
mod recorder;
mod rings;
mod shown;
mod window;

pub use heist_pool::raw::metrics::Histogram;
pub(crate) use pool::{Ended, PoolStats};
pub(crate) use recorder::Recorder;
pub use shown::{Distribution, Stats, Totals, WindowStats};
pub use window::Window;

#[cfg(all(test, not(heist_model)))]
mod tests;
