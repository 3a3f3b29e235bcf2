//! Threads that are not the pool's own and work in it: for a while, because they call `join`, a scope or a parallel loop from outside
//! and a permit is free; or until they end, because they have built a pool with `use_current_thread`.
//!
//! A guest saves its caller the way to a worker and back, which costs more than most loops. It has what a worker has but for the loop at
//! the bottom of its stack: it lends while it waits, runs nothing but what its own call needs, and takes what it has queued to the
//! injectors when it leaves. Where a guest would lack something that the program has set up on the pool's threads, or has too little
//! stack, the call queues for a worker instead.

use super::Threads;
use crate::permits::Count;
use crate::pool::Pool;
use crate::queues::forks::hot;
use crate::queues::job::{Callee, Payload, halt_unwinding};
use crate::worker::{Role, Worker, end_visit, has_inherited_forks};
use heist_sync::StdArc as Arc;
use heist_sync::atomic::Ordering;
use heist_sync::process::Origin;
use heist_sync::thread_local;
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::sync::Weak;

thread_local! {
    /// What is left of this thread's last visit, kept for the next one: a fork stack is large, and to make a worker takes as long as a short
    /// loop.
    static KEPT: Cell<Option<Box<Kept>>> = const { Cell::new(None) };
    /// The pool that this thread belongs to for good.
    static JOINED: RefCell<Option<Box<Joined>>> = const { RefCell::new(None) };
}

/// The worker of a thread that visits a pool now and then. It does not keep the pool.
struct Kept {
    pool: Weak<Pool>,
    /// Its own reference to the pool is not counted, so it is never dropped, and is used in visits only.
    worker: ManuallyDrop<Worker>,
    /// The lowest address of this thread's stack, if known.
    stack_end: Option<usize>,
    origin: Origin,
}

/// A guest has at least this much stack left: what runs in a pool may count on a worker's.
const STACK_LEAST: usize = 512 << 10;

impl Kept {
    #[cold]
    fn of(pool: &Arc<Pool>) -> Option<Box<Self>> {
        let entry = pool.threads().table().enrol()?;
        // SAFETY: it is not counted, and not dropped. Whoever visits has one that is; between visits the weak one keeps the address.
        let uncounted = unsafe { Arc::from_raw(Arc::as_ptr(pool)) };
        Some(Box::new(Self {
            pool: Arc::downgrade(pool),
            worker: ManuallyDrop::new(Worker::new(uncounted, entry, Role::Guest)),
            stack_end: pool.system().stack_end(),
            origin: Origin::here(),
        }))
    }

    fn is_of(&self, pool: &Arc<Pool>) -> bool {
        std::ptr::eq(self.pool.as_ptr(), Arc::as_ptr(pool))
    }

    fn has_stack(&self) -> bool {
        let here = std::ptr::from_ref(&self).addr();
        self.stack_end.is_none_or(|end| here.saturating_sub(end) >= STACK_LEAST)
    }

    /// Calls `callee` with a permit that no thread uses. `None` if there is none.
    fn visit(&self, pool: &Pool, callee: &mut Callee<'_>) -> Option<Result<(), Payload>> {
        let worker = &self.worker;
        let mut open = pool.permits().open();
        let index = open.borrow(worker.shared().id())?;
        pool.threads().count_guest(&open);
        drop(open);
        let mut result = Ok(());
        // SAFETY: it stays in its box, and `leave` comes below; the closure cannot unwind past it.
        unsafe { worker.enter(Some(index), false) };
        worker.me().run_visit(|| result = halt_unwinding(callee));
        if worker.me().is_orphan() {
            end_visit(hot(), worker);
        } else {
            worker.leave();
        }
        Some(result)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if self.origin.is_foreign() {
            // There is no table to give it back to, and others may point to it.
            return;
        }
        // SAFETY: here only.
        let (uncounted, entry) = unsafe { ManuallyDrop::take(&mut self.worker) }.vacate();
        std::mem::forget(uncounted);
        if let Some(pool) = self.pool.upgrade() {
            pool.threads().table().vacate(entry);
        }
    }
}

/// The membership of a thread that built a pool with `use_current_thread`.
struct Joined(Option<Worker>);

impl Drop for Joined {
    fn drop(&mut self) {
        if self.0.as_ref().is_some_and(|worker| worker.me().is_orphan()) {
            // The parent's thread is still in there, and frames of this one may come back to it.
            return std::mem::forget(self.0.take());
        }
        if let Some(worker) = &self.0 {
            worker.pool().threads().has_maker.store(false, Ordering::Relaxed);
            worker.shared().own().is_maker.store(false, Ordering::Relaxed);
            worker.leave();
        }
        if let Some(worker) = self.0.take() {
            let (pool, entry) = worker.vacate();
            pool.threads().table().vacate(entry);
        }
    }
}

impl Threads {
    /// Calls `callee` on the calling thread, which is in no pool, with a permit of `pool`'s that no thread uses. False if it was not called:
    /// there is no such permit, or this thread cannot be a guest.
    ///
    /// # Panics
    /// A panic of `callee` goes on here.
    pub(crate) fn visit(&self, pool: &Arc<Pool>, callee: &mut Callee<'_>) -> bool {
        debug_assert!(hot().worker().is_null());
        if pool.permits().count(Count::Free) == 0 || !self.takes_guests() {
            return false;
        }
        let kept = KEPT.try_with(Cell::take).unwrap_or(None).filter(|kept| kept.is_of(pool));
        let Some(kept) = kept.or_else(|| Kept::of(pool)) else { return false };
        let result = if kept.has_stack() { kept.visit(pool, callee) } else { None };
        if kept.origin.is_foreign() {
            // The guest is the parent's, and has not left. Neither its place nor its pool is ever used again here.
            std::mem::forget(kept);
        } else {
            // While the thread ends there is nowhere to keep it; it is dropped here.
            let _ = KEPT.try_with(|place| place.set(Some(kept)));
        }
        match result {
            Some(Ok(())) => true,
            Some(Err(payload)) => std::panic::resume_unwind(payload),
            None => false,
        }
    }

    /// The calling thread becomes one of `pool`'s, with `index`, until it ends. False if it belongs to a pool already.
    pub(crate) fn adopt_current_thread(&self, pool: &Arc<Pool>, index: usize) -> bool {
        let index = index as u16;
        // A thread whose thread-locals are being destroyed could not leave again.
        // Nor could one to which a join of the parent process comes back.
        if !hot().worker().is_null() || JOINED.try_with(|_| ()).is_err() || has_inherited_forks(hot()) {
            return false;
        }
        let Some(entry) = self.table.enrol() else { return false };
        let mut open = pool.permits().open();
        let got = open.acquire(entry.shared.id(), index);
        debug_assert_eq!(got, Some(index));
        self.count_guest(&open);
        drop(open);
        let joined = Box::new(Joined(Some(Worker::new(Arc::clone(pool), entry, Role::Guest))));
        if let Some(worker) = &joined.0 {
            worker.shared().own().is_maker.store(true, Ordering::Relaxed);
            // SAFETY: the box does not move, and leaves when it is dropped, at the latest when this thread ends.
            unsafe { worker.enter(Some(index), false) };
        }
        self.has_maker.store(true, Ordering::Relaxed);
        let before = JOINED.with(|joined_in| joined_in.borrow_mut().replace(joined));
        // Of the parent process, if there is one: its address is still known.
        std::mem::forget(before);
        true
    }
}
