//! Work that should not be done inside of a poll: calls that block, computations, and futures that need a thread of their own.

mod blocking;
mod calls;
mod compute;
mod handoff;
mod methods;
mod pinned;
mod threads;

pub use blocking::{blocking_threads, spawn_blocking};
pub use calls::{CallInfo, CallKind, dump_calls, dump_calls_of};
pub use compute::{Compute, compute, compute_in};
pub use pinned::spawn_pinned;

pub(crate) use blocking::begin_blocking;
pub(crate) use calls::calls_for_report;
pub(crate) use pinned::begin_pinned;

use crate::task;
use heist_pool::raw::global;
use heist_pool::raw::job::JobRef;
use heist_pool::raw::pool::Pool;
use heist_pool::raw::process;
use heist_pool::raw::worker::Worker;
use heist_sync::StdArc as Arc;

/// A job that begins on the thread where this is dropped.
struct Queued(Option<JobRef>);

impl Drop for Queued {
    fn drop(&mut self) {
        let Some(job) = self.0.take() else { return };
        match Worker::current() {
            Some(worker) => worker.spawn(job),
            // SAFETY: here or there, so once.
            None => unsafe { job.run() },
        }
    }
}

/// Queues a job in the pool of the current poll.
fn queue(pool: &Arc<Pool>, job: JobRef) {
    match Worker::current() {
        Some(worker) if Arc::ptr_eq(worker.pool(), pool) => worker.spawn(job),
        _ if global::is(pool) => pool.inject(job),
        _ => {
            // LIVENESS: we are on no thread of the pool, and they may have left: a pinned future may outlive them. For a job none
            // would come back, but for a task they do. If it is aborted, the job runs all the same.
            let job = Queued(Some(job));
            drop(task::spawn_in(pool, async move { drop(job) }));
        }
    }
}

/// A closure of the program's has returned on a thread of heist's own: in a child process there is nothing left to do for it.
fn end_if_child(pool: &Pool, has_panicked: bool) {
    if pool.is_foreign() {
        process::end_child_after(has_panicked);
    }
}

/// Makes `f` run inside of the tracing span that is current now.
#[cfg(feature = "tracing")]
fn in_current_span<R>(f: impl FnOnce() -> R) -> impl FnOnce() -> R {
    let span = tracing::Span::current();
    move || span.in_scope(f)
}

#[cfg(not(feature = "tracing"))]
fn in_current_span<F>(f: F) -> F {
    f
}

/// Counts the blocking calls that run or wait for a thread now.
pub(crate) fn busy_threads() -> usize {
    threads::busy()
}
