//! Threads that are not the pool's own and work in it for a while: the caller of `fork` from outside, and the thread that
//! built a pool with `use_current_thread`.

use crate::forks::hot;
use crate::job::{Payload, halt_unwinding};
use crate::pool::Pool;
use crate::worker::Local;
use heist_sync::StdArc as Arc;
use heist_sync::thread_local;
use std::cell::RefCell;

thread_local! {
    /// The seat of this thread's last visit, kept for the next one: a fork stack is large.
    static KEPT: RefCell<Option<Visit>> = const { RefCell::new(None) };
    /// The pool that this thread belongs to for good.
    static JOINED: RefCell<Option<Visit>> = const { RefCell::new(None) };
}

struct Visit {
    /// `None` only while it is dropped.
    local: Option<Box<Local>>,
    /// Inside: the hot block refers to `local`.
    inside: bool,
}

impl Visit {
    fn new(pool: &Arc<Pool>) -> Option<Self> {
        let worker = pool.table().enrol()?;
        Some(Self { local: Some(Box::new(Local::new(Arc::clone(pool), worker, true))), inside: false })
    }

    fn local(&self) -> &Local {
        self.local.as_ref().expect("dropped once")
    }

    fn enter(&mut self, index: u16) {
        self.local().pool().guest_comes();
        // SAFETY: the box does not move, and `leave`, at the latest from `drop` on this thread, comes before it dies.
        unsafe { self.local().enter() };
        self.local().start_with(index, false);
        // What runs here, from its first moment, is the program's.
        self.local().begin();
        self.inside = true;
    }

    fn leave(&mut self) {
        self.local().end(0);
        self.local().hand_in();
        self.local().leave();
        self.inside = false;
        self.local().pool().guest_goes();
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        if self.inside {
            self.leave();
        }
        if let Some(local) = self.local.take() {
            local.vacate();
        }
    }
}

impl Pool {
    /// Runs `f` on the calling thread, which is in no pool, with an index that no thread uses. If there is none, or this
    /// thread cannot be enrolled, gives `f` back.
    pub fn visit<R, F: FnOnce() -> R>(self: &Arc<Self>, f: F) -> Result<Result<R, Payload>, F> {
        debug_assert!(hot().local().is_null());
        if self.idle().counters().free() == 0 {
            return Err(f);
        }
        let kept = KEPT.try_with(|kept| kept.borrow_mut().take()).unwrap_or(None);
        let Some(mut visit) =
            kept.filter(|v| Arc::ptr_eq(v.local().pool(), self)).or_else(|| Visit::new(self))
        else {
            return Err(f);
        };
        let index = self.idle().open().borrow(visit.local().worker().id());
        let result = match index {
            None => Err(f),
            Some(index) => {
                visit.enter(index);
                self.watch();
                let result = halt_unwinding(f);
                visit.leave();
                Ok(result)
            }
        };
        // While the thread ends there is no place to keep it; it is dropped here.
        let _ = KEPT.try_with(|kept| *kept.borrow_mut() = Some(visit));
        result
    }

    /// The calling thread becomes one of the pool's, with `index`, until it ends. False if it belongs to a pool already.
    pub fn adopt_current_thread(self: &Arc<Self>, index: usize) -> bool {
        if !hot().local().is_null() {
            return false;
        }
        let Some(mut visit) = Visit::new(self) else { return false };
        let got = self.idle().open().acquire(visit.local().worker().id(), Some(index as u16));
        debug_assert_eq!(got, Some(index as u16));
        visit.enter(index as u16);
        JOINED.with(|joined| *joined.borrow_mut() = Some(visit));
        true
    }
}
