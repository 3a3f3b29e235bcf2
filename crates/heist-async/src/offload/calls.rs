//! What the closures that were given to heist are doing: a list for whoever asks. Those of `spawn_blocking` and `compute` are in lists
//! here; what workers are inside of, the pools tell.

use heist_pool::raw::pool::Pool;
use heist_pool::raw::stall::CallReport;
use heist_pool::raw::threads::{Closure, ClosureKind};
use heist_sync::process::{Origin, PerProcess};
use heist_sync::{Mutex, lock, lock_soon};
use std::fmt;
use std::panic::Location;
use std::time::{Duration, Instant};

/// What a [`CallInfo`] is about.
///
/// ```
/// use heist::task::{CallKind, dump_calls};
/// let blocked = dump_calls().iter().filter(|call| call.kind() == CallKind::Blocking && call.is_running()).count();
/// println!("{blocked} blocking calls");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CallKind {
    /// A closure of [`spawn_blocking`](super::spawn_blocking()).
    Blocking,
    /// A closure of [`compute`](super::compute()).
    Compute,
    /// A closure of `heist::blocking`, which blocks a worker's own thread.
    BlockingInPlace,
    /// A detached job: a closure of `heist::spawn`, `spawn_fifo` or `spawn_broadcast`.
    Job,
    /// A closure of `ThreadPool::install`, `join`, `scope` or `scope_fifo`, which another thread waits for.
    Install,
}

/// A closure that was given to heist and runs, or waits for a thread, as it was a moment ago.
///
/// ```
/// let (end, ended) = std::sync::mpsc::channel::<()>();
/// let handle = heist::task::Builder::new().name("reader").spawn_blocking(move || ended.recv());
/// let calls = heist::task::dump_calls();
/// let call = calls.iter().find(|call| call.name() == Some("reader")).unwrap();
/// assert_eq!(call.site().file(), file!());
/// println!("{call}");
/// # drop(end);
/// # let _ = heist::block_on(handle);
/// ```
#[derive(Clone, Debug)]
pub struct CallInfo {
    kind: CallKind,
    name: Option<Box<str>>,
    site: &'static Location<'static>,
    is_running: bool,
    since: Duration,
}

impl CallInfo {
    /// What a worker is inside of.
    #[doc(hidden)]
    pub fn of_closure(closure: Closure) -> Self {
        let kind = match closure.kind {
            ClosureKind::Job => CallKind::Job,
            ClosureKind::Install => CallKind::Install,
            ClosureKind::Blocking => CallKind::BlockingInPlace,
            ClosureKind::Compute => CallKind::Compute,
        };
        Self { kind, name: None, site: closure.site, is_running: true, since: closure.since }
    }

    /// Which function it was given to.
    ///
    /// See [`CallKind`] for an example.
    pub fn kind(&self) -> CallKind {
        self.kind
    }

    /// The name that a [`Builder`](crate::task::Builder) gave it.
    ///
    /// See [`CallInfo`] for an example.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Where it was called.
    ///
    /// See [`CallInfo`] for an example.
    pub fn site(&self) -> &'static Location<'static> {
        self.site
    }

    /// Whether it has begun; if not, it waits for a thread.
    ///
    /// See [`CallKind`] for an example.
    pub fn is_running(&self) -> bool {
        self.is_running
    }

    /// For how long it has been running, or waiting.
    ///
    /// ```
    /// for call in heist::task::dump_calls().iter().filter(|call| call.since().as_secs() > 10) {
    ///     println!("slow: {call}");
    /// }
    /// ```
    pub fn since(&self) -> Duration {
        self.since
    }
}

impl fmt::Display for CallInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            CallKind::Blocking => "blocking call",
            CallKind::Compute => "computation",
            CallKind::BlockingInPlace => "blocking call in place",
            CallKind::Job => "job",
            CallKind::Install => "installed job",
        };
        let state = if self.is_running { "running" } else { "queued" };
        write!(f, "{kind} {state} for {:?}, called at {}", self.since, self.site)?;
        match &self.name {
            Some(name) => write!(f, " ({name})"),
            None => Ok(()),
        }
    }
}

/// So many lists that calls from several threads seldom meet.
const LISTS: usize = 16;

static CALLS: PerProcess<[Mutex<List>; LISTS]> =
    PerProcess::new([const { List::new() }; LISTS], || [const { List::new() }; LISTS]);

struct List {
    entries: Vec<Option<Entry>>,
    /// Indices of entries that are `None`.
    free: Vec<usize>,
}

impl List {
    const fn new() -> Mutex<Self> {
        Mutex::new(Self { entries: Vec::new(), free: Vec::new() })
    }
}

struct Entry {
    /// The address of its pool, which the call keeps.
    pool: usize,
    kind: CallKind,
    name: Option<Box<str>>,
    site: &'static Location<'static>,
    is_running: bool,
    since: Instant,
}

/// A call's entry, which goes with it.
pub(super) struct Listed {
    list: &'static Mutex<List>,
    index: usize,
    origin: Origin,
}

impl Listed {
    pub fn new(
        pool: &Pool,
        kind: CallKind,
        name: Option<Box<str>>,
        site: &'static Location<'static>,
    ) -> Self {
        let pool = std::ptr::from_ref(pool).addr();
        let entry = Some(Entry { pool, kind, name, site, is_running: false, since: Instant::now() });
        // The address of something on the stack differs from thread to thread, in its upper bits; the product spreads them.
        let page = (std::ptr::from_ref(&entry).addr() >> 12) as u32;
        let list = &CALLS.get()[(page.wrapping_mul(0x9e37_79b9) >> 16) as usize % LISTS];
        let mut calls = lock(list);
        let index = match calls.free.pop() {
            Some(index) => {
                calls.entries[index] = entry;
                index
            }
            None => {
                calls.entries.push(entry);
                calls.entries.len() - 1
            }
        };
        Self { list, index, origin: Origin::here() }
    }

    /// The call begins.
    pub fn begin(&self) {
        if let Some(entry) = &mut lock(self.list).entries[self.index] {
            entry.is_running = true;
            entry.since = Instant::now();
        }
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        if self.origin.is_foreign() {
            return;
        }
        let mut calls = lock(self.list);
        let entry = calls.entries[self.index].take();
        calls.free.push(self.index);
        drop(calls);
        drop(entry);
    }
}

fn collect(wanted: impl Fn(&Entry) -> bool) -> Vec<CallInfo> {
    let mut all = Vec::new();
    for list in CALLS.get() {
        all.extend(lock(list).entries.iter().flatten().filter(|entry| wanted(entry)).map(|entry| CallInfo {
            kind: entry.kind,
            name: entry.name.clone(),
            site: entry.site,
            is_running: entry.is_running,
            since: entry.since.elapsed(),
        }));
    }
    all
}

/// The closures of `spawn_blocking` and `compute`, for a report of stalls. `None` if they cannot be had now.
pub(crate) fn calls_for_report() -> Option<Vec<CallReport>> {
    let mut all = Vec::new();
    for list in CALLS.get() {
        all.extend(lock_soon(|| list.try_lock())?.entries.iter().flatten().map(|entry| {
            let Entry { kind, name, site, is_running, since, .. } = entry;
            CallReport::new(name.clone(), site, *kind == CallKind::Compute, *is_running, since.elapsed())
        }));
    }
    Some(all)
}

/// The closures that were given to heist, in any pool, each as it was at some moment during the call: those of
/// [`spawn_blocking`](super::spawn_blocking()) and [`compute`](super::compute()) that are queued or run, and the detached jobs, the
/// installed ones and the calls of `heist::blocking` that workers are inside of. Where these nest on one thread, the innermost is told.
///
/// Jobs of scopes and halves of joins have no entry of their own: they are too cheap for that. The tasks are shown by
/// [`dump`](crate::task::dump()).
///
/// ```
/// use heist::task::{CallKind, dump_calls};
///
/// let (begin, begun) = std::sync::mpsc::channel();
/// let (end, ended) = std::sync::mpsc::channel::<()>();
/// heist::spawn(move || {
///     begin.send(()).unwrap();
///     let _ = ended.recv();
/// });
/// begun.recv().unwrap();
/// assert!(dump_calls().iter().any(|call| call.kind() == CallKind::Job && call.site().file() == file!()));
/// # drop(end);
/// ```
pub fn dump_calls() -> Vec<CallInfo> {
    let mut all = collect(|_| true);
    for pool in heist_pool::raw::global::all() {
        let closures = pool.threads().now().into_iter().filter_map(|thread| thread.closure);
        // Computations are in the lists, with those that are queued.
        all.extend(closures.filter(|closure| closure.kind != ClosureKind::Compute).map(CallInfo::of_closure));
    }
    all
}

/// The closures of `spawn_blocking` and `compute` that are queued or run, of `pool`.
#[doc(hidden)]
pub fn dump_calls_of(pool: &Pool) -> Vec<CallInfo> {
    collect(|entry| entry.pool == std::ptr::from_ref(pool).addr())
}
