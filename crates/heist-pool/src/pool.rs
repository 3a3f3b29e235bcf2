//! The pool: what its threads share. It owns the parts and joins them; each part keeps its own fields.

use crate::calls;
use crate::clock::{Clock, ManualClock};
use crate::driver_lock::DriverLock;
use crate::driver_waiter::DriverWaiter;
use crate::due::Due;
use crate::monitor::Watched;
use crate::permits::Permits;
use crate::places::{Pin, Places};
use crate::process;
use crate::profile;
use crate::queues::Queues;
use crate::queues::job::{JobRef, Payload, discard, erased, halt_unwinding};
use crate::queues::task::{Place, TaskRef};
use crate::recorder::{self, Recorder};
use crate::threads::Threads;
use crate::worker::Worker;
use heist_os::{System, WokenFor};
use heist_sync::StdArc as Arc;
use heist_sync::process::Origin;
use heist_trace::Kind;
use std::mem::ManuallyDrop;
use std::sync::Weak;
use std::time::Duration;

pub(crate) type Handler<A> = Box<dyn Fn(A) + Send + Sync>;

/// How a pool is made. All fields have a plain default.
#[derive(Default)]
pub struct Config {
    /// How many threads run at once. When the pool is built, 0 for what the environment says; then as many as there are permits.
    pub parallelism: usize,
    /// How many permits there are, of which `parallelism` are active at first; 0 for as many.
    pub max_parallelism: usize,
    /// How many threads there may be, sleeping ones included; 0 for the default.
    pub max_threads: usize,
    /// Stack size of the threads; `None` for the system's default.
    pub stack_size: Option<usize>,
    /// Names threads by the index they start with. `None` from the closure means the default name.
    pub thread_name: Option<Box<dyn Fn(usize) -> Option<String> + Send + Sync>>,
    /// Called on each thread with the index it starts with.
    pub start_handler: Option<Handler<usize>>,
    /// Called on each thread when it leaves.
    pub exit_handler: Option<Handler<usize>>,
    /// Called with the payload of a detached job's panic.
    pub panic_handler: Option<Handler<Payload>>,
    /// Threads are started by somebody else; there are no spares.
    pub foreign_threads: bool,
    /// The thread that makes the pool is one of its threads.
    pub use_current_thread: bool,
    /// Whether spare threads run the queued jobs once all workers have used no CPU time for a second; `None` for what
    /// `HEIST_RESCUE` says.
    pub rescue_blocked: Option<bool>,
    /// Whether threads of the program's own may work in the pool instead of waiting for a worker: see [`guest`](crate::threads::guest).
    /// `None` for no.
    pub guests: Option<bool>,
    /// Whether the system's scheduler is asked and told about threads; `None` for what `HEIST_OS_HINTS` says.
    pub os_hints: Option<bool>,
    /// On which CPUs the threads are kept.
    pub pin: Pin,
    /// Whether the number of active permits follows what the machine allows.
    pub follow_limits: bool,
    /// How long a thread or task may not go on before that is reported; `None` for what `HEIST_STALL` says.
    pub stall_after: Option<Duration>,
    /// Whether polls are timed; `None` for what `HEIST_POLL_HISTOGRAMS` says.
    pub poll_histograms: Option<bool>,
    /// How late a tick may be before another worker takes it, if it does not say itself; `None` for the default.
    pub tick_steal_after: Option<Duration>,
    /// Whether it is left out of the list of the process's pools: one of those who look at the others.
    pub is_hidden: bool,
    /// The clock that its timers and ticks go by; `None` for the system's.
    pub clock: Option<ManualClock>,
}

impl Config {
    /// Whether spare threads are to run the jobs behind blocked ones.
    pub(crate) fn rescues(&self) -> bool {
        self.rescue_blocked.unwrap_or_else(|| heist_sync::switch("HEIST_RESCUE") == Some(true))
    }

    /// Whether polls are timed.
    pub(crate) fn times_polls(&self) -> bool {
        self.poll_histograms.unwrap_or_else(|| heist_sync::switch("HEIST_POLL_HISTOGRAMS") == Some(true))
    }

    /// Whether thread and permit are one, because the pool can never have a spare thread.
    pub(crate) fn is_bound(&self) -> bool {
        self.foreign_threads
            || (self.max_threads != 0 && self.max_threads <= self.parallelism)
            || (self.use_current_thread && self.parallelism == 1)
    }

    /// Whether a thread of the program's own would lack nothing that the pool's threads have.
    pub(crate) fn may_take_guests(&self) -> bool {
        self.guests == Some(true)
            && !self.is_bound()
            && self.thread_name.is_none()
            && self.start_handler.is_none()
            && self.exit_handler.is_none()
            && self.stack_size.is_none()
    }
}

/// See the module.
pub struct Pool {
    /// The pool itself, for those who have only a reference.
    this: Weak<Pool>,
    config: Config,
    system: &'static dyn System,
    /// `None` on a machine with one node.
    places: Option<Box<Places>>,
    // These are not dropped in another process: they have to do with threads that are not there, or may have been in the middle of a change.
    permits: ManuallyDrop<Permits>,
    queues: ManuallyDrop<Queues>,
    driver: ManuallyDrop<DriverLock>,
    threads: ManuallyDrop<Threads>,
    recorder: ManuallyDrop<Recorder>,
    watched: Watched,
    /// The process in which its threads are.
    origin: Origin,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("parallelism", &self.parallelism()).finish_non_exhaustive()
    }
}

impl Pool {
    /// A pool without threads.
    pub fn new(config: Config) -> Arc<Self> {
        // Before the pool's first thread: in a process with several threads the kernel takes some 10 ms to agree to `membarrier`.
        let _ = heist_sync::barrier::is_asymmetric();
        process::watch();
        let n = config.parallelism;
        let system = heist_os::system(config.os_hints);
        let pool = Arc::new_cyclic(|this| Self {
            this: this.clone(),
            system,
            places: Places::new(&config, system),
            permits: ManuallyDrop::new(Permits::new(n, config.is_bound())),
            queues: ManuallyDrop::new(Queues::new(n, Clock::new(config.clock.clone()))),
            driver: ManuallyDrop::default(),
            threads: ManuallyDrop::new(Threads::new(&config, system)),
            recorder: ManuallyDrop::default(),
            watched: Watched::new(&config, this.clone()),
            origin: Origin::here(),
            config,
        });
        if let Some(clock) = &pool.config.clock {
            clock.drive(&pool);
        }
        if !pool.config.is_hidden {
            crate::global::enlist(Arc::downgrade(&pool));
            pool.recorder.join_all();
            profile::join_all(&pool.watched);
        }
        pool
    }

    pub(crate) fn arc(&self) -> Arc<Self> {
        self.this.upgrade().expect("whoever has a reference to a pool, or is called by one who has, keeps it")
    }

    /// Whether it was made before a fork, in another process than this one: its threads are not here.
    #[inline]
    pub fn is_foreign(&self) -> bool {
        self.origin.is_foreign()
    }

    /// For whoever wants something of the pool's threads.
    ///
    /// # Panics
    /// If it is another process's.
    #[inline]
    #[track_caller]
    pub fn refuse_if_foreign(&self) {
        #[cold]
        #[track_caller]
        fn refuse() -> ! {
            panic!("{}", process::FOREIGN_POOL)
        }
        if self.is_foreign() {
            refuse();
        }
    }

    /// How many permits there are, active or not: every index is below this.
    #[inline]
    pub fn parallelism(&self) -> usize {
        self.permits.parallelism()
    }

    /// How many threads run at once, at most.
    #[inline]
    pub fn active(&self) -> usize {
        self.permits.active()
    }

    /// Lets `n` threads run at once, at most [`parallelism`](Self::parallelism). Returns at once; threads above that number stop at their next job
    /// boundary.
    ///
    /// # Panics
    /// If it is another process's.
    #[track_caller]
    pub fn set_active(&self, n: usize) {
        self.refuse_if_foreign();
        assert!(n <= self.parallelism(), "{n} permits of {}", self.parallelism());
        self.permits.set_active(self, n);
    }

    /// How the pool was made.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What the system can be asked.
    pub(crate) fn system(&self) -> &'static dyn System {
        self.system
    }

    /// Where its threads run, if the machine has several nodes.
    #[inline]
    pub fn places(&self) -> Option<&Places> {
        self.places.as_deref()
    }

    pub(crate) fn permits(&self) -> &Permits {
        &self.permits
    }

    /// The queues that its threads share.
    pub fn queues(&self) -> &Queues {
        &self.queues
    }

    /// The right to look at sockets and timers.
    pub fn driver(&self) -> &DriverLock {
        &self.driver
    }

    /// Its threads.
    pub fn threads(&self) -> &Threads {
        &self.threads
    }

    /// Which of its ticks are due, and for whom.
    #[inline]
    pub fn due(&self) -> Due<'_> {
        Due::of(self)
    }

    /// Who is to be told that something is due, or registered.
    #[inline]
    pub fn driver_waiter(&self) -> DriverWaiter<'_> {
        DriverWaiter::of(self)
    }

    /// What it records of its threads.
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Whether it is being watched by the monitor.
    pub(crate) fn watched(&self) -> &Watched {
        &self.watched
    }

    /// Runs `f` in this pool: here if the calling thread is one of the pool's, or can be its guest; else on a thread of the pool, and
    /// waits for it.
    #[inline]
    #[track_caller]
    pub fn install<R: Send>(self: &Arc<Self>, f: impl FnOnce() -> R + Send) -> R {
        self.refuse_if_foreign();
        erased(f, |callee| calls::call(self, callee))
    }

    /// Queues a new job for whoever is free.
    #[track_caller]
    pub fn inject(&self, job: JobRef) {
        self.refuse_if_foreign();
        recorder::record(self, Kind::Spawn, job.number(), || 0);
        self.queues.jobs.push(job);
        self.permits.announce(self, WokenFor::Job);
    }

    /// Queues a job that only the holder of `index` may run.
    pub fn inject_for(&self, index: usize, job: JobRef) {
        self.refuse_if_foreign();
        self.threads.refuse_guests();
        let index = index as u16;
        recorder::record(self, Kind::Spawn, job.number(), || 0);
        // The push ends with a fence: PERMIT-E3, the job before the look at the ledger; partner: `ask_and_look`.
        self.queues.broadcasts(index).push(job);
        self.permits.wake_one(self, Some(index), WokenFor::Job);
    }

    /// No more work will come from outside. What was accepted still runs; then the threads leave. Never blocks. In another process it
    /// does nothing: there are no threads to tell.
    pub fn close(&self) {
        if self.is_foreign() {
            return;
        }
        self.permits.end_stop(self);
        self.driver.close();
        // LIVENESS: while the threads are still there. From here on no tick begins, and none accepts a closure that nobody would run.
        self.queues.ticks().close();
        self.threads.close(self);
    }

    /// Queues a task that became ready, wherever that happened.
    #[inline]
    pub fn schedule(&self, task: TaskRef, place: Place) {
        if self.is_foreign() {
            // The parent has it as well, and runs it.
            return;
        }
        self.watched.note_task(&task);
        recorder::record(self, Kind::Ready, task.number(), || 0);
        match Worker::current_in(self) {
            Some(worker) => worker.schedule(task, place),
            None => self.schedule_outside(task),
        }
    }

    pub(crate) fn schedule_outside(&self, task: TaskRef) {
        self.queues.tasks.push(task);
        // The push ends with a fence: PERMIT-E3, and the partner of the one in `leave_if_done`.
        if self.threads.is_over() {
            return self.threads.revive(self);
        }
        self.permits.announce_fenced(self, WokenFor::Task);
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
        if self.is_foreign() {
            process::note_lost_panic();
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if !self.is_foreign() {
            self.recorder.last_look(self);
            // SAFETY: here only, and nothing uses them after.
            unsafe {
                ManuallyDrop::drop(&mut self.permits);
                ManuallyDrop::drop(&mut self.queues);
                ManuallyDrop::drop(&mut self.driver);
                ManuallyDrop::drop(&mut self.threads);
                ManuallyDrop::drop(&mut self.recorder);
            }
        }
    }
}

/// The most threads a pool can have.
pub const MOST_THREADS: usize = crate::threads::MOST;
/// The most indices a pool can have: as many threads again may sleep in waits.
pub const MOST_INDICES: usize = MOST_THREADS / 2;

/// Threads beyond the parallelism that may exist if the user does not say.
pub const DEFAULT_SPARES: usize = 256;
