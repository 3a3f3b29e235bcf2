//! Threads come: every thread of the pool begins with a [`ThreadStart`], which gives its place back at the thread's end.

use super::Run;
use crate::pool::{Handler, Pool};
use crate::process::end_child;
use crate::queues::job::halt_unwinding;
use crate::worker::{Doing, Role, Vacant, Worker, WorkerShared};
use heist_sync::atomic::Ordering;
use heist_sync::{StdArc as Arc, lock, thread};
use std::io;

/// A thread that should be started.
pub struct ThreadStart {
    pool: Arc<Pool>,
    worker: Arc<WorkerShared>,
    /// Its entry, until it runs.
    entry: Option<Vacant>,
    /// `None` for a thread without a permit.
    index: Option<u16>,
    role: Role,
    /// What name and handlers are told.
    shown: u16,
    is_searcher: bool,
}

impl ThreadStart {
    fn new(pool: &Arc<Pool>, index: Option<u16>, role: Role, is_searcher: bool) -> io::Result<Self> {
        let threads = pool.threads();
        let entry = threads.table.enrol().ok_or_else(|| io::Error::other("too many threads in one pool"))?;
        let worker = Arc::clone(&entry.shared);
        threads.live.fetch_add(1, Ordering::Relaxed);
        let shown = index.unwrap_or(worker.id() % pool.parallelism() as u16);
        Ok(Self { pool: Arc::clone(pool), worker, entry: Some(entry), index, role, shown, is_searcher })
    }

    /// A thread of the new pool that will run with `index`.
    pub fn first(pool: &Arc<Pool>, index: usize) -> io::Result<Self> {
        let index = index as u16;
        let start = Self::new(pool, Some(index), Role::Holder, false)?;
        let got = pool.permits().open().acquire(start.worker.id(), index);
        debug_assert_eq!(got, Some(index));
        start.worker.set_home(index);
        Ok(start)
    }

    /// Starts a thread without a permit. The user's `thread_name` and `panic_handler` may block, so a thread of its own calls them.
    pub(crate) fn start_without_permit(pool: &Arc<Pool>, role: Role) {
        let failed = move |pool: &Pool| {
            if role == Role::Overtaker {
                pool.permits().end_overtaking();
            }
        };
        let start_now = move |pool: &Pool| {
            if Self::start_spare(pool, None, role).is_err() {
                failed(pool);
            }
        };
        if pool.config().thread_name.is_none() {
            return start_now(pool);
        }
        let theirs = Arc::clone(pool);
        if heist_sync::start_thread("heist-start", Box::new(move || start_now(&theirs))).is_err() {
            failed(pool);
        }
    }

    /// Starts a spare thread: one that searches with the permit `index`, which is on its way, or one without a permit.
    pub(crate) fn start_spare(pool: &Pool, index: Option<u16>, role: Role) -> io::Result<()> {
        let started = Self::new(&pool.arc(), index, role, index.is_some()).and_then(|start| {
            if let Some(index) = index {
                pool.permits().open().started(start.worker.id(), index);
            }
            // In the middle of somebody's wait, where nothing may unwind.
            let name = halt_unwinding(|| start.name()).unwrap_or_else(|payload| {
                pool.deliver_panic(payload);
                None
            });
            start.spawn(name)
        });
        if pool.threads().note_start(started.is_err())
            && let Err(error) = &started
        {
            heist_sync::warn(format_args!(
                "a spare thread could not be started ({error}); waits go on with the threads there are, and heist tries again. \
                 Raise the limit on threads (ulimit -u, pids.max) or lower max_threads"
            ));
        }
        started
    }

    /// Starts a thread of our own.
    pub fn spawn(self, name: Option<String>) -> io::Result<()> {
        // Unlike rayon's, unnamed threads have a name: it is what `top -H` and debuggers show.
        let name = name.unwrap_or_else(|| format!("heist-{}", self.shown));
        if name.contains('\0') {
            let message = format!("thread_name gave {name:?}, and a thread's name cannot hold a NUL");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let mut builder = thread::Builder::new().name(name);
        let stack_size = self.stack_size();
        if let Some(size) = stack_size {
            builder = builder.stack_size(size);
        }
        let pool = Arc::clone(&self.pool);
        let run = move || {
            let system = self.pool.system();
            // It has the mask of the thread that started it, which a program may have narrowed. It takes that of the pool's maker.
            if let Some(mask) = &self.pool.threads().mask
                && system.mask(None).is_some_and(|now| now != *mask)
            {
                system.set_mask(None, mask);
            }
            self.run();
        };
        let handle = builder.spawn(Box::new(run) as Run).map_err(|error| match stack_size {
            Some(size) if error.kind() == io::ErrorKind::InvalidInput => {
                let message = format!("no thread can have stack_size({size}) ({error}); ask for less");
                io::Error::new(io::ErrorKind::InvalidInput, message)
            }
            _ => error,
        })?;
        let mut handles = lock(&pool.threads().handles);
        handles.retain(|handle| !heist_sync::has_ended(handle));
        handles.push(handle);
        Ok(())
    }

    fn call(&self, handler: &Option<Handler<usize>>) {
        if let Some(handler) = handler
            && let Err(payload) = halt_unwinding(|| handler(self.shown.into()))
        {
            self.pool.deliver_panic(payload);
        }
    }

    /// The index the thread starts with.
    pub fn index(&self) -> usize {
        self.shown.into()
    }

    /// The name the thread should have. The user's closure may panic.
    pub fn name(&self) -> Option<String> {
        self.pool.config().thread_name.as_ref().and_then(|name| name(self.shown.into()))
    }

    /// The stack size it should have.
    pub fn stack_size(&self) -> Option<usize> {
        self.pool.config().stack_size
    }

    /// The thread's whole life.
    ///
    /// # Panics
    /// If the calling thread already belongs to a pool.
    #[track_caller]
    pub fn run(mut self) {
        /// Jobs and handlers cannot unwind to here. If our own code does, the pool could only hang.
        struct Abort;
        impl Drop for Abort {
            fn drop(&mut self) {
                heist_sync::warn(format_args!(
                    "a worker thread died of a bug in heist; please report the panic above"
                ));
                std::process::abort();
            }
        }
        // Before anything of the thread's is touched: what runs below us relies on it.
        assert!(
            Worker::current().is_none(),
            "ThreadBuilder::run was called on a thread that is already part of a thread pool; call it on a thread of its own, for \
             example by std::thread::spawn(move || thread.run())"
        );
        let unwinding = Abort;
        let entry = self.entry.take().expect("it runs once");
        let pool = Arc::clone(&self.pool);
        let _enlisted = super::named::Enlisted::new(pool.threads(), self.worker.id());
        let worker = Worker::new(Arc::clone(&pool), entry, self.role);
        let has_handler = pool.config().start_handler.is_some();
        // SAFETY: `worker` stays in this frame, and `leave` comes below, on this thread; nothing in between unwinds.
        unsafe { worker.enter(self.index, self.is_searcher && !has_handler) };
        if has_handler {
            if self.is_searcher {
                // It may take its time: others search meanwhile.
                pool.permits().pass_search_on(&pool);
            }
            let outer = self.worker.set_doing(Doing::Job);
            self.call(&pool.config().start_handler);
            self.worker.set_doing(outer);
        }
        worker.run();
        self.call(&pool.config().exit_handler);
        if pool.is_foreign() {
            end_child();
        }
        // The exit handler may have spawned something, or asked for its index.
        worker.leave();
        let (pool, entry) = worker.vacate();
        pool.threads().table.vacate(entry);
        std::mem::forget(unwinding);
        // From here on `self` is only a place to be given back.
    }
}

impl Drop for ThreadStart {
    fn drop(&mut self) {
        if self.pool.is_foreign() {
            // The place is the parent process's to give back.
            return;
        }
        let threads = self.pool.threads();
        if let Some(entry) = self.entry.take() {
            if let Some(index) = self.index {
                self.pool.permits().open().unstarted(index);
            }
            threads.table.vacate(entry);
        }
        let guard = lock(&threads.left);
        if threads.live.fetch_sub(1, Ordering::AcqRel) == 1 {
            threads.all_left.notify_all();
        }
        drop(guard);
        if let Some(clock) = self.pool.queues().ticks().clock().manual() {
            clock.tend();
        }
        // One thread less to wait for: the others may all be parked, or there may be no other for a task that came late.
        if threads.is_closing() {
            threads.leave_if_done(&self.pool);
            if threads.live() == 0 && !self.pool.queues().tasks.is_empty() {
                threads.revive(&self.pool);
            }
        }
    }
}
