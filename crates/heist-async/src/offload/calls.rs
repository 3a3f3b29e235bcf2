//! What the closures of `spawn_blocking` and `compute` are doing: a list for whoever asks.

use heist_sync::{Mutex, lock};
use std::fmt;
use std::panic::Location;
use std::time::{Duration, Instant};

/// What a [`CallInfo`] is about.
///
/// ```
/// use heist_async::task::{CallKind, dump_calls};
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
}

/// A closure of [`spawn_blocking`](super::spawn_blocking()) or [`compute`](super::compute()) that is queued or runs, as it was a
/// moment ago.
///
/// ```
/// let (end, ended) = std::sync::mpsc::channel::<()>();
/// let handle = heist_async::task::Builder::new().name("reader").spawn_blocking(move || ended.recv());
/// let calls = heist_async::task::dump_calls();
/// let call = calls.iter().find(|call| call.name() == Some("reader")).unwrap();
/// assert_eq!(call.site().file(), file!());
/// println!("{call}");
/// # drop(end);
/// # let _ = heist_async::block_on(handle);
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
    /// for call in heist_async::task::dump_calls().iter().filter(|call| call.since().as_secs() > 10) {
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

static CALLS: [Mutex<List>; LISTS] =
    [const { Mutex::new(List { entries: Vec::new(), free: Vec::new() }) }; LISTS];

struct List {
    entries: Vec<Option<Entry>>,
    /// Indices of entries that are `None`.
    free: Vec<usize>,
}

struct Entry {
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
}

impl Listed {
    pub fn new(kind: CallKind, name: Option<Box<str>>, site: &'static Location<'static>) -> Self {
        let entry = Some(Entry { kind, name, site, is_running: false, since: Instant::now() });
        // The address of something on the stack differs from thread to thread, in its upper bits; the product spreads them.
        let page = (std::ptr::from_ref(&entry).addr() >> 12) as u32;
        let list = &CALLS[(page.wrapping_mul(0x9e37_79b9) >> 16) as usize % LISTS];
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
        Self { list, index }
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
        let mut calls = lock(self.list);
        let entry = calls.entries[self.index].take();
        calls.free.push(self.index);
        drop(calls);
        drop(entry);
    }
}

/// Every closure of [`spawn_blocking`](super::spawn_blocking()) and [`compute`](super::compute()) that is queued or runs, in any
/// pool, each as it was at some moment during the call. The tasks that await them are shown by [`dump`](crate::task::dump()).
///
/// See [`CallInfo`] for an example.
pub fn dump_calls() -> Vec<CallInfo> {
    let mut all = Vec::new();
    for list in &CALLS {
        all.extend(lock(list).entries.iter().flatten().map(|entry| CallInfo {
            kind: entry.kind,
            name: entry.name.clone(),
            site: entry.site,
            is_running: entry.is_running,
            since: entry.since.elapsed(),
        }));
    }
    all
}
