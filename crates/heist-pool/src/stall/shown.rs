//! The report as users see it.

use crate::pool::Pool;
use crate::threads::{Closure, ThreadState};
use crate::waits::WaitsFor;
use std::fmt;
use std::panic::Location;
use std::time::Duration;

/// What all pools, threads, tasks and ticks of the program are doing, and what is wrong with it.
///
/// Printed, it begins with the [`findings`](Self::findings), then comes everything else.
///
/// ```
/// let report = heist::stall::report();
/// assert!(!report.is_stalled());
/// println!("{report}");
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// What is wrong, as far as one can tell.
    pub findings: Vec<Finding>,
    /// Every pool.
    pub pools: Vec<PoolReport>,
    /// Every task that has not ended. Needs the feature `async`.
    pub tasks: Vec<TaskReport>,
    /// Closures of `spawn_blocking` and `compute` that run, or wait for a thread. Needs the feature `async`.
    pub calls: Vec<CallReport>,
    /// What could not be told, because a part of heist's own was being changed all the while; usually nothing.
    pub unknown: Vec<&'static str>,
}

impl Report {
    /// Whether something does not go on by itself. A thread that computes for long does.
    ///
    /// ```
    /// assert!(!heist::stall::report().is_stalled());
    /// ```
    pub fn is_stalled(&self) -> bool {
        self.findings.iter().any(Finding::is_stall)
    }

    /// Who waits for whom, as far as that is known: threads for those that have taken half of their join, that run the jobs of their scope or what
    /// they have installed in another pool, for those that have their permit, and for tasks; tasks for tasks whose handle they await, and for
    /// the thread that is inside of them.
    ///
    /// ```
    /// for (waits, other) in heist::stall::report().waits() {
    ///     println!("{waits:?} waits for {other:?}");
    /// }
    /// ```
    pub fn waits(&self) -> Vec<(Node, Node)> {
        let edges = super::graph::edges(&self.pools, &self.tasks);
        edges.into_iter().flat_map(|(from, to)| to.into_iter().map(move |to| (from, to))).collect()
    }

    /// The task of that number, which `task::Id::as_u64` tells.
    ///
    /// ```
    /// assert!(heist::stall::report().task(0).is_none());
    /// ```
    pub fn task(&self, id: u64) -> Option<&TaskReport> {
        self.tasks.iter().find(|task| task.id == id)
    }

    /// The thread of that number in that pool.
    ///
    /// ```
    /// let report = heist::stall::report();
    /// for pool in &report.pools {
    ///     assert!(pool.threads.iter().all(|thread| report.thread(pool.id, thread.number).is_some()));
    /// }
    /// ```
    pub fn thread(&self, pool: PoolId, number: usize) -> Option<&ThreadReport> {
        let pool = self.pools.iter().find(|other| other.id == pool)?;
        pool.threads.iter().find(|thread| thread.number == number)
    }
}

/// Which pool. It prints as its number, which is the same in traces, in the live view and in the lines of `HEIST_SCHEDTRACE`.
///
/// ```
/// heist::join(|| (), || ());
/// let report = heist::stall::report();
/// assert!(report.pools.iter().all(|pool| pool.id.to_string().parse::<u32>().is_ok()));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PoolId(pub(super) u32);

impl PoolId {
    pub(super) fn of(pool: &Pool) -> Self {
        Self(pool.recorder().number())
    }
}

impl fmt::Display for PoolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Something that is, or may be, wrong.
///
/// ```
/// use heist::stall::Finding;
///
/// let report = heist::stall::report();
/// let asleep = report.findings.iter().filter(|finding| matches!(finding, Finding::Asleep { .. })).count();
/// assert_eq!(asleep, 0);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Finding {
    /// These wait for each other, each for the next and the last for the first.
    Cycle(Vec<Node>),
    /// The thread has been inside of one job, poll or tick for so long, and used no CPU time: it sleeps in the kernel, at a lock, a channel or
    /// some other call.
    Asleep {
        /// Its pool.
        pool: PoolId,
        /// Its number there.
        thread: usize,
        /// For how long, at least.
        at_least: Duration,
    },
    /// Every worker of the pool is blocked so, and jobs wait for one.
    AllBlocked {
        /// The pool.
        pool: PoolId,
        /// How many jobs wait.
        jobs: usize,
        /// How many tasks wait.
        tasks: usize,
    },
    /// The task waits, and nobody has a waker of it.
    NobodyWakes {
        /// The task's number.
        task: u64,
    },
    /// Threads block on futures, tasks wait, and nothing can happen any more: nothing is queued, no timer is set, no socket is registered and
    /// no blocking call runs. Only a waker that a thread of the program's own has can help.
    AllAsleep {
        /// How many tasks wait.
        tasks: usize,
        /// How many of them have no waker.
        without_waker: usize,
    },
    /// The thread has been inside of one job, poll or tick for so long, and computes. That is no stall.
    LongRunning {
        /// Its pool.
        pool: PoolId,
        /// Its number there.
        thread: usize,
        /// For how long, at least.
        at_least: Duration,
    },
}

impl Finding {
    /// Whether it does not go on by itself.
    ///
    /// ```
    /// let report = heist::stall::report();
    /// assert_eq!(report.is_stalled(), report.findings.iter().any(|finding| finding.is_stall()));
    /// ```
    pub fn is_stall(&self) -> bool {
        !matches!(self, Self::LongRunning { .. })
    }
}

/// Who waits, or is waited for.
///
/// ```
/// use heist::stall::{Finding, Node};
///
/// for finding in heist::stall::report().findings {
///     if let Finding::Cycle(nodes) = finding {
///         println!("{} tasks", nodes.iter().filter(|node| matches!(node, Node::Task(_))).count());
///     }
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Node {
    /// A thread, by its pool and its number there.
    Thread(PoolId, usize),
    /// A task, by its number.
    Task(u64),
}

/// One pool.
///
/// ```
/// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let report = heist::stall::report();
/// assert!(report.pools.iter().any(|pool| pool.active == 2 && pool.permits.len() == 2));
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PoolReport {
    /// Which.
    pub id: PoolId,
    /// Whether it is the global one.
    pub is_global: bool,
    /// How many threads may run at once.
    pub active: usize,
    /// Who holds which permit, by index.
    pub permits: Vec<PermitReport>,
    /// Its threads, guests included.
    pub threads: Vec<ThreadReport>,
    /// Jobs that are queued anywhere in it; the forks of a thread count as one.
    pub queued_jobs: usize,
    /// Tasks that are queued anywhere in it.
    pub queued_tasks: usize,
    /// Ticks of which a run, or a closure that was submitted to it, is under way.
    pub ticks: Vec<TickReport>,
    /// Whether spare threads run queued jobs once all workers are blocked.
    pub rescues: bool,
}

/// A permit: the right to run.
///
/// See [`PoolReport`] for an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PermitReport {
    /// The number of the thread that holds it.
    pub holder: Option<usize>,
    /// Whether what runs there has asked for its index, so that it keeps it.
    pub is_observed: bool,
    /// Whether another thread wants it back.
    pub is_wanted: bool,
}

/// A thread of a pool, as it was a moment ago.
///
/// ```
/// use heist::stall::Progress;
///
/// heist::scope(|scope| scope.spawn(|_| ()));
/// for thread in heist::stall::report().pools.iter().flat_map(|pool| &pool.threads) {
///     assert_ne!(thread.progress, Progress::Asleep);
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ThreadReport {
    /// Its number among the pool's threads.
    pub number: usize,
    /// Its name; guests have none here.
    pub name: Option<Box<str>>,
    /// Whether it is a thread of the program's own.
    pub is_guest: bool,
    /// What it does.
    pub state: ThreadState,
    /// Whether it goes on.
    pub progress: Progress,
    /// For how long that, and the job, poll or tick, has been so, as far as anybody has looked; at least.
    pub at_least: Duration,
    /// The innermost of the program's closures with a name that it is inside of: a job, what was given to `install`, `blocking`, `compute`.
    pub closure: Option<Closure>,
    /// Where the innermost job of a scope that it runs was spawned, if it has begun it since stalls are watched.
    pub scope_job: Option<&'static Location<'static>>,
    /// The number of the task that it polls.
    pub task: Option<u64>,
    /// The tick that it runs.
    pub tick: Option<TickReport>,
    /// The index of the permit that it holds.
    pub holds: Option<usize>,
    /// The index of the permit that it has lent while it waits, and the thread that has it now.
    pub lent: Option<(usize, Option<usize>)>,
    /// What it waits for, if it does.
    pub waits_for: WaitsFor,
    /// The number of the task whose handle it has last polled while it blocked on it.
    pub awaits: Option<u64>,
    /// Where it sleeps in the kernel, if the kernel tells.
    pub sleeps_in: Option<Box<str>>,
    /// The address of what it waits for, and those of what waits for the jobs that it runs.
    pub(super) awaited: Option<usize>,
    pub(super) serves: Vec<usize>,
}

/// Whether a thread goes on.
///
/// See [`ThreadReport`] for an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Progress {
    /// It has nothing to do, or waits with its permit lent.
    Idle,
    /// It has begun something else since the last look.
    Moving,
    /// It is inside of the same job, poll or tick, and has used CPU time or waits for a core.
    Computing,
    /// It is inside of the same job, poll or tick, and has used no CPU time: it sleeps in the kernel.
    Asleep,
    /// It is inside of the same job, poll or tick, and whether it computes or sleeps cannot be told: the system has no CPU clocks of threads, or
    /// `os_hints` are off.
    Unknown,
}

/// A run of a tick, or of a closure that was submitted to it.
///
/// See [`PoolReport`] for an example.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TickReport {
    /// The tick's name.
    pub name: Option<Box<str>>,
    /// Where it was spawned.
    pub site: &'static Location<'static>,
    /// For how long it has run.
    pub since: Duration,
    pub(super) address: usize,
}

impl TickReport {
    pub(super) fn new(address: usize, now: crate::queues::ticks::TickNow) -> Self {
        Self { name: now.name, site: now.site, since: now.since, address }
    }
}

/// A closure of `spawn_blocking` or `compute`, as it was a moment ago.
///
/// ```
/// let (end, ended) = std::sync::mpsc::channel::<()>();
/// let handle = heist::task::Builder::new().name("reader").spawn_blocking(move || ended.recv());
/// let report = heist::stall::report();
/// assert!(report.calls.iter().any(|call| call.name.as_deref() == Some("reader")));
/// # drop(end);
/// # let _ = heist::block_on(handle);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallReport {
    /// Its name.
    pub name: Option<Box<str>>,
    /// Where it was called.
    pub site: &'static Location<'static>,
    /// Whether it was given to `compute`, and not to `spawn_blocking`.
    pub is_computation: bool,
    /// Whether it has begun; if not, it waits for a thread.
    pub is_running: bool,
    /// For how long.
    pub since: Duration,
}

impl CallReport {
    /// What the tasks' crate knows of one.
    #[doc(hidden)]
    pub fn new(
        name: Option<Box<str>>,
        site: &'static Location<'static>,
        is_computation: bool,
        is_running: bool,
        since: Duration,
    ) -> Self {
        Self { name, site, is_computation, is_running, since }
    }
}

/// What a task does.
///
/// See [`TaskReport`] for an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TaskState {
    /// A worker polls it.
    Running,
    /// It is queued.
    Scheduled,
    /// It waits to be woken.
    Waiting,
    /// It waits, and nobody has a waker of it.
    Leaked,
}

impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Running => "running",
            Self::Scheduled => "queued",
            Self::Waiting => "waiting",
            Self::Leaked => "waiting without a waker",
        })
    }
}

/// A task that has not ended, as it was a moment ago.
///
/// ```
/// let handle = heist::task::Builder::new().name("stuck").spawn(std::future::pending::<()>());
/// let report = heist::stall::report();
/// let task = report.task(handle.id().as_u64()).unwrap();
/// assert_eq!((task.name.as_deref(), task.site.file()), (Some("stuck"), file!()));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TaskReport {
    /// Its number.
    pub id: u64,
    /// As its id prints.
    pub shown: Box<str>,
    /// The name that it was spawned with.
    pub name: Option<Box<str>>,
    /// Where it was spawned.
    pub site: &'static Location<'static>,
    /// The type of its future.
    pub type_name: &'static str,
    /// What it does.
    pub state: TaskState,
    /// For how long, to a few milliseconds. Of one that waits: since its last poll began.
    pub since: Duration,
    /// How many wakers of it exist.
    pub wakers: u32,
    /// The number of the task whose handle it awaits, if that is known: from when stalls are watched.
    pub awaits: Option<u64>,
    /// The address of its cell.
    #[doc(hidden)]
    pub address: usize,
}

impl TaskReport {
    /// What the tasks' crate knows of one.
    #[doc(hidden)]
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        id: u64,
        shown: Box<str>,
        name: Option<Box<str>>,
        site: &'static Location<'static>,
        type_name: &'static str,
        state: TaskState,
        since: Duration,
        wakers: u32,
        awaits: Option<u64>,
        address: usize,
    ) -> Self {
        Self { id, shown, name, site, type_name, state, since, wakers, awaits, address }
    }
}
