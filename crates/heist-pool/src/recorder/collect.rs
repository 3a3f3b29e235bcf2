//! The thread that empties the rings for those who want everything, and not only what is there when they look.
//!
//! It runs while there is a [`Sink`], looks ten times a second, and sooner when a ring is half full. A pool that is dropped is read once more
//! before its rings go.

use super::{Everywhere, Reader, everywhere};
use crate::pool::Pool;
use heist_sync::process::PerProcess;
use heist_trace::{Event, Kind, Lost, now_ns};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// The time between two looks.
const EVERY: Duration = Duration::from_millis(100);

/// The pool number of threads that are in no pool.
pub const NO_POOL: u32 = 0;

/// Somebody who wants all events.
pub trait Sink: Send {
    /// What a thread has recorded since the last time.
    fn batch(&mut self, pool: u32, thread: u16, name: Option<&str>, events: &[Event], lost: Lost);

    /// How a pool looks now.
    fn look(&mut self, _pool: &Pool, _at_ns: u64) {}

    /// There is nothing more to come of a pool.
    fn gone(&mut self, _pool: u32) {}

    /// Everything up to `at_ns` was passed on. False if it wants no more.
    fn turn(&mut self, at_ns: u64) -> bool;

    /// There is no more.
    fn end(&mut self, at_ns: u64);
}

type Sinks = Vec<(u64, Box<dyn Sink>)>;

#[derive(Default)]
struct State {
    readers: BTreeMap<u32, Reader>,
    outside: Reader,
    sinks: Sinks,
    /// While there is a sink.
    everywhere: Option<Everywhere>,
    next_sink: u64,
}

struct Collector {
    state: Mutex<Option<State>>,
    thread: OnceLock<Thread>,
}

static COLLECTOR: PerProcess<Collector> = PerProcess::new(Collector::new(), Collector::new);

/// A sink's number.
#[derive(Debug)]
pub struct SinkId(u64);

impl Collector {
    const fn new() -> Self {
        Self { state: Mutex::new(None), thread: OnceLock::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Passes on what every pool has recorded since the last time.
    fn look(&mut self, pools: &[std::sync::Arc<Pool>]) {
        let at_ns = now_ns();
        for pool in pools {
            self.read(pool);
            self.sinks.iter_mut().for_each(|(_, sink)| sink.look(pool, at_ns));
        }
        let sinks = &mut self.sinks;
        self.outside
            .read_outside(&mut |thread, name, events, lost| pass(sinks, NO_POOL, thread, name, events, lost));
        sinks.retain_mut(|(_, sink)| sink.turn(at_ns));
    }

    fn read(&mut self, pool: &Pool) {
        let number = pool.recorder().number();
        let sinks = &mut self.sinks;
        let reader = self.readers.entry(number).or_default();
        reader.read(pool, &mut |thread, name, events, lost| pass(sinks, number, thread, name, events, lost));
    }
}

/// Passes on what a thread has recorded, with a mark where something is missing.
fn pass(sinks: &mut Sinks, pool: u32, thread: u16, name: Option<&str>, events: &[Event], lost: Lost) {
    let arg = u32::try_from(lost.0).unwrap_or(u32::MAX);
    let gap = events.first().filter(|_| arg > 0).map(|&first| Event { kind: Kind::Gap, arg, ..first });
    let marked: Vec<Event>;
    let events = match gap {
        Some(gap) => {
            marked = std::iter::once(gap).chain(events.iter().copied()).collect();
            &marked
        }
        None => events,
    };
    sinks.iter_mut().for_each(|(_, sink)| sink.batch(pool, thread, name, events, lost));
}

/// A ring is half full, or there is a new sink.
#[cold]
pub(super) fn hurry() {
    if let Some(thread) = COLLECTOR.get().thread.get() {
        thread.unpark();
    }
}

/// From here on `sink` gets all that is recorded anywhere.
///
/// # Errors
/// If the thread cannot be started.
pub fn add(sink: Box<dyn Sink>) -> io::Result<SinkId> {
    let collector = COLLECTOR.get();
    let pools = crate::global::all();
    // Before the lock, and dropped after it: the last reference to a pool comes back here by `last_look`.
    let mut wanted = Some(everywhere());
    let mut guard = collector.lock();
    if collector.thread.get().is_none() {
        // With a stack of the usual size: files are written there, and the last reference to a pool may be dropped.
        let thread = heist_sync::start_thread("heist-trace", Box::new(run))?;
        let _ = collector.thread.set(thread.thread().clone());
    }
    let state = guard.get_or_insert_default();
    if state.sinks.is_empty() {
        // What was recorded before, for somebody else, is none of this one's.
        state.readers = pools.iter().map(|pool| (pool.recorder().number(), Reader::from_now(pool))).collect();
        state.outside = Reader::default();
        state.outside.read_outside(&mut |_, _, _, _| ());
        state.everywhere = wanted.take();
    }
    state.next_sink += 1;
    state.sinks.push((state.next_sink, sink));
    let id = SinkId(state.next_sink);
    drop(guard);
    drop(wanted);
    hurry();
    Ok(id)
}

/// Ends a sink, after one more look.
pub fn remove(id: &SinkId) {
    let pools = crate::global::all();
    let mut guard = COLLECTOR.get().lock();
    let Some(state) = guard.as_mut() else { return };
    state.look(&pools);
    let ended: Vec<_> = state.sinks.extract_if(.., |(number, _)| *number == id.0).collect();
    let at_ns = now_ns();
    ended.into_iter().for_each(|(_, mut sink)| sink.end(at_ns));
    let unwanted = state.rest();
    drop(guard);
    drop(unwanted);
}

/// Looks now. Returns when everything that was recorded before has been passed on; false if that takes longer than `patience`.
pub fn look_now(patience: Duration) -> bool {
    with_state(patience, |state, pools| state.look(pools))
}

/// The process ends: all that is left is passed on, and the sinks end.
pub(super) fn end() {
    with_state(Duration::from_secs(1), |state, pools| {
        state.look(pools);
        let at_ns = now_ns();
        state.sinks.iter_mut().for_each(|(_, sink)| sink.end(at_ns));
        state.sinks.clear();
    });
}

fn with_state(patience: Duration, f: impl FnOnce(&mut State, &[std::sync::Arc<Pool>])) -> bool {
    let pools = crate::global::all();
    let begun = Instant::now();
    let mut state = loop {
        // Whoever has the lock may not be there any more, at the end of a process.
        match COLLECTOR.get().state.try_lock() {
            Ok(state) => break state,
            Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
            Err(TryLockError::WouldBlock) if begun.elapsed() > patience => return false,
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    let unwanted = state.as_mut().and_then(|state| {
        f(state, &pools);
        state.rest()
    });
    drop(state);
    drop(unwanted);
    true
}

/// The pool goes: its rings are read once more. Whoever has the lock may be waiting for a file that nobody reads; then the pool goes without.
pub(crate) fn last_look(pool: &Pool) {
    with_state(Duration::from_millis(500), |state, _| {
        if !state.sinks.is_empty() {
            state.read(pool);
        }
        let number = pool.recorder().number();
        state.readers.remove(&number);
        state.sinks.iter_mut().for_each(|(_, sink)| sink.gone(number));
    });
}

impl State {
    /// Without a sink nobody has to record. What is returned is to be dropped after the lock.
    #[must_use]
    fn rest(&mut self) -> Option<Everywhere> {
        if !self.sinks.is_empty() {
            return None;
        }
        self.readers.clear();
        self.everywhere.take()
    }
}

fn run() {
    loop {
        // Dropped after the lock: the last reference to a pool comes back here by `last_look`.
        let pools = crate::global::all();
        let mut guard = COLLECTOR.get().lock();
        let (mut is_idle, mut unwanted) = (true, None);
        if let Some(state) = guard.as_mut() {
            if !state.sinks.is_empty() {
                state.look(&pools);
            }
            unwanted = state.rest();
            is_idle = state.sinks.is_empty();
        }
        drop(guard);
        drop(unwanted);
        drop(pools);
        if is_idle {
            // LIVENESS: whoever adds a sink unparks this thread after it has done so.
            std::thread::park();
        } else {
            std::thread::park_timeout(EVERY);
        }
    }
}
