//! What a pool records of its threads for traces.
//!
//! Each thread records into a ring of its own; any number of [`Reader`]s look at the rings, each at its own pace. A pool records while
//! somebody wants it to: for itself ([`Recorder::attach`]), or for all pools there are and will be ([`everywhere`]).

pub(crate) mod asleep;
#[cfg(feature = "trace-output")]
pub mod collect;
#[cfg(feature = "trace-output")]
mod file;
#[cfg(feature = "trace-output")]
pub mod flight;
mod outside;

use crate::pool::Pool;
use crate::worker::Worker;
use heist_sync::process::PerProcess;
use heist_sync::std_atomic::{AtomicBool, AtomicU32, Ordering};
use heist_sync::{Mutex, lock};
use heist_trace::{Event, Kind, Lost, Position, Ring, Trace};
use std::sync::{Mutex as StdMutex, MutexGuard as StdGuard, PoisonError};

/// Events that a thread's ring keeps.
pub(crate) const RING_EVENTS: usize = 1 << 14;

/// See the module. The events themselves are in the threads' own rings.
pub struct Recorder {
    /// How many want this pool recorded; the highest bit for all those who want every pool.
    wanted: AtomicU32,
    /// The pool's number among those of the process, from 1 on.
    number: u32,
    /// What `start` has begun.
    session: Mutex<Option<Reader>>,
}

const BY_ALL: u32 = 1 << 31;

/// How many want every pool of the process recorded.
static EVERYWHERE: PerProcess<StdMutex<u32>> = PerProcess::new(StdMutex::new(0), || StdMutex::new(0));

/// Whether that is any; changed under the lock.
static IS_EVERYWHERE: PerProcess<AtomicBool> = PerProcess::new(AtomicBool::new(false), AtomicBool::default);

fn lock_everywhere() -> StdGuard<'static, u32> {
    EVERYWHERE.get().lock().unwrap_or_else(PoisonError::into_inner)
}

// Not derived: the checkers' mutexes have no `Default`, and no two pools have one number.
impl Default for Recorder {
    fn default() -> Self {
        static POOLS: AtomicU32 = AtomicU32::new(0);
        Self {
            wanted: AtomicU32::new(0),
            number: POOLS.fetch_add(1, Ordering::Relaxed).wrapping_add(1),
            session: Mutex::new(None),
        }
    }
}

impl Recorder {
    /// Whether the pool's threads record. Never with `--cfg heist_no_trace`, which is there to measure what the question costs.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        !cfg!(heist_no_trace) && self.wanted.load(Ordering::Relaxed) != 0
    }

    /// The pool's number among those of the process, from 1 on.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// From here on every thread of the pool records what it does.
    pub fn attach(&self) {
        // The clock is compared before the first event needs it.
        heist_trace::now_ns();
        self.wanted.fetch_add(1, Ordering::Relaxed);
    }

    /// Undoes one [`attach`](Self::attach).
    pub fn detach(&self) {
        self.wanted.fetch_sub(1, Ordering::Relaxed);
    }

    /// The pool goes: whoever wants everything reads its rings once more.
    pub(crate) fn last_look(&self, pool: &Pool) {
        #[cfg(feature = "trace-output")]
        if self.is_on() {
            collect::last_look(pool);
        }
        let _ = pool;
    }

    /// The pool is in the list of all: it does as they do.
    pub(crate) fn join_all(&self) {
        let wanted = lock_everywhere();
        self.set_by_all(*wanted > 0);
    }

    fn set_by_all(&self, is_on: bool) {
        if is_on {
            self.wanted.fetch_or(BY_ALL, Ordering::Relaxed);
        } else {
            self.wanted.fetch_and(!BY_ALL, Ordering::Relaxed);
        }
    }

    /// Begins a recording, or begins it anew.
    pub fn start(&self, pool: &Pool) {
        let reader = Reader::from_now(pool);
        if lock(&self.session).replace(reader).is_none() {
            self.attach();
        }
    }

    /// Ends the recording and returns what was recorded since `start`; nothing if there was none.
    pub fn stop(&self, pool: &Pool) -> Trace {
        let Some(mut reader) = lock(&self.session).take() else { return Trace::default() };
        self.detach();
        reader.trace(pool)
    }

    /// What was recorded since `start`. The recording goes on.
    pub fn snapshot(&self, pool: &Pool) -> Trace {
        let session = lock(&self.session).clone();
        session.map_or_else(Trace::default, |mut reader| reader.trace(pool))
    }
}

/// Every pool of the process is recorded, and those that are made from here on, until this is dropped.
#[derive(Debug)]
#[must_use = "recording ends when this is dropped"]
pub struct Everywhere(());

/// See [`Everywhere`].
pub fn everywhere() -> Everywhere {
    heist_trace::now_ns();
    change_everywhere(|wanted| *wanted += 1);
    Everywhere(())
}

impl Drop for Everywhere {
    fn drop(&mut self) {
        change_everywhere(|wanted| *wanted = wanted.saturating_sub(1));
    }
}

fn change_everywhere(change: impl FnOnce(&mut u32)) {
    // Not under the lock: the last reference to a pool may be dropped here.
    let pools = {
        let mut wanted = lock_everywhere();
        change(&mut wanted);
        IS_EVERYWHERE.get().store(*wanted > 0, Ordering::Relaxed);
        let pools = crate::global::all();
        pools.iter().for_each(|pool| pool.recorder().set_by_all(*wanted > 0));
        pools
    };
    drop(pools);
}

/// Whether all pools are recorded.
fn is_everywhere() -> bool {
    IS_EVERYWHERE.get().load(Ordering::Relaxed)
}

/// One look at the rings after another. It sees each event once, or counts it as lost.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    /// By thread number, where to go on in its ring.
    from: Vec<Position>,
    outside: outside::Positions,
}

/// What is done with the events of a thread: its number, its name if that is known, what it has recorded, and how many events before that are lost.
pub type Batch<'b> = &'b mut dyn FnMut(u16, Option<&str>, &[Event], Lost);

impl Reader {
    /// One that sees what the threads of `pool`, and those of no pool, record from here on.
    pub fn from_now(pool: &Pool) -> Self {
        let mut reader = Self::default();
        reader.read(pool, &mut |_, _, _, _| ());
        reader.read_outside(&mut |_, _, _, _| ());
        reader
    }

    /// Calls `batch` for each thread of the pool that has recorded something since the last call: its number, its name if it is
    /// still there, what it has recorded, and how many events before that are lost.
    pub fn read(&mut self, pool: &Pool, batch: Batch<'_>) {
        let mut events = Vec::new();
        let mut names = None;
        for worker in pool.threads().table().iter() {
            let Some(ring) = worker.ring.get() else { continue };
            let at = usize::from(worker.id());
            if self.from.len() <= at {
                self.from.resize(at + 1, Position::START);
            }
            events.clear();
            let (next, lost) = ring.since(self.from[at], &mut events);
            self.from[at] = next;
            if !events.is_empty() || lost.0 > 0 {
                let names = names.get_or_insert_with(|| pool.threads().names());
                batch(worker.id(), names.get(at).and_then(|name| name.as_deref()), &events, lost);
            }
        }
    }

    /// As [`read`](Self::read), for the program's own threads.
    pub fn read_outside(&mut self, batch: Batch<'_>) {
        self.outside.read(None, batch);
    }

    /// All that it has not seen yet, as a trace.
    pub fn trace(&mut self, pool: &Pool) -> Trace {
        let mut trace = Some(Trace::builder().until(heist_trace::now_ns()));
        let mut add = |thread, name: Option<&str>, events: &[Event], lost| {
            let name = name.map_or_else(|| format!("thread {thread}"), String::from);
            trace = trace
                .take()
                .map(|trace| trace.thread(thread, name).batch(thread, events.iter().copied(), lost));
        };
        self.read(pool, &mut add);
        self.outside.read(Some(pool.recorder().number()), &mut add);
        trace.unwrap_or_default().resolve().finish()
    }
}

/// Whether somebody has looked into the environment.
static HAS_ASKED: PerProcess<AtomicBool> = PerProcess::new(AtomicBool::new(false), AtomicBool::default);

/// Begins the recording that the environment asks for.
pub(crate) fn start_from_environment() {
    #[cfg(feature = "trace-output")]
    file::start();
    #[cfg(not(feature = "trace-output"))]
    if std::env::var_os("HEIST_TRACE").is_some_and(|value| !value.is_empty()) {
        heist_sync::warn(format_args!(
            "HEIST_TRACE has no effect: the program was built without the feature `trace-output`"
        ));
    }
}

/// Records an event of the calling thread that has to do with `pool`, if that is recorded.
#[inline]
pub fn record(pool: &Pool, kind: Kind, arg: u32, name: impl FnOnce() -> u32) {
    if pool.recorder().is_on() {
        match Worker::current_in(pool) {
            Some(worker) => worker.me().record(kind, arg, name()),
            None => outside::record(pool.recorder().number(), kind, arg, name()),
        }
    }
}

/// Records an event of the program's own, if the calling thread's pool is recorded, or every pool is.
pub fn record_own(kind: Kind, arg: u32, high: u32, name: impl FnOnce() -> u32) {
    let worker = Worker::current();
    if worker.is_none() && !HAS_ASKED.get().load(Ordering::Relaxed) {
        HAS_ASKED.get().store(true, Ordering::Relaxed);
        // The program may say something before its first pool is made.
        start_from_environment();
    }
    let is_on = match worker {
        Some(worker) => worker.pool().recorder().is_on(),
        None => is_everywhere() || crate::global::started().is_some_and(|pool| pool.recorder().is_on()),
    };
    if !is_on {
        return;
    }
    let record = |kind, arg, name| match worker {
        Some(worker) => worker.me().record(kind, arg, name),
        None => outside::record(0, kind, arg, name),
    };
    if high != (arg as i32 >> 31) as u32 {
        record(Kind::High, high, 0);
    }
    record(kind, arg, name());
}

/// Records into `ring`: first the name, if there is one.
#[inline]
pub(crate) fn record_in(ring: &Ring, event: Event, name: u32) {
    if name != 0 {
        record_one(ring, Event { kind: Kind::Name, arg: name, ..event });
    }
    record_one(ring, event);
}

#[inline]
fn record_one(ring: &Ring, event: Event) {
    ring.record(event);
    #[cfg(feature = "trace-output")]
    if ring.is_at_half() {
        collect::hurry();
    }
}

/// A number for what lies at `address`: no two things have the same one at a time, unless they are 64 GiB apart.
pub fn number_of<T: ?Sized>(address: *const T) -> u32 {
    (address.addr() >> 4) as u32
}
