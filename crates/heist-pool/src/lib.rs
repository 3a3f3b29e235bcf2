//! heist's pool.
mod attend;
#[cfg(not(heist_loom))]
pub mod build;
#[cfg(not(any(heist_loom, heist_shuttle)))]
mod courtesy;
pub mod driver;
pub mod forks;
#[cfg(not(heist_loom))]
pub mod global;
#[cfg(not(heist_loom))]
mod guest;
mod idle;
pub mod job;
mod kernel;
#[cfg(not(any(heist_loom, heist_shuttle)))]
mod monitor;
mod place;
pub mod pool;
#[cfg(not(any(heist_loom, heist_shuttle)))]
mod pulse;
pub mod signal;
mod table;
pub mod task;
mod tasks;
pub mod worker;
