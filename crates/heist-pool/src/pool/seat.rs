//! Threads come: every thread of the pool begins with a seat, and gives it back at its end.

use super::{DEFAULT_SPARES, Pool};
use crate::job::halt_unwinding;
use crate::worker::{Errand, Local, Worker};
use heist_sync::atomic::Ordering;
use heist_sync::{StdArc as Arc, lock, thread};
use std::io;

/// A thread that should be started.
pub struct Seat {
    pool: Arc<Pool>,
    worker: Arc<Worker>,
    /// `None` for a thread on an errand.
    index: Option<u16>,
    pub(super) errand: Errand,
    /// What name and handlers are told.
    shown: u16,
    is_searcher: bool,
    has_run: bool,
}

impl Pool {
    pub(super) fn may_start(&self) -> bool {
        let most = match self.config.max_threads {
            0 => self.parallelism() + DEFAULT_SPARES,
            n => n,
        };
        !self.config.foreign_threads
            && self.live() < most
            && !self.is_over()
            && !self.start_refused.load(Ordering::Relaxed)
    }

    /// Takes a seat for a thread that will run with `index`.
    pub fn seat(self: &Arc<Self>, index: usize) -> io::Result<Seat> {
        let seat = self.take_seat(Some(index as u16), false)?;
        let mut desk = self.idle.open();
        let got = desk.acquire(seat.worker.id(), Some(index as u16));
        debug_assert_eq!(got, Some(index as u16));
        Ok(seat)
    }

    pub(super) fn take_seat(self: &Arc<Self>, index: Option<u16>, is_searcher: bool) -> io::Result<Seat> {
        let worker = self.table.enrol().ok_or_else(|| io::Error::other("too many threads in one pool"))?;
        self.live.fetch_add(1, Ordering::Relaxed);
        let shown = index.unwrap_or(worker.id() % self.parallelism() as u16);
        Ok(Seat {
            pool: Arc::clone(self),
            worker,
            index,
            errand: Errand::None,
            shown,
            is_searcher,
            has_run: false,
        })
    }

    pub(super) fn start_spare(&self, index: u16) -> io::Result<()> {
        // The pool is only ever made in an `Arc`; its threads hold one each, and so does whoever calls us.
        let this = self.arc();
        let seat = this.take_seat(Some(index), true)?;
        self.idle.open().started(seat.worker.id(), index);
        let name = self.spare_name(&seat);
        self.start(seat, name)
    }

    /// The name of a thread that is started in the middle of somebody's wait, where nothing may unwind.
    pub(super) fn spare_name(&self, seat: &Seat) -> Option<String> {
        halt_unwinding(|| seat.name()).unwrap_or_else(|payload| {
            self.deliver_panic(payload);
            None
        })
    }

    pub(crate) fn arc(&self) -> Arc<Self> {
        // SAFETY: made by `Arc::new` in `new`, and `self` is borrowed from one, so the count is above 0.
        unsafe {
            Arc::increment_strong_count(std::ptr::from_ref(self));
            Arc::from_raw(std::ptr::from_ref(self))
        }
    }

    /// Starts a thread of our own for a seat.
    pub fn start(&self, seat: Seat, name: Option<String>) -> io::Result<()> {
        // Unlike rayon's, unnamed threads have a name: it is what `top -H` and debuggers show.
        let name = name.unwrap_or_else(|| format!("heist-{}", seat.index()));
        if name.contains('\0') {
            let message = format!("thread_name gave {name:?}, and a thread's name cannot hold a NUL");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let mut builder = thread::Builder::new().name(name);
        if let Some(size) = self.config.stack_size {
            builder = builder.stack_size(size);
        }
        let handle = builder.spawn(move || seat.run())?;
        let mut handles = lock(&self.handles);
        // The checkers' handles cannot tell; their pools are short.
        #[cfg(not(any(heist_loom, heist_shuttle)))]
        handles.retain(|h| !h.is_finished());
        handles.push(handle);
        Ok(())
    }

    /// The pool goes on with the `n` indices whose threads could be started.
    pub fn shrink_to(&self, n: usize) {
        self.idle.open().drop_free_from(n);
        self.parallelism.store(n, Ordering::Relaxed);
    }

    fn call_handler(&self, f: impl FnOnce()) {
        if let Err(payload) = halt_unwinding(f) {
            self.deliver_panic(payload);
        }
    }
}

impl Seat {
    /// The pool it belongs to.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// The index the thread starts with.
    pub fn index(&self) -> usize {
        self.shown.into()
    }

    /// The name the thread should have. The user's closure may panic.
    pub fn name(&self) -> Option<String> {
        self.pool.config.thread_name.as_ref().map(|name| name(self.shown.into()))
    }

    /// The stack size it should have.
    pub fn stack_size(&self) -> Option<usize> {
        self.pool.config.stack_size
    }

    /// The thread's whole life.
    pub fn run(mut self) {
        /// Jobs and handlers cannot unwind to here. If our own code does, the pool could only hang.
        struct Abort;
        impl Drop for Abort {
            fn drop(&mut self) {
                eprintln!("heist: a worker thread died of a bug in heist; please report the panic above");
                std::process::abort();
            }
        }
        let unwinding = Abort;
        self.has_run = true;
        let pool = Arc::clone(&self.pool);
        let worker = Arc::clone(&self.worker);
        let local = Local::new(Arc::clone(&pool), Arc::clone(&worker), false);
        // SAFETY: `local` stays in this frame, and `leave` comes below, on this thread; nothing in between unwinds.
        unsafe { local.enter() };
        match self.index {
            Some(index) => local.start_with(index, self.is_searcher),
            None => local.start_errand(self.errand),
        }
        if let Some(handler) = &pool.config.start_handler {
            let outer = local.begin();
            pool.call_handler(|| handler(self.shown.into()));
            local.end(outer);
        }
        local.run();
        if let Some(handler) = &pool.config.exit_handler {
            pool.call_handler(|| handler(self.shown.into()));
        }
        local.run_own();
        local.leave();
        local.vacate();
        std::mem::forget(unwinding);
        // From here on `self` is only a seat to be given back.
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if !self.has_run {
            if let Some(index) = self.index {
                self.pool.idle.open().unhold(index);
            }
            self.pool.table.vacate(Arc::clone(&self.worker));
        }
        let guard = lock(&self.pool.left);
        if self.pool.live.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.pool.all_left.notify_all();
        }
        drop(guard);
        // One thread less to wait for: the others may all be parked, or there may be no other for a task that came late.
        if self.pool.is_closing() {
            self.pool.leave_if_done();
            if self.pool.live() == 0 && !self.pool.tasks.is_empty() {
                self.pool.revive();
            }
        }
    }
}
