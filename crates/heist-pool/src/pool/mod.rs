//! The pool: what its threads share. How work is announced, how threads come, what is done about those that are stuck, and how
//! they go is in the files below.

mod announce;
mod close;
mod seat;
mod stuck;

pub use seat::Seat;

use crate::idle::Idle;
use crate::job::{JobRef, Payload, StackJob, discard, halt_unwinding};
use crate::signal::Awaited;
use crate::table::Table;
use crate::task::TaskRef;
use crate::worker::Local;
use heist_deque::Injector;
use heist_sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use heist_sync::{Condvar, Mutex, Parker, StdArc as Arc, lock, thread, thread_local};
use heist_trace::{Position, Ring, Trace};
use std::io;

/// Events that a thread's ring keeps.
pub(crate) const RING_EVENTS: usize = 1 << 14;

const OPEN: u8 = 0;
/// The handle is gone; what was accepted still runs.
const CLOSING: u8 = 1;
/// Nothing is left to do; threads leave.
const OVER: u8 = 2;

type Handler<A> = Box<dyn Fn(A) + Send + Sync>;

/// How a pool is made. All fields have a plain default.
#[derive(Default)]
pub struct Config {
    /// How many indices: how many threads run at once.
    pub parallelism: usize,
    /// How many threads there may be, sleeping ones included; 0 for the default.
    pub max_threads: usize,
    /// Stack size of the threads; `None` for the system's default.
    pub stack_size: Option<usize>,
    /// Names threads by the index they start with.
    pub thread_name: Option<Box<dyn Fn(usize) -> String + Send + Sync>>,
    /// Called on each thread with the index it starts with.
    pub start_handler: Option<Handler<usize>>,
    /// Called on each thread when it leaves.
    pub exit_handler: Option<Handler<usize>>,
    /// Called with the payload of a detached job's panic.
    pub panic_handler: Option<Handler<Payload>>,
    /// Threads are started by somebody else; there are no spares.
    pub foreign_threads: bool,
}

/// See the module.
pub struct Pool {
    config: Config,
    parallelism: AtomicUsize,
    idle: Idle,
    injector: Injector<JobRef>,
    /// Tasks that became ready outside of the pool's threads, or that found no room.
    tasks: Injector<TaskRef>,
    attendance: crate::attend::Attendance,
    /// Every holder of an index is inside of one long turn; threads without one run tasks.
    overtaking: AtomicBool,
    /// A thread runs tasks that became ready after the pool's own had left.
    late: AtomicBool,
    broadcasts: Box<[Injector<JobRef>]>,
    /// Jobs of `spawn_fifo`; the tickets for them are in the other queues.
    fifo: Injector<JobRef>,
    table: Table,
    phase: AtomicU8,
    /// Threads with the loop at the bottom.
    live: AtomicUsize,
    /// Other threads that have joined in.
    guests: AtomicUsize,
    tracing: AtomicBool,
    /// Per thread, what its ring held when the trace began.
    trace_from: Mutex<Vec<Position>>,
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    pub(crate) watch: crate::monitor::Watch,
    /// Threads that run jobs without an index, because all others are stuck.
    rescuers: Mutex<Vec<u16>>,
    warned: AtomicBool,
    warned_stuck: AtomicBool,
    start_refused: AtomicBool,
    handles: Mutex<Vec<thread::JoinHandle<()>>>,
    left: Mutex<()>,
    all_left: Condvar,
}

impl Pool {
    /// A pool without threads.
    pub fn new(config: Config) -> Arc<Self> {
        let n = config.parallelism;
        let pool = Arc::new(Self {
            parallelism: AtomicUsize::new(n),
            idle: Idle::new(n),
            injector: Injector::new(),
            tasks: Injector::new(),
            attendance: crate::attend::Attendance::default(),
            overtaking: AtomicBool::new(false),
            late: AtomicBool::new(false),
            broadcasts: (0..n).map(|_| Injector::new()).collect(),
            fifo: Injector::new(),
            table: Table::new(),
            phase: AtomicU8::new(OPEN),
            live: AtomicUsize::new(0),
            guests: AtomicUsize::new(0),
            tracing: AtomicBool::new(false),
            trace_from: Mutex::new(Vec::new()),
            #[cfg(not(any(heist_loom, heist_shuttle)))]
            watch: crate::monitor::Watch::default(),
            rescuers: Mutex::new(Vec::new()),
            warned: AtomicBool::new(false),
            warned_stuck: AtomicBool::new(false),
            start_refused: AtomicBool::new(false),
            handles: Mutex::new(Vec::new()),
            left: Mutex::new(()),
            all_left: Condvar::new(),
            config,
        });
        #[cfg(not(any(heist_loom, heist_shuttle)))]
        {
            let mut all = lock(&ALL);
            all.retain(|pool| pool.strong_count() > 0);
            all.push(Arc::downgrade(&pool));
        }
        pool
    }

    /// Every pool of the process.
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    pub fn all() -> Vec<Arc<Self>> {
        lock(&ALL).iter().filter_map(std::sync::Weak::upgrade).collect()
    }

    /// How many indices there are.
    #[inline]
    pub fn parallelism(&self) -> usize {
        self.parallelism.load(Ordering::Relaxed)
    }

    /// How the pool was made.
    pub fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn idle(&self) -> &Idle {
        &self.idle
    }

    pub(crate) fn injector(&self) -> &Injector<JobRef> {
        &self.injector
    }

    pub(crate) fn tasks(&self) -> &Injector<TaskRef> {
        &self.tasks
    }

    pub(crate) fn attendance(&self) -> &crate::attend::Attendance {
        &self.attendance
    }

    pub(crate) fn is_overtaking(&self) -> bool {
        self.overtaking.load(Ordering::Relaxed)
    }

    pub(crate) fn broadcasts(&self, index: u16) -> &Injector<JobRef> {
        &self.broadcasts[usize::from(index)]
    }

    /// Jobs that are run oldest first by whoever takes a ticket for one.
    pub fn fifo(&self) -> &Injector<JobRef> {
        &self.fifo
    }

    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    pub(crate) fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed) + self.guests.load(Ordering::Relaxed)
    }

    pub(crate) fn seed(&self) -> u64 {
        std::ptr::from_ref(self).addr() as u64
    }

    #[inline]
    pub(crate) fn is_tracing(&self) -> bool {
        self.tracing.load(Ordering::Relaxed)
    }

    pub(crate) fn guest_comes(&self) {
        self.guests.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn guest_goes(&self) {
        self.guests.fetch_sub(1, Ordering::Relaxed);
    }

    /// Runs `f` on a thread of this pool and waits for it.
    pub fn install<R: Send>(self: &Arc<Self>, f: impl FnOnce() -> R + Send) -> R {
        match Local::current() {
            Some(local) if Arc::ptr_eq(local.pool(), self) && local.runs_jobs() => f(),
            Some(local) if Arc::ptr_eq(local.pool(), self) => local.install_with_index(f),
            Some(local) => {
                let job = StackJob::new(f, Arc::clone(&local.worker().parker));
                // SAFETY: we wait for its signal before it moves.
                self.inject(unsafe { job.as_job_ref() });
                local.wait(job.signal(), &());
                job.into_result()
            }
            None => OUTSIDE.with(|parker| {
                let job = StackJob::new(f, Arc::clone(parker));
                // SAFETY: as above.
                self.inject(unsafe { job.as_job_ref() });
                wait_outside(job.signal(), parker);
                job.into_result()
            }),
        }
    }

    /// A detached job has panicked.
    pub fn deliver_panic(&self, payload: Payload) {
        // Without a handler the panic hook has told already.
        let result = match &self.config.panic_handler {
            Some(handler) => halt_unwinding(|| handler(payload)),
            None => Err(payload),
        };
        if let Err(payload) = result {
            discard(payload);
        }
    }

    pub(crate) fn warn_no_spare(&self) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            eprintln!(
                "heist: a wait runs other jobs, because this pool cannot start spare threads (spawn_handler, \
                 build_scoped, or max_threads reached); a lock held across a wait may deadlock"
            );
        }
    }

    fn warn_start(&self, error: &io::Error) {
        if !self.start_refused.swap(true, Ordering::Relaxed) {
            eprintln!(
                "heist: a spare thread could not be started ({error}); waits go on with the threads there are. \
                 Raise the limit on threads (ulimit -u, pids.max) or lower max_threads"
            );
        }
    }

    /// From here on every thread records what it does.
    pub fn start_trace(&self) {
        let mut seen = lock(&self.trace_from);
        let skip = |ring: &Ring| ring.since(Position::default(), &mut Vec::new()).0;
        *seen = self.table.iter().map(|w| w.ring().map(skip).unwrap_or_default()).collect();
        drop(seen);
        self.tracing.store(true, Ordering::Relaxed);
    }

    /// Stops recording and returns what was recorded since `start_trace`.
    pub fn stop_trace(&self) -> Trace {
        self.tracing.store(false, Ordering::Relaxed);
        let from = lock(&self.trace_from);
        let mut trace = Trace::builder().until(heist_trace::now_ns());
        for worker in self.table.iter() {
            let Some(ring) = worker.ring() else { continue };
            let mut events = Vec::new();
            let since = from.get(usize::from(worker.id())).copied().unwrap_or_default();
            let (_, lost) = ring.since(since, &mut events);
            let name = format!("heist thread {}", worker.id());
            trace = trace.thread(worker.id(), name).batch(worker.id(), events, lost);
        }
        trace.finish()
    }
}

#[cfg(not(any(heist_loom, heist_shuttle)))]
static ALL: Mutex<Vec<std::sync::Weak<Pool>>> = Mutex::new(Vec::new());

/// The most threads a pool can have.
pub const MOST_THREADS: usize = crate::table::MOST;
/// The most indices a pool can have: as many threads again may sleep in waits.
pub const MOST_INDICES: usize = MOST_THREADS / 2;

/// Threads beyond the parallelism that may exist if the user does not say.
pub const DEFAULT_SPARES: usize = 256;

thread_local! {
    static OUTSIDE: Arc<Parker> = Arc::new(Parker::new());
}

/// The parker of a thread outside of all pools.
pub fn outside_parker() -> Arc<Parker> {
    OUTSIDE.with(Arc::clone)
}

/// Waits on a thread outside of all pools.
pub fn wait_outside(target: &impl Awaited, parker: &Parker) {
    // LIVENESS: announced first; who ends the wait then unparks us. A token from elsewhere only costs a turn.
    while target.announce_wait() {
        parker.park();
    }
}
