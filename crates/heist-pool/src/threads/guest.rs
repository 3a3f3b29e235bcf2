//! Threads that are not the pool's own and work in it for a while: the caller of `fork` from outside, and the thread that
//! built a pool with `use_current_thread`.

use crate::permits::Count;
use crate::pool::Pool;
use crate::queues::forks::hot;
use crate::queues::job::{Payload, halt_unwinding};
use crate::worker::{Doing, Role, Worker, WorkerShared};
use heist_sync::StdArc as Arc;
use heist_sync::thread_local;
use std::cell::RefCell;
use std::sync::Weak;

thread_local! {
    /// The place of this thread's last visit, kept for the next one: a fork stack is large.
    static KEPT: RefCell<Option<Place>> = const { RefCell::new(None) };
    /// The pool that this thread belongs to for good.
    static JOINED: RefCell<Option<Box<Joined>>> = const { RefCell::new(None) };
}

/// An entry in a pool's table that no thread uses. It does not keep the pool.
struct Place {
    pool: Weak<Pool>,
    /// `None` only while it is dropped, or used.
    worker: Option<Arc<WorkerShared>>,
}

impl Place {
    fn of(pool: &Arc<Pool>) -> Option<Self> {
        let worker = pool.threads().table().enrol()?;
        Some(Self { pool: Arc::downgrade(pool), worker: Some(worker) })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let (Some(pool), Some(worker)) = (self.pool.upgrade(), self.worker.take()) {
            pool.threads().table().vacate(worker);
        }
    }
}

/// # Safety
/// `worker` stays where it is until [`leave`], which comes on this thread.
unsafe fn enter(worker: &Worker, index: u16) {
    worker.pool().threads().guest_comes();
    // SAFETY: by the caller.
    unsafe { worker.enter() };
    worker.start_with(index, false);
    // What runs here, from its first moment, is the program's.
    worker.shared().set_doing(Doing::Job);
}

fn leave(worker: &Worker) {
    worker.shared().set_doing(Doing::Loop);
    worker.give_up();
    worker.leave();
    worker.pool().threads().guest_goes();
}

/// The membership of a thread that built a pool with `use_current_thread`.
struct Joined(Option<Worker>);

impl Drop for Joined {
    fn drop(&mut self) {
        if let Some(worker) = &self.0 {
            worker.pool().threads().set_has_maker(false);
            leave(worker);
        }
        if let Some(worker) = self.0.take() {
            let (pool, shared) = worker.vacate();
            pool.threads().table().vacate(shared);
        }
    }
}

/// Runs `f` on the calling thread, which is in no pool, with a permit of `pool`'s that no thread uses. If there is none, or this
/// thread cannot be enrolled, gives `f` back.
pub fn visit<R, F: FnOnce() -> R>(pool: &Arc<Pool>, f: F) -> Result<Result<R, Payload>, F> {
    debug_assert!(hot().worker().is_null());
    if pool.permits().count(Count::Free) == 0 {
        return Err(f);
    }
    let kept = KEPT.try_with(|kept| kept.borrow_mut().take()).unwrap_or(None);
    let is_here = |place: &Place| std::ptr::eq(place.pool.as_ptr(), Arc::as_ptr(pool));
    let Some(mut place) = kept.filter(is_here).or_else(|| Place::of(pool)) else { return Err(f) };
    let Some(shared) = place.worker.take() else { return Err(f) };
    let index = pool.permits().open().borrow(shared.id(), |thread| pool.threads().table().home_of(thread));
    let result = match index {
        None => {
            place.worker = Some(shared);
            Err(f)
        }
        Some(index) => {
            let worker = Worker::new(Arc::clone(pool), shared, Role::Guest);
            // SAFETY: it stays in this frame, and `leave` comes below; `f` cannot unwind past it.
            unsafe { enter(&worker, index) };
            let result = halt_unwinding(f);
            leave(&worker);
            place.worker = Some(worker.vacate().1);
            Ok(result)
        }
    };
    // While the thread ends there is no place to keep it; it is dropped here.
    let _ = KEPT.try_with(|kept| *kept.borrow_mut() = Some(place));
    result
}

/// The calling thread becomes one of `pool`'s, with `index`, until it ends. False if it belongs to a pool already.
pub fn adopt_current_thread(pool: &Arc<Pool>, index: usize) -> bool {
    let index = index as u16;
    // A thread whose thread-locals are being destroyed could not leave again.
    if !hot().worker().is_null() || JOINED.try_with(|_| ()).is_err() {
        return false;
    }
    let Some(shared) = pool.threads().table().enrol() else { return false };
    let got = pool.permits().open().acquire(shared.id(), Some(index));
    debug_assert_eq!(got, Some(index));
    let joined = Box::new(Joined(Some(Worker::new(Arc::clone(pool), shared, Role::Guest))));
    if let Some(worker) = &joined.0 {
        // SAFETY: the box does not move, and leaves when it is dropped, at the latest when this thread ends.
        unsafe { enter(worker, index) };
    }
    pool.threads().set_has_maker(true);
    JOINED.with(|joined_in| *joined_in.borrow_mut() = Some(joined));
    true
}
