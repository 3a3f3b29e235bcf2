//! All threads that ever worked for the pool, by number. Entries are added and reused, never removed while the pool lives, so
//! thieves walk them without a lock.

use crate::worker::{Vacant, WorkerShared};
use heist_os::System;
use heist_sync::atomic::{AtomicUsize, Ordering};
use heist_sync::{Mutex, StdArc as Arc, lock};
use std::sync::OnceLock;

/// Bucket `k` holds `FIRST << k` entries.
const FIRST: usize = 32;
const BUCKETS: usize = 11;
/// Thread numbers are below this: they must fit a fork slot's state.
pub const MOST: usize = FIRST * ((1 << BUCKETS) - 1);

const _: () = assert!(MOST < u16::MAX as usize);

type Entry = OnceLock<Arc<WorkerShared>>;

/// See the module.
pub struct Table {
    system: &'static dyn System,
    buckets: [OnceLock<Box<[Entry]>>; BUCKETS],
    len: AtomicUsize,
    /// Entries whose thread has left.
    vacant: Mutex<Vec<Vacant>>,
}

fn bucket_of(n: usize) -> (usize, usize) {
    let k = (n / FIRST + 1).ilog2() as usize;
    (k, n - FIRST * ((1 << k) - 1))
}

impl Table {
    /// An empty one.
    pub fn new(system: &'static dyn System) -> Self {
        Self { system, buckets: Default::default(), len: AtomicUsize::new(0), vacant: Mutex::new(Vec::new()) }
    }

    /// One more than the highest number in use.
    #[inline]
    pub fn len(&self) -> usize {
        // ORDERING: acquire, with the release in `enrol`: entries below are there.
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
        self.buckets[k].get()?[at].get().map(|worker| &**worker)
    }

    /// All workers.
    pub fn iter(&self) -> impl Iterator<Item = &WorkerShared> {
        (0..self.len()).filter_map(|n| self.get(n))
    }

    /// Whether one of its threads runs on a CPU or waits for one, if the system tells.
    pub fn is_runnable(&self, thread: u16) -> Option<bool> {
        let number = self.get(thread.into())?.number()?;
        // Unknown, and asleep, are one answer there; a thread whose clock is known is known otherwise, too.
        Some(self.system.cpu_of_runnable(number).is_some())
    }

    /// The index that one of its threads had last.
    pub fn last_index(&self, thread: u16) -> Option<u16> {
        Some(self.get(thread.into())?.home())
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
    pub fn enrol(&self) -> Option<Vacant> {
        let mut vacant = lock(&self.vacant);
        if let Some(entry) = vacant.pop() {
            return Some(entry);
        }
        // Under the lock: only one thread adds at a time.
        let n = self.len();
        if n >= MOST {
            return None;
        }
        let entry = Vacant::new(n as u16, self.system);
        let (k, at) = bucket_of(n);
        let bucket = self.buckets[k].get_or_init(|| (0..FIRST << k).map(|_| Entry::new()).collect());
        bucket[at].get_or_init(|| Arc::clone(&entry.shared));
        self.len.store(n + 1, Ordering::Release);
        Some(entry)
    }

    /// The thread that had this entry has left.
    pub fn vacate(&self, entry: Vacant) {
        entry.shared.set_number(None);
        lock(&self.vacant).push(entry);
    }
}

#[cfg(all(test, not(heist_model)))]
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
            assert_eq!(w.shared.id(), n as u16);
            assert!(std::ptr::eq(table.get(n).unwrap(), &*w.shared));
        }
        table.vacate(all.into_iter().nth(40).unwrap());
        assert_eq!(table.enrol().unwrap().shared.id(), 40);
        assert_eq!(table.len(), 100);
        assert!(table.get(100).is_none());
    }
}
