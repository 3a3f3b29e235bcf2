//! All threads that ever worked for the pool, by number. Entries are added and reused, never removed while the pool lives, so
//! thieves walk them without a lock.

use crate::worker::WorkerShared;
use heist_os::System;
use heist_sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use heist_sync::{Mutex, StdArc as Arc, lock};

/// Bucket `k` holds `FIRST << k` entries.
const FIRST: usize = 32;
const BUCKETS: usize = 11;
/// Thread numbers are below this: they must fit a fork slot's state.
pub const MOST: usize = FIRST * ((1 << BUCKETS) - 1);

const _: () = assert!(MOST < u16::MAX as usize);

type Entry = AtomicPtr<WorkerShared>;

/// See the module.
pub struct Table {
    system: &'static dyn System,
    buckets: [AtomicPtr<Entry>; BUCKETS],
    len: AtomicUsize,
    /// Entries whose thread has left.
    vacant: Mutex<Vec<Arc<WorkerShared>>>,
}

fn bucket_of(n: usize) -> (usize, usize) {
    let k = (n / FIRST + 1).ilog2() as usize;
    (k, n - FIRST * ((1 << k) - 1))
}

impl Table {
    /// An empty one.
    pub fn new(system: &'static dyn System) -> Self {
        Self {
            system,
            buckets: std::array::from_fn(|_| AtomicPtr::new(std::ptr::null_mut())),
            len: AtomicUsize::new(0),
            vacant: Mutex::new(Vec::new()),
        }
    }

    /// One more than the highest number in use.
    #[inline]
    pub fn len(&self) -> usize {
        // ORDERING: acquire, with the release in `add`: entries below are there.
        self.len.load(Ordering::Acquire)
    }

    /// Whether no thread has ever worked for the pool.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The worker with that number.
    #[inline]
    pub fn get(&self, n: usize) -> Option<&WorkerShared> {
        if n >= self.len() {
            return None;
        }
        let (k, at) = bucket_of(n);
        let bucket = self.buckets[k].load(Ordering::Acquire);
        // SAFETY: below `len`, so bucket and entry were written before `len` was (release, acquire) and stay.
        let entry = unsafe { &*bucket.add(at) };
        let worker = entry.load(Ordering::Acquire);
        // SAFETY: as above; the table keeps a reference count for each entry until it is dropped.
        Some(unsafe { &*worker })
    }

    /// All workers.
    pub fn iter(&self) -> impl Iterator<Item = &WorkerShared> {
        (0..self.len()).filter_map(|n| self.get(n))
    }

    /// The index that a thread had last.
    pub(crate) fn home_of(&self, thread: u16) -> u16 {
        self.get(thread.into()).map_or(0, WorkerShared::home)
    }

    /// Asks all but `me` to look for sleepers at their next push. True if that was news to somebody.
    pub(crate) fn arm_others(&self, me: u16) -> bool {
        self.iter().filter(|other| other.id() != me).fold(false, |asked, other| other.stack.arm() | asked)
    }

    /// Opens the queues of owners that are blocked.
    pub(crate) fn force_all(&self) {
        for worker in self.iter() {
            if worker.stack.has_jobs() {
                worker.stack.force();
            }
            if !worker.spawned.is_empty() {
                worker.spawned.force();
            }
        }
    }

    /// An entry for a thread that joins: a vacant one, or a new one. `None` when there are as many as numbers.
    pub fn enrol(&self) -> Option<Arc<WorkerShared>> {
        let mut vacant = lock(&self.vacant);
        if let Some(worker) = vacant.pop() {
            return Some(worker);
        }
        // Under the lock: only one thread adds at a time.
        let n = self.len();
        if n >= MOST {
            return None;
        }
        let worker = Arc::new(WorkerShared::new(n as u16, self.system));
        let (k, at) = bucket_of(n);
        let mut bucket = self.buckets[k].load(Ordering::Relaxed);
        if bucket.is_null() {
            let entries: Box<[Entry]> =
                (0..FIRST << k).map(|_| AtomicPtr::new(std::ptr::null_mut())).collect();
            bucket = Box::into_raw(entries).cast();
            self.buckets[k].store(bucket, Ordering::Release);
        }
        // SAFETY: `at` is inside the bucket by construction of `bucket_of`.
        let entry = unsafe { &*bucket.add(at) };
        entry.store(Arc::into_raw(Arc::clone(&worker)).cast_mut(), Ordering::Release);
        self.len.store(n + 1, Ordering::Release);
        Some(worker)
    }

    /// The thread behind `worker` has left.
    pub fn vacate(&self, worker: Arc<WorkerShared>) {
        lock(&self.vacant).push(worker);
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        let len = self.len();
        for n in 0..len {
            let (k, at) = bucket_of(n);
            let bucket = self.buckets[k].load(Ordering::Relaxed);
            // SAFETY: see `get`; we are alone.
            let worker = unsafe { &*bucket.add(at) }.load(Ordering::Relaxed);
            // SAFETY: the count that `enrol` left here.
            drop(unsafe { Arc::from_raw(worker.cast_const()) });
        }
        for (k, bucket) in self.buckets.iter().enumerate() {
            let bucket = bucket.load(Ordering::Relaxed);
            if !bucket.is_null() {
                let entries = std::ptr::slice_from_raw_parts_mut(bucket, FIRST << k);
                // SAFETY: made by `Box::into_raw` of a slice of that length.
                drop(unsafe { Box::from_raw(entries) });
            }
        }
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_dense() {
        let mut expected = (0, 0);
        for n in 0..MOST {
            assert_eq!(bucket_of(n), expected, "{n}");
            expected.1 += 1;
            if expected.1 == FIRST << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
        assert_eq!(expected, (BUCKETS, 0));
    }

    #[test]
    fn entries_are_reused() {
        let table = Table::new(heist_os::system(Some(false)));
        let all: Vec<_> = (0..100).map(|_| table.enrol().unwrap()).collect();
        assert_eq!(table.len(), 100);
        for (n, w) in all.iter().enumerate() {
            assert_eq!(w.id(), n as u16);
            assert!(std::ptr::eq(table.get(n).unwrap(), &**w));
        }
        table.vacate(all.into_iter().nth(40).unwrap());
        assert_eq!(table.enrol().unwrap().id(), 40);
        assert_eq!(table.len(), 100);
        assert!(table.get(100).is_none());
    }
}
