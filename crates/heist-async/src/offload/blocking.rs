//! `spawn_blocking`.

use super::calls::{CallKind, Listed};
use super::handoff::{Receiver, handoff};
use super::{end_if_child, in_current_span, queue, threads};
use crate::task::{self, JoinHandle, turn};
use heist_pool::raw::clock::ManualClock;
use heist_pool::raw::job::{halt_unwinding, heap_job};
use heist_pool::raw::pool::Pool;
use heist_pool::raw::worker::Worker;
use heist_sync::StdArc as Arc;
use std::panic::Location;

/// Runs a closure that blocks (files, name resolution, foreign libraries) on a thread kept for that, and gives a handle to
/// await.
///
/// For a blocking call in the middle of other work there is `heist::blocking`, which needs no hop; for work that computes,
/// [`compute`](super::compute).
///
/// Aborting the handle before the closure has begun drops it; once it runs it runs to its end. What the closure spawns, and its
/// timers and sockets, belong to the pool in which [`spawn`](crate::task::spawn) would have started a task.
///
/// ```
/// let bytes = heist::block_on(async {
///     heist::task::spawn_blocking(|| std::fs::read("Cargo.toml")).await
/// });
/// assert!(!bytes.unwrap().unwrap().is_empty());
/// ```
///
/// # Panics
/// A panic of the closure is the handle's result.
#[track_caller]
pub fn spawn_blocking<F, R>(f: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    task::spawn(begin_blocking(f, Location::caller(), None))
}

/// Starts the call, made at `site`. What comes back is the future of its result: all that is left to do is to make a task of it.
pub(crate) fn begin_blocking<F, R>(
    f: F,
    site: &'static Location<'static>,
    name: Option<Box<str>>,
) -> Receiver<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    let (sender, receiver) = handoff();
    let pool = turn::pool();
    let keeper = Arc::clone(&pool);
    let f = in_current_span(f);
    let listed = Listed::new(&pool, CallKind::Blocking, name, site);
    // Where time is virtual it stands still until the call is over and its result is with whoever awaits it.
    let held = pool.queues().ticks().clock().manual().map(ManualClock::hold);
    let call = move || {
        if sender.is_unwanted() {
            return drop_quietly(&keeper, f);
        }
        listed.begin();
        // The thread is in no pool, but what is called here belongs to one.
        let outcome = halt_unwinding(|| turn::inside(&keeper, f));
        end_if_child(&keeper, outcome.is_err());
        // Before anybody can know that the call is over.
        drop(listed);
        if let Some(payload) = sender.send(outcome) {
            keeper.deliver_panic(payload);
        }
    };
    let call = Box::new(move || match held {
        None => call(),
        Some(held) => held.while_called(call),
    });
    if let Err((call, _)) = threads::run(call) {
        // Not one thread to be had. A worker does it, and lends its index meanwhile.
        let job = move || match Worker::current() {
            Some(worker) => worker.blocking(call),
            None => call(),
        };
        // SAFETY: `call` does not unwind, and borrows nothing.
        queue(&pool, unsafe { heap_job(job, std::ptr::null()) });
    }
    receiver
}

fn drop_quietly<F>(pool: &Pool, f: F) {
    if let Err(payload) = halt_unwinding(|| drop(f)) {
        pool.deliver_panic(payload);
    }
}

/// How many threads are there for [`spawn_blocking`] now. They go after ten seconds without work.
///
/// ```
/// heist::block_on(heist::task::spawn_blocking(|| ())).unwrap();
/// assert!(heist::task::blocking_threads() >= 1);
/// ```
pub fn blocking_threads() -> usize {
    threads::count()
}
