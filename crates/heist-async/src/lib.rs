//! heist's async tasks: futures that run on the same workers as fork-join jobs, with timers and (feature `net`) sockets.

#[cfg(not(any(heist_loom, heist_shuttle)))]
mod asleep;
mod block_on;
mod budget;
#[cfg(not(heist_shuttle))]
mod driver;
#[cfg(not(any(heist_loom, heist_shuttle)))]
mod group;
#[cfg(all(feature = "hyper", not(any(heist_loom, heist_shuttle))))]
pub mod hyper_rt;
#[cfg(all(feature = "net", not(any(heist_loom, heist_shuttle))))]
pub mod net;
#[cfg(not(any(heist_loom, heist_shuttle)))]
mod offload;
#[cfg(all(feature = "signal", unix, not(any(heist_loom, heist_shuttle))))]
pub mod signal;
pub mod task;
#[cfg(not(heist_shuttle))]
pub mod time;

#[cfg(not(heist_loom))]
pub use block_on::{block_on, block_on_in};
#[cfg(not(any(heist_loom, heist_shuttle)))]
pub use group::TaskGroup;
