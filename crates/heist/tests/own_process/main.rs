//! Tests of what belongs to a whole process: limits, filters, standard error, and what the kernel counts. Each case runs in a process
//! of its own, which is this binary again.

#[path = "../rig/mod.rs"]
mod rig;

mod follow_limits;
mod forked;
mod how_many;
mod limits;
mod limits_waits;
mod little_load;
mod nodes;
mod own_failures;
mod permits_refused;
mod profiles;
mod stalls;
mod task_asleep;
mod task_idle;
mod tick_idle;
mod tick_reports;
mod trace_file;
mod unknown_system;
