//! What a thread counts of itself.

use super::polls::Polls;
use super::times::Times;
// To be shown: no protocol depends on any of it, so it is not for the checkers.
use crate::queues::task::TaskRef;
use crate::serves::Serves;
use crate::waits::{Waits, WaitsFor};
use heist_sync::std_atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::OnceLock;

/// A number that one thread writes, and others read.
#[derive(Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// For one thread only.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.store(self.get() + n, Ordering::Relaxed);
    }
}

/// See the module. A thread that takes the place of one that has left counts on.
#[derive(Default)]
pub(crate) struct OwnCounts {
    pub polls: Count,
    /// Whoever is timed has this; it is set before the thread's first poll.
    pub timed: OnceLock<Box<Polls>>,
    /// Jobs from queues.
    pub jobs: Count,
    /// Halves of other threads' forks.
    pub forks: Count,
    pub ticks: Count,
    pub steals_tried: Count,
    pub steals: Count,
    /// How often its run queue was full.
    pub overflows: Count,
    /// How often it has woken another thread of the pool.
    pub wakes: Count,
    pub times: Times,
    /// For reports: the address of the task or tick that it runs, what it waits for, and the number of the task whose handle it has polled.
    running: AtomicUsize,
    waits: AtomicU64,
    /// The address of what it waits for.
    awaited: AtomicUsize,
    awaits: AtomicU64,
    pub serves: Serves,
    /// It is the thread that has built the pool, which does what it likes.
    pub is_maker: AtomicBool,
}

impl OwnCounts {
    /// Its thread gives a task its turn.
    #[inline]
    pub fn run_task(&self, task: TaskRef) {
        self.polls.add(1);
        self.set_running(task.as_ptr().addr().get());
        match self.timed.get() {
            None => task.run(),
            Some(polls) => polls.run(task),
        }
    }

    /// Its thread runs the task or the tick at this address; 0 for none.
    #[inline]
    pub fn set_running(&self, address: usize) {
        self.running.store(address, Ordering::Relaxed);
    }

    #[inline]
    pub fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// Its thread waits. Returns what it waited for before, in the middle of which it does.
    pub fn set_waits(&self, waits: Waits) -> Waits {
        let before = Waits::from_bits(self.waits.load(Ordering::Relaxed));
        self.waits.store(waits.bits(), Ordering::Relaxed);
        before
    }

    /// The address of what it waits for, 0 for nothing that has one. Returns that of before.
    pub fn set_awaited(&self, address: usize) -> usize {
        let before = self.awaited.load(Ordering::Relaxed);
        self.awaited.store(address, Ordering::Relaxed);
        before
    }

    pub fn awaited(&self) -> usize {
        self.awaited.load(Ordering::Relaxed)
    }

    pub fn waits(&self) -> WaitsFor {
        Waits::from_bits(self.waits.load(Ordering::Relaxed)).what()
    }

    pub fn set_awaits(&self, task: u64) {
        self.awaits.store(task, Ordering::Relaxed);
    }

    pub fn awaits(&self) -> Option<u64> {
        Some(self.awaits.load(Ordering::Relaxed)).filter(|&task| task != 0)
    }
}
