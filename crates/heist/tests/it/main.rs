//! Tests that can share a process: they look at their own pools and threads only, or start processes of their own.

#[path = "../rig/mod.rs"]
mod rig;

mod affinity;
mod build_errors;
mod driver_attended;
mod fairness;
mod fork_builder;
mod fork_names;
mod fork_panicking;
mod fork_pool_tasks;
mod fork_thread_end;
mod fork_wrapped;
mod guests;
mod guests_leave;
mod indices;
mod last_resort;
mod must_not_compile;
mod nesting;
mod num_threads_is_a_limit;
mod panics;
mod permits_bound;
mod permits_index;
mod permits_locks;
mod permits_strangers;
mod permits_without;
mod pools;
mod reports;
mod rescue_opt_in;
mod task_blocked;
mod task_burst_blocked;
mod task_exactly_once;
mod task_last_socket;
mod task_nesting;
mod task_overtaker;
mod task_rules;
mod task_shutdown;
mod task_tokio;
mod task_tools;
mod task_under_compute;
mod tick_closures;
mod tick_ledger;
mod tick_life;
mod tick_pools;
mod tick_served;
mod waiting;
