#![doc = include_str!("README.md")]

mod counters;
mod desk;

#[cfg(all(test, heist_loom))]
mod loom;

pub use counters::Counters;
pub use desk::{Desk, Give, Regain, Wake};

use crossbeam_utils::CachePadded;
use heist_policy as policy;
use heist_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use heist_sync::{Mutex, MutexGuard, lock};

/// The desk, and the words in front of it that running threads read without the lock.
#[derive(Debug)]
pub struct Idle {
    counters: CachePadded<AtomicU64>,
    /// Per index: somebody wants it back.
    recalled: Box<[CachePadded<AtomicBool>]>,
    desk: Mutex<Desk>,
}

/// The open desk. What it says of free indices is published when it is closed.
pub struct Open<'a> {
    idle: &'a Idle,
    desk: MutexGuard<'a, Desk>,
    free_before: usize,
}

impl Idle {
    pub fn new(indices: usize) -> Self {
        Self {
            counters: CachePadded::new(AtomicU64::new(Counters::new(indices).bits())),
            recalled: (0..indices).map(|_| CachePadded::new(AtomicBool::new(false))).collect(),
            desk: Mutex::new(Desk::new(indices)),
        }
    }

    pub fn open(&self) -> Open<'_> {
        let desk = lock(&self.desk);
        Open { idle: self, free_before: desk.free(), desk }
    }

    /// For an announcement of work, and only behind a fence (E8): see the README.
    pub fn counters(&self) -> Counters {
        Counters::from_bits(self.counters.load(Ordering::Relaxed))
    }

    /// Whether somebody wants `index` back.
    #[inline]
    pub fn is_recalled(&self, index: u16) -> bool {
        self.recalled[index as usize].load(Ordering::Relaxed)
    }

    fn change(&self, searching: i32, free: i32) -> Counters {
        // ORDERING: acquire-release, and callers fence where it matters; see E8 and E9 in the README.
        let mut now = self.counters();
        loop {
            let next = now.add(searching, free);
            match self.counters.compare_exchange_weak(
                now.bits(),
                next.bits(),
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return next,
                Err(found) => now = Counters::from_bits(found),
            }
        }
    }

    /// The caller becomes a searcher if there is room for one.
    pub fn try_search(&self, parallelism: usize) -> bool {
        let mut now = self.counters();
        while policy::may_search(now.searching(), parallelism) {
            let next = now.add(1, 0);
            match self.counters.compare_exchange_weak(
                now.bits(),
                next.bits(),
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(found) => now = Counters::from_bits(found),
            }
        }
        false
    }

    /// A searcher has found something, or stops for another reason.
    pub fn end_search(&self) -> Counters {
        self.change(-1, 0)
    }
}

impl Open<'_> {
    /// A thread that is woken to look for work counts as a searcher from here on: a second announcement does not wake a
    /// second thread.
    pub fn count_search(&mut self) {
        self.idle.change(1, 0);
    }

    /// Keeps the flag in front of `index` true to its list.
    pub fn mark(&mut self, index: u16) {
        self.idle.recalled[index as usize].store(self.desk.is_wanted(index), Ordering::Relaxed);
    }
}

impl std::ops::Deref for Open<'_> {
    type Target = Desk;
    fn deref(&self) -> &Desk {
        &self.desk
    }
}

impl std::ops::DerefMut for Open<'_> {
    fn deref_mut(&mut self) -> &mut Desk {
        &mut self.desk
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let free = self.desk.free();
        if free != self.free_before {
            self.idle.change(0, free as i32 - self.free_before as i32);
        }
        #[cfg(debug_assertions)]
        self.desk.check();
    }
}
