//! heist's pool.
pub mod forks;
#[cfg(not(heist_loom))]
mod guest;
mod idle;
pub mod job;
mod kernel;
mod place;
pub mod pool;
pub mod queue;
pub mod signal;
mod table;
pub mod worker;
