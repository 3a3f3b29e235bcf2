//! heist's async tasks: futures that run on the same workers as fork-join jobs, with timers and (feature `net`) sockets.

// A model of a protocol uses only what belongs to it.
#![cfg_attr(heist_model, allow(dead_code))]

mod block_on;
#[cfg(not(heist_loom))]
mod block_on_in;
mod budget;
mod driver;
#[cfg(not(heist_model))]
mod group;
#[cfg(all(feature = "hyper", not(heist_model)))]
pub mod hyper_rt;
#[cfg(all(feature = "net", not(heist_model)))]
pub mod net;
#[cfg(not(heist_model))]
mod offload;
#[cfg(all(feature = "signal", unix, not(heist_model)))]
pub mod signal;
#[cfg_attr(heist_model, path = "stall_model.rs")]
mod stall;
pub mod task;
pub mod time;

pub use block_on::block_on;
#[cfg(not(heist_loom))]
pub use block_on_in::block_on_in;
#[cfg(not(heist_model))]
pub use group::TaskGroup;
