//! The same closure once on every index.

use crate::pending::Pending;
use crate::spawn::detached;
use heist_pool::raw::global;
use heist_pool::raw::job::{JobRef, Payload, discard, halt_unwinding};
use heist_pool::raw::pool::{Pool, outside_parker, wait_outside};
use heist_pool::raw::process::{Caller, OnBehalf, refuse_wait};
use heist_pool::raw::signal::{Awaited, JobsOf};
use heist_pool::raw::worker::Worker;
use heist_sync::Arc;
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;

/// Where a broadcast closure runs.
///
/// ```
/// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
/// let seen = pool.broadcast(|c: heist::BroadcastContext<'_>| (c.index(), c.num_threads()));
/// assert_eq!(seen, [(0, 2), (1, 2)]);
/// ```
pub struct BroadcastContext<'a> {
    index: usize,
    num_threads: usize,
    /// Only inside the call, on its thread.
    life: PhantomData<&'a mut dyn Fn()>,
}

impl<'a> BroadcastContext<'a> {
    pub(crate) fn with<R>(index: usize, num_threads: usize, f: impl FnOnce(BroadcastContext<'_>) -> R) -> R {
        f(BroadcastContext { index, num_threads, life: PhantomData })
    }

    /// The index of the thread it runs on.
    ///
    /// ```
    /// let seen = heist::broadcast(|c| c.index());
    /// assert!(seen.into_iter().eq(0..heist::current_num_threads()));
    /// ```
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    /// How many times the closure runs in all.
    ///
    /// ```
    /// let n = heist::current_num_threads();
    /// assert!(heist::broadcast(|c| c.num_threads()).into_iter().all(|m| m == n));
    /// ```
    #[inline]
    pub fn num_threads(&self) -> usize {
        self.num_threads
    }
}

impl fmt::Debug for BroadcastContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastContext")
            .field("index", &self.index)
            .field("num_threads", &self.num_threads)
            .finish_non_exhaustive()
    }
}

/// Runs `op` exactly once on every index of the current pool, or else of the global one, and returns the results by index.
///
/// A busy thread runs it when its present job is over; a thread that waits lets another run it.
///
/// ```
/// let squares = heist::broadcast(|c| c.index() * c.index());
/// assert_eq!(squares.len(), heist::current_num_threads());
/// ```
///
/// # Panics
/// When all are over, a panic of one goes on here.
///
/// # Blocking
/// Waits for all of them.
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    broadcast_in(&global::current(), op)
}

/// Runs `op` once on every index and does not wait.
///
/// ```
/// let (send, receive) = std::sync::mpsc::channel();
/// heist::spawn_broadcast(move |c| send.send(c.index()).unwrap());
/// assert_eq!(receive.into_iter().count(), heist::current_num_threads());
/// ```
///
/// # Panics
/// As [`spawn`](crate::spawn).
#[track_caller]
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    spawn_broadcast_in(&global::current(), op);
}

/// [`spawn_broadcast`] in a given pool.
#[track_caller]
pub fn spawn_broadcast_in<OP>(pool: &Arc<Pool>, op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    pool.refuse_if_foreign();
    let op = Arc::new(op);
    let n = pool.active();
    for index in 0..n {
        let op = Arc::clone(&op);
        let call = move || BroadcastContext::with(index, n, |c| op(c));
        pool.inject_for(index, detached(pool, call));
    }
}

/// One call of the closure and its result.
struct Call<'a, OP, R> {
    shared: &'a Shared<OP>,
    index: usize,
    result: UnsafeCell<Option<Result<R, Payload>>>,
}

struct Shared<OP> {
    op: OP,
    calls: usize,
    caller: Caller,
    pending: Pending,
}

impl<OP: Fn(BroadcastContext<'_>) -> R + Sync, R: Send> Call<'_, OP, R> {
    unsafe fn run(this: *const ()) {
        // SAFETY: the caller of `broadcast` waits for it; until it is counted out below, it is there.
        let this = unsafe { &*this.cast::<Self>() };
        let shared: *const Shared<OP> = this.shared;
        let on_behalf = OnBehalf::of(this.shared.caller);
        let result =
            halt_unwinding(|| BroadcastContext::with(this.index, this.shared.calls, |c| (this.shared.op)(c)));
        on_behalf.end(result.is_err());
        // SAFETY: one call, one writer; the reader waits for the signal.
        unsafe { *this.result.get() = Some(result) };
        // SAFETY: not counted out yet.
        unsafe { Pending::count_out(&raw const (*shared).pending) };
    }
}

/// [`broadcast`] in a given pool.
#[track_caller]
pub fn broadcast_in<OP, R>(pool: &Arc<Pool>, op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    pool.refuse_if_foreign();
    let here = Worker::current();
    let parker = here.map_or_else(outside_parker, |worker| Arc::clone(worker.shared().parker()));
    let n = pool.active();
    let pending = Pending::new(n, Arc::clone(&parker));
    let shared = Shared { op, calls: n, caller: Caller::here(), pending };
    let calls: Vec<_> =
        (0..n).map(|index| Call { shared: &shared, index, result: UnsafeCell::new(None) }).collect();
    // The own call runs right here, without a hop.
    let own = Worker::current_in(pool).and_then(Worker::observe_held).filter(|&index| index < n);
    let owner = std::ptr::from_ref(&shared).cast();
    for call in calls.iter().filter(|call| Some(call.index) != own) {
        let data = std::ptr::from_ref(call).cast();
        // SAFETY: `calls` and `shared` stay until the signal is set, which is waited for below; `R` and `OP` may cross.
        let job = unsafe { JobRef::new(Call::<OP, R>::run, data, owner) };
        shared.pending.queue(job, |job| pool.inject_for(call.index, job));
    }
    if let Some(own) = own {
        // SAFETY: not injected, so once.
        unsafe { Call::<OP, R>::run(std::ptr::from_ref(&calls[own]).cast()) };
    }
    match here {
        _ if n == 0 => {}
        Some(worker) => worker.wait(&JobsOf { over: shared.pending.over(), owner }, &()),
        None if pool.is_foreign() && !shared.pending.over().is_over() => refuse_wait(),
        None => wait_outside(shared.pending.over(), &parker),
    }
    if !pool.is_foreign() {
        shared.pending.end();
    }
    let mut results = Vec::with_capacity(n);
    let mut panic: Option<Payload> = None;
    for call in calls {
        match call.result.into_inner().expect("every call is over") {
            Ok(result) => results.push(result),
            Err(payload) => match &panic {
                None => panic = Some(payload),
                Some(_) => discard(payload),
            },
        }
    }
    match panic {
        None => results,
        Some(payload) => {
            // A panic in there would take the place of the one that is to arrive.
            if let Err(second) = halt_unwinding(|| drop(results)) {
                discard(second);
            }
            std::panic::resume_unwind(payload)
        }
    }
}
