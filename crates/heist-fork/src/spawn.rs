//! Detached jobs, and saying that a call will block.

use crate::scope::push_in;
use heist_pool::raw::global;
use heist_pool::raw::job::{JobRef, halt_unwinding, heap_job};
use heist_pool::raw::pool::Pool;
use heist_pool::raw::threads::{ClosureKind, named};
use heist_pool::raw::worker::Worker;
use heist_sync::Arc;
use std::panic::Location;

/// Runs `func` at some time, on some thread of the current pool, or else of the global one, and does not wait for it.
///
/// ```
/// let (send, receive) = std::sync::mpsc::channel();
/// heist::spawn(move || send.send(7).unwrap());
/// assert_eq!(receive.recv(), Ok(7));
/// ```
///
/// # Panics
/// A panic goes to the pool's `ThreadPoolBuilder::panic_handler`. Without one, the panic hook has
/// printed it and the pool goes on.
#[track_caller]
pub fn spawn<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    spawn_in(&global::current(), func);
}

/// As [`spawn`], running those spawned first first.
///
/// ```
/// let (send, receive) = std::sync::mpsc::channel();
/// heist::spawn_fifo(move || send.send(7).unwrap());
/// assert_eq!(receive.recv(), Ok(7));
/// ```
///
/// # Panics
/// As [`spawn`].
#[track_caller]
pub fn spawn_fifo<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    spawn_fifo_in(&global::current(), func);
}

/// A detached job, by the name of the calling function's caller.
#[track_caller]
pub(crate) fn detached<F: FnOnce() + Send + 'static>(pool: &Arc<Pool>, func: F) -> JobRef {
    // The job keeps the pool, not its threads: they may only leave when it has run.
    let keeper = Arc::clone(pool);
    let site = Location::caller();
    let job = move || {
        if let Err(payload) = halt_unwinding(|| named(ClosureKind::Job, site, func)) {
            keeper.deliver_panic(payload);
        }
    };
    // SAFETY: it does not unwind and borrows nothing.
    unsafe { heap_job(job, std::ptr::null()) }
}

/// [`spawn`] in a given pool.
#[track_caller]
pub fn spawn_in<F: FnOnce() + Send + 'static>(pool: &Arc<Pool>, func: F) {
    push_in(pool, detached(pool, func));
}

/// [`spawn_fifo`] in a given pool.
#[track_caller]
pub fn spawn_fifo_in<F: FnOnce() + Send + 'static>(pool: &Arc<Pool>, func: F) {
    /// The thread that takes the ticket runs the oldest job; there are as many jobs as tickets.
    unsafe fn ticket(pool: *const ()) {
        // SAFETY: the job behind the ticket keeps the pool until it has run.
        let fifo = unsafe { &*pool.cast::<Pool>() }.queues().fifo();
        let job = fifo.pop().expect("a job for each ticket");
        // SAFETY: taken out of the queue, so once.
        unsafe { job.run() };
    }
    pool.refuse_if_foreign();
    pool.queues().fifo().push(detached(pool, func));
    // SAFETY: see `ticket`.
    push_in(pool, unsafe { JobRef::new(ticket, Arc::as_ptr(pool).cast(), std::ptr::null()) });
}

/// Runs `f`, which will block (a lock, a file, a channel), and lets another thread of the pool work meanwhile.
///
/// On a thread of a pool it lends the thread's permit for the duration, so that
/// [`current_thread_index`](crate::current_thread_index) is `None` inside. Elsewhere it just runs `f`.
///
/// The permit goes to a thread that sleeps, or to a spare thread that is started for it. A pool that can have no spare threads (made with
/// `spawn_handler` or `build_scoped`, with `max_threads` not above `num_threads`, or of the calling thread alone) has nobody to lend it
/// to: there `f` holds the thread as if it were called without `blocking`, and jobs that are queued wait for the other threads. If all
/// of them block, and wait for a job that is queued, they wait for ever, as in rayon. The same holds while the system refuses more
/// threads, or `max_threads` is reached, until that changes.
///
/// ```
/// let (send, receive) = std::sync::mpsc::channel();
/// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build()?;
/// // One worker, and still both run: the first says that it blocks.
/// let got = pool.install(move || {
///     heist::spawn(move || send.send(1).unwrap());
///     heist::blocking(|| receive.recv())
/// });
/// assert_eq!(got, Ok(1));
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
///
/// # Panics
/// A panic of `f` goes on here.
///
/// # Blocking
/// A job that has not asked for its index goes on right after `f`. One that has gets the same index back: at once from a borrower
/// that has not asked for it, else when that borrower's job ends.
#[track_caller]
pub fn blocking<F, R>(f: F) -> R
where
    F: FnOnce() -> R,
{
    match Worker::current() {
        Some(worker) => {
            let site = Location::caller();
            worker.blocking(|| named(ClosureKind::Blocking, site, f))
        }
        None => f(),
    }
}
