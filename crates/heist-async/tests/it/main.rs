//! Tests that can share a process; those that change it start one of their own.

mod rig;

mod net_echo;
#[cfg(feature = "hyper")]
mod net_http;
mod net_limits;
mod net_methods;
mod net_waiting;
mod pool_ends;
#[cfg(all(feature = "signal", unix))]
mod signals;
mod task_ends;
mod task_panics;
mod task_reports;
mod task_set;
mod task_spawn;
mod time_sleep;
