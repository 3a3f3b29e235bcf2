//! What a pool records of its threads for a trace.

use crate::threads::Table;
use heist_sync::atomic::{AtomicBool, Ordering};
use heist_sync::{Mutex, lock};
use heist_trace::{Position, Ring, Trace};

/// See the module. The events themselves are in the threads' own rings.
pub struct Recorder {
    is_on: AtomicBool,
    /// Per thread, what its ring held when the trace began.
    from: Mutex<Vec<Position>>,
}

// Not derived: the checkers' mutexes have no `Default`.
impl Default for Recorder {
    fn default() -> Self {
        Self { is_on: AtomicBool::new(false), from: Mutex::new(Vec::new()) }
    }
}

impl Recorder {
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// From here on every thread records what it does.
    pub fn start(&self, table: &Table) {
        let mut from = lock(&self.from);
        let skip = |ring: &Ring| ring.since(Position::default(), &mut Vec::new()).0;
        *from = table.iter().map(|w| w.ring.get().map(skip).unwrap_or_default()).collect();
        drop(from);
        self.is_on.store(true, Ordering::Relaxed);
    }

    /// Stops recording and returns what was recorded since `start`.
    pub fn stop(&self, table: &Table) -> Trace {
        self.is_on.store(false, Ordering::Relaxed);
        let from = lock(&self.from);
        let mut trace = Trace::builder().until(heist_trace::now_ns());
        for worker in table.iter() {
            let Some(ring) = worker.ring.get() else { continue };
            let mut events = Vec::new();
            let since = from.get(usize::from(worker.id())).copied().unwrap_or_default();
            let (_, lost) = ring.since(since, &mut events);
            let name = format!("heist thread {}", worker.id());
            trace = trace.thread(worker.id(), name).batch(worker.id(), events, lost);
        }
        trace.finish()
    }
}
