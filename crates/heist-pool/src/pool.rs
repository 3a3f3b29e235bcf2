//! The pool: what its threads share, how they come and go, and how work is announced.

use crate::idle::{Give, Idle, Wake};
use crate::job::{JobRef, Payload, StackJob, discard, halt_unwinding};
use crate::kernel;
use crate::place::For;
use crate::signal::Awaited;
use crate::table::Table;
use crate::task::{Place, TaskRef};
use crate::worker::{Errand, Local, Worker};
use heist_deque::Injector;
use heist_policy as policy;
use heist_sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering, fence};
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

/// A thread that should be started.
pub struct Seat {
    pool: Arc<Pool>,
    worker: Arc<Worker>,
    /// `None` for a thread on an errand.
    index: Option<u16>,
    errand: Errand,
    /// What name and handlers are told.
    shown: u16,
    is_searcher: bool,
    has_run: bool,
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
        Arc::new(Self {
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
        })
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

    // ---- work arrives ----

    /// Queues a job for whoever is free.
    pub fn inject(&self, job: JobRef) {
        self.injector.push(job);
        self.announce();
    }

    /// Queues a job that only the holder of `index` may run.
    pub fn inject_for(&self, index: usize, job: JobRef) {
        let index = index as u16;
        self.broadcasts(index).push(job);
        // ORDERING(E9): the job before the look at the desk; partner: `ask_and_look`.
        fence(Ordering::SeqCst);
        let mut desk = self.idle.open();
        let wake = desk.wake_for(index, self.may_start());
        self.carry_out(wake, For::Job, desk);
    }

    /// Queues a task that became ready, wherever that happened.
    #[inline]
    pub fn schedule(&self, task: TaskRef, place: Place) {
        match Local::current() {
            Some(local) if std::ptr::eq(Arc::as_ptr(local.pool()), self) && local.keeps_tasks() => {
                local.schedule(task, place);
            }
            _ => self.schedule_outside(task),
        }
    }

    fn schedule_outside(&self, task: TaskRef) {
        self.tasks.push(task);
        // The push ends with a fence: E9, and the partner of the one in `leave_if_done`.
        if self.is_over() {
            return self.revive();
        }
        self.announce_for(For::Task);
        if self.idle.counters().free() == 0 {
            // LIVENESS: everybody is busy, perhaps for long. While an index is free, a thread has just been woken for it,
            // or one searches.
            self.watch_tasks();
        }
    }

    /// The pool's threads have left or are leaving, and a task has become ready: its waker has outlived them. Others are started,
    /// and the pool is over again when there is nothing left to do.
    #[cold]
    fn revive(&self) {
        let desk = self.idle.open();
        if self.is_over() {
            self.phase.store(CLOSING, Ordering::Release);
        }
        drop(desk);
        self.announce_task();
        if self.live() == 0 && !self.tasks.is_empty() {
            self.run_late();
        }
    }

    /// No thread of the pool's own can be had for a task that became ready after the others have left: somebody else starts
    /// them, or the system refuses. A thread beside the pool runs it, and what it makes ready.
    fn run_late(&self) {
        if self.late.swap(true, Ordering::AcqRel) {
            return;
        }
        let this = self.arc();
        let run = move || {
            loop {
                while let Some(task) = this.tasks.pop() {
                    task.run();
                }
                this.late.store(false, Ordering::SeqCst);
                // LIVENESS: whoever pushed a task and found us at work may have done so after our last look.
                fence(Ordering::SeqCst);
                if this.tasks.is_empty() || this.late.swap(true, Ordering::AcqRel) {
                    return;
                }
            }
        };
        if let Err(error) = thread::Builder::new().name("heist-late".into()).spawn(run) {
            self.late.store(false, Ordering::Release);
            self.warn_start(&error);
        }
    }

    /// Somebody made work that others can see.
    pub(crate) fn announce(&self) {
        // ORDERING(E9): the work before the look at the counters; partner: `ask_and_look`, which looks at the work after
        // the counters say that a thread sleeps.
        fence(Ordering::SeqCst);
        self.announce_fenced();
    }

    /// As `announce`, behind a fence of the caller's.
    pub fn announce_fenced(&self) {
        self.announce_for(For::Job);
    }

    /// As `announce`, for a task.
    pub(crate) fn announce_task(&self) {
        // ORDERING(E9): as there.
        fence(Ordering::SeqCst);
        self.announce_for(For::Task);
    }

    pub(crate) fn announce_for(&self, what: For) {
        if policy::on_new_work(self.idle.counters().view()) == policy::Wake::One {
            self.wake_one(what);
        } else {
            self.watch();
        }
    }

    #[cfg(any(heist_loom, heist_shuttle))]
    pub(crate) fn watch(&self) {}

    #[cfg(any(heist_loom, heist_shuttle))]
    pub(crate) fn watch_tasks(&self) {}

    /// Whether a thread searches, or could be woken: jobs should be shared at once.
    #[inline]
    pub fn is_somebody_idle(&self) -> bool {
        let counters = self.idle.counters();
        counters.searching() > 0 || counters.free() > 0
    }

    /// Wakes a thread to search, unless one searches already.
    #[cold]
    pub(crate) fn wake_one(&self, what: For) {
        let mut desk = self.idle.open();
        if self.idle.counters().searching() > 0 {
            return;
        }
        let wake = desk.wake(self.may_start(), |t| self.table.get(t.into()).map_or(0, Worker::home));
        self.carry_out(wake, what, desk);
    }

    fn carry_out(&self, wake: Wake, what: For, mut desk: crate::idle::Open<'_>) {
        match wake {
            Wake::Nobody => {}
            Wake::Give(give) => {
                desk.count_search();
                drop(desk);
                self.tell_for(give, what);
            }
            Wake::Start(index) => {
                desk.count_search();
                drop(desk);
                if let Err(error) = self.start_spare(index) {
                    self.warn_start(&error);
                    let mut desk = self.idle.open();
                    let wake = desk.start_failed(index);
                    drop(desk);
                    match wake {
                        Wake::Give(give) => self.tell_for(give, what),
                        Wake::Nobody | Wake::Start(_) => {
                            self.idle.end_search();
                        }
                    }
                }
            }
        }
    }

    pub(crate) fn tell(&self, give: Give) {
        self.tell_for(give, For::Job);
    }

    fn tell_for(&self, give: Give, what: For) {
        let Give { thread, index } = give;
        if let Some(worker) = self.table.get(thread.into()) {
            worker.give(index, what, &self.attendance);
        }
        self.watch();
    }

    /// An index is free and there is work: somebody gets it, for a broadcast that only its holder may run if there is one.
    pub(crate) fn wake_visible(&self) {
        for (index, queue) in self.broadcasts.iter().enumerate() {
            if !queue.is_empty() {
                let mut desk = self.idle.open();
                let wake = desk.wake_for(index as u16, self.may_start());
                self.carry_out(wake, For::Job, desk);
            }
        }
        self.announce();
    }

    pub(crate) fn guest_comes(&self) {
        self.guests.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn guest_goes(&self) {
        self.guests.fetch_sub(1, Ordering::Relaxed);
    }

    /// If every index is in use, and all who have one sleep in the kernel: who they are, and their CPU times.
    pub(crate) fn sleeping_holders(&self) -> Option<Vec<(u16, u64)>> {
        let desk = self.idle.open();
        let holders: Vec<u16> = (0..self.parallelism() as u16).filter_map(|i| desk.holder(i)).collect();
        drop(desk);
        let sleeping = |id: u16| {
            let tid = self.table.get(id.into())?.tid();
            kernel::is_asleep(tid).then(|| (id, kernel::cpu_ns(tid)))
        };
        if holders.len() == self.parallelism() { holders.into_iter().map(sleeping).collect() } else { None }
    }

    /// The kernel's numbers of all threads that run jobs now, or are stuck in one, by thread number.
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    pub(crate) fn running_threads(&self) -> Vec<(u16, u32)> {
        let desk = self.idle.open();
        let mut ids: Vec<u16> = (0..self.parallelism() as u16).filter_map(|i| desk.holder(i)).collect();
        drop(desk);
        ids.extend(lock(&self.rescuers).iter());
        let tid = |id: u16| self.table.get(id.into()).map(|worker| (id, worker.tid()));
        ids.into_iter().filter_map(tid).collect()
    }

    /// Lets one more thread run the queued jobs, without an index.
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    pub(crate) fn rescue(self: &Arc<Self>) {
        if !self.may_start() {
            return;
        }
        if !self.warned_stuck.swap(true, Ordering::Relaxed) {
            eprintln!(
                "heist: every worker of a pool has been asleep for a second while jobs are queued; spare threads run \
                 those. Wrap calls that block in heist::blocking(|| ...)"
            );
        }
        self.start_errand(Errand::Rescue);
    }

    #[cfg(not(any(heist_loom, heist_shuttle)))]
    fn start_errand(self: &Arc<Self>, errand: Errand) {
        let started = self.take_seat(None, false).and_then(|mut seat| {
            seat.errand = errand;
            let name = self.spare_name(&seat);
            self.start(seat, name)
        });
        if let Err(error) = started {
            self.warn_start(&error);
        }
    }

    /// Every holder of an index is inside of one long turn, and tasks wait: one more thread runs them, without an index.
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    pub(crate) fn overtake(self: &Arc<Self>) {
        let mut desk = self.idle.open();
        let parked = desk.parked().last().copied();
        if let Some(id) = parked {
            desk.unpark(id);
        }
        drop(desk);
        match parked.and_then(|id| self.table.get(id.into())) {
            Some(worker) => {
                // It does so itself, but first it needs a core, and whoever has one computes.
                let tid = worker.own_tid();
                if tid != 0 {
                    crate::kernel::set_slice(tid, crate::kernel::Slice::Short);
                }
                worker.give_tasks(&self.attendance);
            }
            None if self.may_start() => self.start_errand(Errand::Overtake),
            None => {}
        }
    }

    #[cfg(not(any(heist_loom, heist_shuttle)))]
    pub(crate) fn set_overtaking(&self, overtaking: bool) {
        if self.is_overtaking() != overtaking {
            self.overtaking.store(overtaking, Ordering::Relaxed);
        }
    }

    /// Opens the stacks of owners that are stuck.
    pub(crate) fn force_all(&self) {
        for worker in self.table.iter() {
            if worker.stack.has_jobs() {
                worker.stack.force();
            }
            if !worker.spawned.is_empty() {
                worker.spawned.force();
            }
        }
    }

    pub(crate) fn rescuer_comes(&self, id: u16) {
        lock(&self.rescuers).push(id);
    }

    pub(crate) fn rescuer_goes(&self, id: u16) {
        lock(&self.rescuers).retain(|&r| r != id);
    }

    /// What a thread that is about to sleep can still find.
    pub(crate) fn has_visible_work(&self) -> bool {
        self.has_work_for_anyone() || self.broadcasts.iter().any(|queue| !queue.is_empty())
    }

    pub(crate) fn has_work_for_anyone(&self) -> bool {
        !self.injector.is_empty() || !self.tasks.is_empty() || self.table.iter().any(Worker::has_work)
    }

    /// Whether jobs are queued.
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    pub(crate) fn has_jobs(&self) -> bool {
        !self.injector.is_empty() || self.table.iter().any(Worker::has_jobs)
    }

    /// Whether tasks are queued, those that only wait for a turn to end included.
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    pub(crate) fn has_tasks(&self) -> bool {
        let waits = |worker: &Worker| !worker.tasks.is_empty() || worker.tasks.has_next();
        !self.tasks.is_empty() || self.table.iter().any(waits)
    }

    /// Whether nothing can happen by itself any more: nobody runs, nothing is queued, no timer is set and no socket is
    /// registered.
    pub fn is_quiescent(&self) -> bool {
        self.idle.counters().free() == self.parallelism()
            && !self.has_visible_work()
            && !self.attendance.is_used()
    }

    // ---- threads come ----

    fn may_start(&self) -> bool {
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

    fn take_seat(self: &Arc<Self>, index: Option<u16>, is_searcher: bool) -> io::Result<Seat> {
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

    fn start_spare(&self, index: u16) -> io::Result<()> {
        // The pool is only ever made in an `Arc`; its threads hold one each, and so does whoever calls us.
        let this = self.arc();
        let seat = this.take_seat(Some(index), true)?;
        self.idle.open().started(seat.worker.id(), index);
        let name = self.spare_name(&seat);
        self.start(seat, name)
    }

    /// The name of a thread that is started in the middle of somebody's wait, where nothing may unwind.
    fn spare_name(&self, seat: &Seat) -> Option<String> {
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

    // ---- threads go ----

    /// Whether the handle is gone: what was accepted still runs, then the threads leave.
    pub fn is_closing(&self) -> bool {
        self.phase.load(Ordering::Acquire) != OPEN
    }

    pub(crate) fn is_over(&self) -> bool {
        self.phase.load(Ordering::Acquire) == OVER
    }

    /// No more work will come from outside. What was accepted still runs; then the threads leave. Never blocks.
    pub fn close(&self) {
        let _ = self.phase.compare_exchange(OPEN, CLOSING, Ordering::AcqRel, Ordering::Acquire);
        self.leave_if_done();
    }

    /// If the pool is closing and every thread of it sleeps with nothing to do, they may all leave.
    pub(crate) fn leave_if_done(&self) {
        let mut desk = self.idle.open();
        // A thread that is not parked looks for work once more before it parks, and comes here after.
        if desk.parked().len() < self.live.load(Ordering::Relaxed)
            || self.has_visible_work()
            || self.attendance.is_used()
        {
            return;
        }
        self.phase.store(OVER, Ordering::Release);
        let parked = desk.dismiss();
        drop(desk);
        for id in parked {
            if let Some(worker) = self.table.get(id.into()) {
                worker.dismiss(&self.attendance);
            }
        }
        // LIVENESS: a task that became ready while the phase changed. Our phase before our look; partner: `schedule_outside`.
        fence(Ordering::SeqCst);
        if !self.tasks.is_empty() {
            self.revive();
        }
    }

    /// Waits until every thread has left, and joins those that the pool started. Not for a thread of the pool's own.
    pub fn join_threads(&self) {
        let mut guard = lock(&self.left);
        while self.live.load(Ordering::Acquire) != 0 {
            guard = self.all_left.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        drop(guard);
        self.join_handles();
    }

    /// As [`join_threads`](Self::join_threads), for at most `limit`. Returns how many threads are left.
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    pub fn join_threads_within(&self, limit: std::time::Duration) -> usize {
        let begun = std::time::Instant::now();
        let mut guard = lock(&self.left);
        loop {
            let threads = self.live.load(Ordering::Acquire);
            let left = limit.saturating_sub(begun.elapsed());
            if threads == 0 || left.is_zero() {
                drop(guard);
                if threads == 0 {
                    self.join_handles();
                }
                return threads;
            }
            guard =
                self.all_left.wait_timeout(guard, left).unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
    }

    fn join_handles(&self) {
        for handle in std::mem::take(&mut *lock(&self.handles)) {
            // Jobs and handlers do not unwind out of a thread.
            let _ = handle.join();
        }
    }

    // ---- calls from anywhere ----

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

    // ---- words to the user ----

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

    // ---- tracing ----

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

impl Pool {
    fn call_handler(&self, f: impl FnOnce()) {
        if let Err(payload) = halt_unwinding(f) {
            self.deliver_panic(payload);
        }
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
