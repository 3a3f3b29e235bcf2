//! The rings of threads that are in no pool: the program's own, which spawn and wake, and have spans.

use super::record_in;
use heist_sync::StdArc as Arc;
use heist_sync::process::{Origin, PerProcess};
use heist_trace::{Event, Kind, Position, Ring};
use std::cell::OnceCell;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Such threads record little, and there may be many.
const RING_EVENTS: usize = 1 << 11;

/// So many have a ring at once; the others record nothing.
const MOST: usize = 1 << 8;

struct Place {
    /// Down from the highest thread number, so that no thread of a pool has it.
    number: u16,
    name: Mutex<String>,
    ring: Ring,
}

#[derive(Default)]
struct Places {
    all: Vec<Arc<Place>>,
    /// Those whose thread has ended.
    vacant: Vec<Arc<Place>>,
}

// std's lock in every build: no protocol depends on it.
static PLACES: PerProcess<Mutex<Places>> =
    PerProcess::new(Mutex::new(Places { all: Vec::new(), vacant: Vec::new() }), Mutex::default);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thread's place, while the thread is there; `None` if there are too many.
struct Own(Option<Arc<Place>>, Origin);

impl Own {
    fn new() -> Self {
        let thread = std::thread::current();
        let name = thread.name().map_or_else(|| format!("{:?}", thread.id()), String::from);
        let mut places = lock(PLACES.get());
        let place = places.vacant.pop().or_else(|| {
            let number =
                u16::MAX - u16::try_from(places.all.len()).ok().filter(|&n| usize::from(n) < MOST)?;
            let place = Arc::new(Place { number, name: Mutex::default(), ring: Ring::new(RING_EVENTS) });
            places.all.push(Arc::clone(&place));
            Some(place)
        });
        if let Some(place) = &place {
            *lock(&place.name) = name;
        }
        Self(place, Origin::here())
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if let Some(place) = self.0.take().filter(|_| !self.1.is_foreign()) {
            lock(PLACES.get()).vacant.push(place);
        }
    }
}

thread_local! {
    static OWN: OnceCell<Own> = const { OnceCell::new() };
}

/// Records an event of the calling thread, unless it is ending. The pool that it has to do with, or 0 for none, stands where a pool's own
/// thread has its index.
#[cold]
pub(super) fn record(pool: u32, kind: Kind, arg: u32, name: u32) {
    let _ = OWN.try_with(|own| {
        let Own(place, origin) = own.get_or_init(Own::new);
        if let Some(place) = place.as_ref().filter(|_| !origin.is_foreign()) {
            record_in(&place.ring, Event::now(kind, place.number, Some(pool as u16), arg), name);
        }
    });
}

/// Where a reader goes on in each ring.
#[derive(Clone, Debug, Default)]
pub(super) struct Positions(Vec<Position>);

impl Positions {
    /// See [`Reader::read_outside`](super::Reader::read_outside). `of`: the pool whose events are wanted; all of them without.
    pub fn read(&mut self, of: Option<u32>, batch: super::Batch<'_>) {
        let places = lock(PLACES.get()).all.clone();
        self.0.resize(places.len().max(self.0.len()), Position::START);
        let mut events = Vec::new();
        for (from, place) in self.0.iter_mut().zip(&places) {
            events.clear();
            let (next, lost) = place.ring.since(*from, &mut events);
            *from = next;
            if let Some(of) = of {
                events.retain_mut(|event| {
                    let pool = event.worker.take().unwrap_or(0);
                    pool == 0 || of as u16 == pool
                });
            }
            if !events.is_empty() || lost.0 > 0 {
                let name = lock(&place.name).clone();
                batch(place.number, Some(&name), &events, lost);
            }
        }
    }
}
