//! heist's pool.
pub mod forks;
#[cfg(not(heist_loom))]
mod guest;
mod idle;
pub mod job;
mod kernel;
#[cfg(not(any(heist_loom, heist_shuttle)))]
mod monitor;
mod place;
pub mod pool;
pub mod signal;
mod table;
pub mod worker;
