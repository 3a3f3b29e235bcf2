//! chili: the thread that opens a scope is one of the workers.
//!
//! A scope is opened for each visit and closed after it, because chili's heartbeat thread runs as long as a
//! scope is open and would disturb the others. `chili::Scope::join` runs its *second* closure at once and
//! shares the first; the workloads pass them so that everyone recurses in the same order.

use std::num::NonZero;

/// A pool of `workers` threads, the caller included, with chili's own heartbeat of 100 us.
pub fn pool(workers: usize) -> chili::ThreadPool {
    let thread_count = Some(NonZero::new(workers).expect("a pool has at least one worker"));
    chili::ThreadPool::with_config(chili::Config { thread_count, ..Default::default() })
}
