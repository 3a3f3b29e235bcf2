//! Detached jobs, and saying that a call will block.

use crate::scope::push_in;
use heist_pool::global;
use heist_pool::job::{HeapJob, JobRef, halt_unwinding};
use heist_pool::pool::Pool;
use heist_pool::worker::Worker;
use heist_sync::Arc;

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
pub fn spawn_fifo<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    spawn_fifo_in(&global::current(), func);
}

/// A detached job.
pub(crate) fn detached<F: FnOnce() + Send + 'static>(pool: &Arc<Pool>, func: F) -> JobRef {
    // The job keeps the pool, not its threads: they may only leave when it has run.
    let keeper = Arc::clone(pool);
    let job = move || {
        if let Err(payload) = halt_unwinding(func) {
            keeper.deliver_panic(payload);
        }
    };
    // SAFETY: it does not unwind and borrows nothing.
    unsafe { HeapJob::boxed(job, std::ptr::null()) }
}

/// [`spawn`] in a given pool.
pub fn spawn_in<F: FnOnce() + Send + 'static>(pool: &Arc<Pool>, func: F) {
    push_in(pool, detached(pool, func));
}

/// [`spawn_fifo`] in a given pool.
pub fn spawn_fifo_in<F: FnOnce() + Send + 'static>(pool: &Arc<Pool>, func: F) {
    /// The thread that takes the ticket runs the oldest job; there are as many jobs as tickets.
    unsafe fn ticket(pool: *const ()) {
        // SAFETY: the job behind the ticket keeps the pool until it has run.
        let fifo = unsafe { &*pool.cast::<Pool>() }.queues().fifo();
        let job = fifo.pop().expect("a job for each ticket");
        // SAFETY: taken out of the queue, so once.
        unsafe { job.run() };
    }
    pool.queues().fifo().push(detached(pool, func));
    // SAFETY: see `ticket`.
    push_in(pool, unsafe { JobRef::new(ticket, Arc::as_ptr(pool).cast(), std::ptr::null()) });
}

/// Runs `f`, which will block (a lock, a file, a channel), and lets another thread of the pool work meanwhile.
///
/// On a thread of a pool it lends the thread's permit for the duration, so that
/// [`current_thread_index`](crate::current_thread_index) is `None` inside. Elsewhere it just runs `f`.
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
pub fn blocking<F, R>(f: F) -> R
where
    F: FnOnce() -> R,
{
    match Worker::current() {
        Some(worker) => worker.blocking(f),
        None => f(),
    }
}
