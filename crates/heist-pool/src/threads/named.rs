//! Closures that a report can name: which of the program's closures a thread of the pool is inside of, where that was called, and since
//! when. Forks have no names: they are too cheap for that. What they belong to has one.

use super::Threads;
use crate::worker::{Doing, Worker};
use heist_sync::StdArc as Arc;
use heist_sync::atomic::{AtomicPtr, AtomicU64, Ordering, fence};
use heist_sync::clock::{coarse_ms, elapsed_since};
use heist_sync::{lock, lock_soon};
use heist_trace::{Kind, name};
use std::cell::Cell;
use std::fmt;
use std::panic::Location;
use std::ptr;
use std::time::Duration;

/// What a named closure was given to.
///
/// See `heist::stall::Closure` for an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClosureKind {
    /// A detached job.
    Job,
    /// A job that another thread waits for: `install`, and what is made of it.
    Install,
    /// `blocking`.
    Blocking,
    /// A job that a task awaits.
    Compute,
}

const KINDS: [ClosureKind; 4] =
    [ClosureKind::Job, ClosureKind::Install, ClosureKind::Blocking, ClosureKind::Compute];

/// A closure that a thread was inside of a moment ago.
///
/// ```
/// use heist::stall::ClosureKind;
///
/// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build()?;
/// let report = pool.install(heist::stall::report);
/// let mut closures = report.pools.iter().flat_map(|pool| &pool.threads).filter_map(|thread| thread.closure);
/// assert!(closures.any(|closure| closure.kind == ClosureKind::Install && closure.site.file() == file!()));
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Closure {
    /// What it was given to.
    pub kind: ClosureKind,
    /// Where that was called.
    pub site: &'static Location<'static>,
    /// For how long it has been running, to a few milliseconds.
    pub since: Duration,
}

/// What a thread of a pool was doing a moment ago.
///
/// See `heist::ThreadInfo` for an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ThreadState {
    /// It looks for work, or sleeps until there is some.
    Idle,
    /// It runs a job.
    Job,
    /// It polls a task.
    Poll,
    /// It runs a tick.
    Tick,
    /// It waits for something, or is inside of `blocking`, and has lent its permit.
    Waiting,
}

impl ThreadState {
    pub(crate) fn of(doing: Doing) -> Self {
        match doing {
            Doing::Loop => Self::Idle,
            Doing::Job => Self::Job,
            Doing::Poll => Self::Poll,
            Doing::Tick => Self::Tick,
            Doing::Wait => Self::Waiting,
        }
    }
}

impl fmt::Display for ThreadState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Idle => "is idle",
            Self::Job => "runs a job",
            Self::Poll => "polls a task",
            Self::Tick => "runs a tick",
            Self::Waiting => "waits",
        })
    }
}

/// A thread of the pool, as it was a moment ago.
#[derive(Debug)]
pub struct ThreadNow {
    /// Its name.
    pub name: Option<Box<str>>,
    /// What it was doing.
    pub state: ThreadState,
    /// The innermost closure with a name that it was inside of.
    pub closure: Option<Closure>,
}

/// What a thread publishes of the closure that it is inside of.
pub(super) struct Entry {
    worker: u16,
    name: Option<Box<str>>,
    /// The site, with the kind in its lowest bits; null for no closure.
    word: AtomicPtr<Location<'static>>,
    /// Since when, in milliseconds, with the number of changes above it: the same site may come back with another time.
    stamp: AtomicU64,
}

const KIND: usize = 3;
const _: () = assert!(align_of::<Location<'static>>() > KIND && KINDS.len() == KIND + 1);

type Published = (*mut Location<'static>, u32);

impl Entry {
    fn load(&self) -> Published {
        (self.word.load(Ordering::Relaxed), self.stamp.load(Ordering::Relaxed) as u32)
    }

    /// Only its own thread writes.
    fn store(&self, (word, since_ms): Published) {
        let changes = (self.stamp.load(Ordering::Relaxed) >> 32).wrapping_add(1);
        self.word.store(ptr::null_mut(), Ordering::Relaxed);
        // ORDERING: the null before the new stamp, and the new stamp before the new site; partner: `closure`, which reads the stamp on
        // both sides of the site. Who reads this stamp reads this null or something newer; who reads the site below reads this stamp or
        // a newer one. So a site between two equal stamps is theirs.
        fence(Ordering::Release);
        self.stamp.store(changes << 32 | u64::from(since_ms), Ordering::Relaxed);
        self.word.store(word, Ordering::Release);
    }

    /// `None` also while it is being changed.
    fn closure(&self) -> Option<Closure> {
        let stamp = self.stamp.load(Ordering::Acquire);
        let word = self.word.load(Ordering::Acquire);
        if word.is_null() || stamp != self.stamp.load(Ordering::Relaxed) {
            return None;
        }
        let since_ms = stamp as u32;
        let kind = KINDS[word.addr() & KIND];
        // SAFETY: `named` made it of a `&'static` and the kind.
        let site = unsafe { &*word.map_addr(|a| a & !KIND) };
        Some(Closure { kind, site, since: elapsed_since(since_ms) })
    }
}

heist_sync::thread_local! {
    /// The entry of this thread; null outside of pools, and in guests.
    static OWN: Cell<*const Entry> = const { Cell::new(ptr::null()) };
}

/// A thread's entry among its pool's, for as long as the thread belongs to the pool.
pub(super) struct Enlisted<'a> {
    threads: &'a Threads,
    entry: Arc<Entry>,
}

impl<'a> Enlisted<'a> {
    /// The calling thread, which is `worker`.
    pub fn new(threads: &'a Threads, worker: u16) -> Self {
        let name = std::thread::current().name().map(Box::from);
        let word = AtomicPtr::new(ptr::null_mut());
        let entry = Arc::new(Entry { worker, name, word, stamp: AtomicU64::new(0) });
        lock(&threads.named).push(Arc::clone(&entry));
        OWN.with(|own| own.set(Arc::as_ptr(&entry)));
        Self { threads, entry }
    }
}

impl Drop for Enlisted<'_> {
    fn drop(&mut self) {
        OWN.with(|own| own.set(ptr::null()));
        lock(&self.threads.named).retain(|other| !Arc::ptr_eq(other, &self.entry));
    }
}

/// Runs `f`, which was given to a function of heist's at `site`. A few nanoseconds on a thread of a pool.
#[inline]
pub fn named<R>(kind: ClosureKind, site: &'static Location<'static>, f: impl FnOnce() -> R) -> R {
    /// Puts back what was there, also if `f` panics.
    struct Outer<'a>(&'a Entry, Published);
    impl Drop for Outer<'_> {
        fn drop(&mut self) {
            self.0.store(self.1);
        }
    }
    // SAFETY: it is null, or an entry that `Enlisted` keeps below us on this thread's stack.
    let Some(entry) = (unsafe { OWN.with(Cell::get).as_ref() }) else { return f() };
    let _outer = Outer(entry, entry.load());
    let word = ptr::from_ref(site).cast_mut().map_addr(|a| a | kind as usize);
    entry.store((word, coarse_ms()));
    let _span = Span::new(site);
    f()
}

/// The number of a thread, its name, and the closure that it is inside of.
pub(crate) type Named = (u16, Option<Box<str>>, Option<Closure>);

/// A slice in traces, which says where the closure comes from.
struct Span(());

impl Span {
    #[inline]
    fn new(site: &'static Location<'static>) -> Option<Self> {
        let worker = Worker::current().filter(|worker| worker.pool().recorder().is_on())?;
        worker.me().record(Kind::SpanStart, 0, name::of_site(site));
        Some(Self(()))
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let Some(worker) = Worker::current() {
            worker.me().record(Kind::SpanEnd, 0, 0);
        }
    }
}

impl Threads {
    /// The number and the name of each of its threads, and the closure that it is inside of; without guests.
    pub(crate) fn closures(&self) -> Vec<Named> {
        let entries = lock(&self.named).clone();
        entries.iter().map(|entry| (entry.worker, entry.name.clone(), entry.closure())).collect()
    }

    /// The names of its threads, each at its number; without guests, which have none of their own here.
    pub(crate) fn names(&self) -> Vec<Option<Box<str>>> {
        let mut names = Vec::new();
        for entry in lock(&self.named).iter() {
            let at = usize::from(entry.worker);
            if names.len() <= at {
                names.resize(at + 1, None);
            }
            names[at].clone_from(&entry.name);
        }
        names
    }

    /// What each of its threads is doing; without guests, and without those that have not begun.
    pub fn now(&self) -> Vec<ThreadNow> {
        let entries = lock(&self.named).clone();
        self.now_of(&entries).into_iter().map(|(_, now)| now).collect()
    }

    /// As [`now`](Self::now), each with its number, for one who must not hang.
    pub(crate) fn try_now(&self) -> Option<Vec<(u16, ThreadNow)>> {
        let entries = lock_soon(|| self.named.try_lock())?.clone();
        Some(self.now_of(&entries))
    }

    fn now_of(&self, entries: &[Arc<Entry>]) -> Vec<(u16, ThreadNow)> {
        let now = |entry: &Arc<Entry>| {
            let state = ThreadState::of(self.table.get(entry.worker.into())?.status().doing());
            Some((entry.worker, ThreadNow { name: entry.name.clone(), state, closure: entry.closure() }))
        };
        entries.iter().filter_map(now).collect()
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    fn entry() -> Entry {
        let word = AtomicPtr::new(ptr::null_mut());
        Entry { worker: 0, name: None, word, stamp: AtomicU64::new(0) }
    }

    #[test]
    fn closures_nest_and_outlive_panics() {
        let own = entry();
        let seen = || own.closure().map(|closure| (closure.kind, closure.site.line()));
        let before = OWN.replace(&raw const own);
        let (outer, inner) = (Location::caller(), Location::caller());
        named(ClosureKind::Job, outer, || {
            assert_eq!(seen(), Some((ClosureKind::Job, outer.line())));
            named(ClosureKind::Blocking, inner, || {
                assert_eq!(seen(), Some((ClosureKind::Blocking, inner.line())));
            });
            assert_eq!(seen(), Some((ClosureKind::Job, outer.line())));
            let panics = || named(ClosureKind::Compute, inner, || panic!("on purpose"));
            assert!(std::panic::catch_unwind(panics).is_err());
            assert_eq!(seen(), Some((ClosureKind::Job, outer.line())));
        });
        assert_eq!(seen(), None);
        OWN.set(before);
        // Elsewhere it is just a call.
        assert_eq!(named(ClosureKind::Job, outer, || 1), 1);
        assert_eq!(seen(), None);
    }

    /// A site is never seen with the time of another.
    #[test]
    fn what_is_published_belongs_together() {
        let own = entry();
        let sites = [Location::caller(), Location::caller()].map(ptr::from_ref).map(<*const _>::cast_mut);
        let now = coarse_ms();
        std::thread::scope(|threads| {
            let reader = threads.spawn(|| {
                for _ in 0..20_000 {
                    let Some(closure) = own.closure() else { continue };
                    let is_old = closure.since > Duration::from_secs(500);
                    assert_eq!(closure.kind, if is_old { ClosureKind::Install } else { ClosureKind::Job });
                }
            });
            while !reader.is_finished() {
                own.store((sites[0], now));
                own.store((
                    sites[1].map_addr(|a| a | ClosureKind::Install as usize),
                    now.wrapping_sub(1_000_000),
                ));
            }
        });
    }
}
