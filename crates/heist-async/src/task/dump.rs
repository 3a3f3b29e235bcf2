//! What all tasks are doing.

use super::cell::{Head, Raw};
use super::state::Word;
use super::{Id, arena, handle};
use heist_pool::raw::pool::Pool;
use heist_pool::raw::recorder;
use heist_pool::raw::stall::{TaskReport, TaskState};
use heist_sync::clock::elapsed_since;
use std::fmt;
use std::panic::Location;
use std::ptr::NonNull;
use std::time::Duration;

/// What a task is doing.
///
/// ```
/// let handle = heist::task::spawn(std::future::pending::<()>());
/// let all = heist::task::dump();
/// assert!(all.iter().any(|task| task.id() == handle.id() && task.state() != heist::task::State::Done));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum State {
    /// A worker polls it.
    Running,
    /// It is queued.
    Scheduled,
    /// It waits to be woken.
    Waiting,
    /// It waits, and nobody has a waker of it: it can only be aborted.
    Leaked,
    /// It has ended, and its handle is still there.
    Done,
}

impl State {
    fn of(word: Word) -> Self {
        if word.is_done() {
            Self::Done
        } else if word.is_running() {
            Self::Running
        } else if word.is_scheduled() {
            Self::Scheduled
        } else if word.is_leaked() {
            Self::Leaked
        } else {
            Self::Waiting
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Running => "running",
            Self::Scheduled => "scheduled",
            Self::Waiting => "waiting",
            Self::Leaked => "leaked",
            Self::Done => "done",
        })
    }
}

/// One task, as it was a moment ago.
///
/// ```
/// let handle = heist::task::spawn(std::future::pending::<()>());
/// let all = heist::task::dump();
/// let info = all.iter().find(|task| task.id() == handle.id()).unwrap();
/// assert_eq!(info.site().file(), file!());
/// println!("{info}");
/// ```
#[derive(Clone, Debug)]
pub struct Info {
    id: Id,
    name: Option<String>,
    site: &'static Location<'static>,
    state: State,
    since: Duration,
    wakers: u32,
    number: u32,
}

impl Info {
    /// Its number in traces.
    #[doc(hidden)]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Its id.
    ///
    /// ```
    /// let handle = heist::task::spawn(std::future::pending::<()>());
    /// let all = heist::task::dump();
    /// let info = all.iter().find(|task| task.id() == handle.id()).unwrap();
    /// assert_eq!(info.id(), handle.id());
    /// ```
    pub fn id(&self) -> Id {
        self.id
    }

    /// The name that it was spawned with.
    ///
    /// ```
    /// let handle = heist::task::spawn(std::future::pending::<()>());
    /// let all = heist::task::dump();
    /// let info = all.iter().find(|task| task.id() == handle.id()).unwrap();
    /// assert_eq!(info.name(), None);
    /// ```
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Where it was spawned.
    ///
    /// ```
    /// let handle = heist::task::spawn(std::future::pending::<()>());
    /// let all = heist::task::dump();
    /// let info = all.iter().find(|task| task.id() == handle.id()).unwrap();
    /// assert!(info.site().line() > 0);
    /// ```
    pub fn site(&self) -> &'static Location<'static> {
        self.site
    }

    /// What it is doing.
    ///
    /// ```
    /// let handle = heist::task::spawn(std::future::pending::<()>());
    /// let all = heist::task::dump();
    /// let info = all.iter().find(|task| task.id() == handle.id()).unwrap();
    /// assert_ne!(info.state(), heist::task::State::Done);
    /// ```
    pub fn state(&self) -> State {
        self.state
    }

    /// For how long, to a few milliseconds. Of a task that waits or is done: since its last poll began.
    ///
    /// ```
    /// let handle = heist::task::spawn(std::future::pending::<()>());
    /// let all = heist::task::dump();
    /// let info = all.iter().find(|task| task.id() == handle.id()).unwrap();
    /// assert!(info.since() < std::time::Duration::from_secs(60));
    /// ```
    pub fn since(&self) -> Duration {
        self.since
    }

    /// How many wakers of it exist.
    ///
    /// ```
    /// let handle = heist::task::spawn(std::future::pending::<()>());
    /// let all = heist::task::dump();
    /// let info = all.iter().find(|task| task.id() == handle.id()).unwrap();
    /// assert_eq!(info.wakers(), 0);
    /// ```
    pub fn wakers(&self) -> u32 {
        self.wakers
    }
}

impl fmt::Display for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, state, since, wakers, site, .. } = self;
        let s = if *wakers == 1 { "" } else { "s" };
        write!(f, "task {id} {state} for {since:?}, {wakers} waker{s}, spawned at {site}")?;
        match &self.name {
            Some(name) => write!(f, " ({name})"),
            None => Ok(()),
        }
    }
}

/// A task that somebody looks at.
struct Pin {
    task: Raw,
    word: Word,
}

impl Pin {
    fn new(cell: NonNull<Head>) -> Option<Self> {
        // SAFETY: the word of a cell may be read at any time (R6), and nothing else is, until it is pinned.
        let word = unsafe { &(*cell.as_ptr()).state }.pin()?;
        Some(Self { task: Raw::new(cell), word })
    }

    fn info(&self) -> Info {
        Info {
            id: self.task.id(),
            name: self.task.name().map(str::to_owned),
            site: self.task.site(),
            state: State::of(self.word),
            since: elapsed_since(self.task.since_ms()),
            wakers: self.word.wakers(),
            number: recorder::number_of(self.task.as_ptr()),
        }
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        handle::release(self.task);
    }
}

fn collect(mut wanted: impl FnMut(&Pin) -> bool) -> Vec<Info> {
    let mut all = Vec::new();
    arena::for_each(|cell| {
        if let Some(pin) = Pin::new(cell)
            && wanted(&pin)
        {
            all.push(pin.info());
        }
    });
    all
}

/// Every task of every pool that has not ended or whose handle is still there, each as it was at some moment during
/// the call.
///
/// It takes time in proportion to the largest number of tasks that ever existed at once, and stops nobody. Closures that block or
/// compute are shown by [`dump_calls`](super::dump_calls()).
///
/// ```
/// let handle = heist::task::spawn(std::future::pending::<()>());
/// for task in heist::task::dump() {
///     println!("{task}");
/// }
/// # drop(handle);
/// ```
pub fn dump() -> Vec<Info> {
    collect(|pin| !pin.word.is_done() || pin.word.has_handle())
}

/// Every task that has not ended, for a report of stalls. `None` if they cannot be had now.
pub(crate) fn for_report() -> Option<Vec<TaskReport>> {
    let mut all = Vec::new();
    let report = |pin: &Pin| {
        let Info { id, name, site, state, since, wakers, .. } = pin.info();
        let state = match state {
            State::Running => TaskState::Running,
            State::Scheduled => TaskState::Scheduled,
            State::Waiting => TaskState::Waiting,
            State::Leaked => TaskState::Leaked,
            State::Done => return None,
        };
        let (id, shown, name) = (id.as_u64(), id.to_string().into(), name.map(String::into_boxed_str));
        let (type_name, awaits) = (pin.task.type_name(), pin.task.awaits());
        let address = pin.task.as_ptr().addr();
        Some(TaskReport::new(id, shown, name, site, type_name, state, since, wakers, awaits, address))
    };
    arena::try_for_each(|cell| all.extend(Pin::new(cell).as_ref().and_then(report))).then_some(all)
}

/// As [`dump`], only tasks of `pool` that have not ended.
#[doc(hidden)]
pub fn dump_of(pool: &Pool) -> Vec<Info> {
    collect(|pin| pin.task.home().is_in(pool) && !pin.word.is_done())
}

/// Every task that waits though nobody has a waker of it. Its handle can still abort it.
///
/// ```
/// let handle = heist::task::spawn(std::future::pending::<()>());
/// while !heist::task::leaked().iter().any(|task| task.id() == handle.id()) {
///     std::thread::yield_now();
/// }
/// ```
pub fn leaked() -> Vec<Info> {
    collect(|pin| pin.word.is_leaked())
}

/// Aborts every task of `pool`, for the end of the pool. A task that is spawned meanwhile may be missed.
#[doc(hidden)]
pub fn abort_all_of(pool: &Pool) {
    arena::for_each(|cell| {
        if let Some(pin) = Pin::new(cell)
            && pin.task.home().is_in(pool)
        {
            handle::abort(pin.task);
        }
    });
}
