//! The free cells that no thread has at hand, by class.

use super::chunk::{self, Chunk, Spring};
use super::{Batch, Class, SIZES, set_next};
use crate::task::cell::Head;
use heist_sync::process::PerProcess;
use heist_sync::{Mutex, lock, lock_soon};
use std::ptr::{self, NonNull};

struct Depot {
    batches: Vec<Batch>,
    /// The chunk that is being cut.
    fresh: Option<NonNull<Chunk>>,
}

// SAFETY: chunks are shared memory, and `fresh` is cut under the lock.
unsafe impl Send for Depot {}

struct Chunks {
    spring: Spring,
    all: Vec<NonNull<Chunk>>,
}

// SAFETY: chunks are shared memory.
unsafe impl Send for Chunks {}

// A child process cuts its own: the parent's depots may be locked by threads that do not exist.
static DEPOTS: PerProcess<[Mutex<Depot>; SIZES.len()]> =
    PerProcess::new([const { Depot::new() }; SIZES.len()], || [const { Depot::new() }; SIZES.len()]);
static CHUNKS: PerProcess<Mutex<Chunks>> = PerProcess::new(Chunks::new(), Chunks::new);

/// A batch of free cells; not empty.
#[cold]
pub(super) fn fetch(class: Class) -> Batch {
    let mut depot = lock(&DEPOTS.get()[usize::from(class.0)]);
    match depot.batches.pop() {
        Some(batch) => batch,
        None => depot.cut(class),
    }
}

/// Takes a batch back.
#[cold]
pub(super) fn stow(class: Class, batch: Batch) {
    if !batch.first.is_null() {
        lock(&DEPOTS.get()[usize::from(class.0)]).batches.push(batch);
    }
}

impl Chunks {
    const fn new() -> Mutex<Self> {
        Mutex::new(Self { spring: Spring::new(), all: Vec::new() })
    }
}

impl Depot {
    const fn new() -> Mutex<Self> {
        Mutex::new(Self { batches: Vec::new(), fresh: None })
    }

    fn cut(&mut self, class: Class) -> Batch {
        let chunk = *self.fresh.get_or_insert_with(|| new_chunk(class));
        let mut batch = Batch { first: ptr::null_mut(), len: 0 };
        let mut last: Option<NonNull<Head>> = None;
        while batch.len < class.batch() {
            // SAFETY: ours, and we have the lock.
            let Some(cell) = (unsafe { chunk::cut(chunk) }) else {
                self.fresh = None;
                break;
            };
            // In the order of their addresses, which is the order they will be written in.
            match last {
                // SAFETY: nobody else has them.
                Some(last) => unsafe { set_next(last, cell.as_ptr()) },
                None => batch.first = cell.as_ptr(),
            }
            last = Some(cell);
            batch.len += 1;
        }
        match last {
            Some(last) => {
                // SAFETY: as above.
                unsafe { set_next(last, ptr::null_mut()) };
                batch
            }
            // The chunk was used up to the last cell.
            None => self.cut(class),
        }
    }
}

fn new_chunk(class: Class) -> NonNull<Chunk> {
    // Before there is the first task: a report can tell of it.
    crate::stall::enlist();
    let mut chunks = lock(CHUNKS.get());
    let chunk = chunks.spring.chunk(class);
    chunks.all.push(chunk);
    chunk
}

/// Calls `f` with every cell that was ever used.
pub(in crate::task) fn for_each(mut f: impl FnMut(NonNull<Head>)) {
    // A copy, so that `f` may make tasks.
    let all = lock(CHUNKS.get()).all.clone();
    for chunk in all {
        // SAFETY: chunks stay.
        unsafe { chunk::cells(chunk) }.for_each(&mut f);
    }
}

/// As [`for_each`], for one who must not hang. False if they cannot be had now.
pub(in crate::task) fn try_for_each(mut f: impl FnMut(NonNull<Head>)) -> bool {
    let Some(all) = lock_soon(|| CHUNKS.get().try_lock()).map(|chunks| chunks.all.clone()) else {
        return false;
    };
    for chunk in all {
        // SAFETY: chunks stay.
        unsafe { chunk::cells(chunk) }.for_each(&mut f);
    }
    true
}
