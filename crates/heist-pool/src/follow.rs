//! A pool that follows the limits of its machine: a thread of its own reads them again once a second, for as long as the pool is busy, and lets
//! as many threads run as they allow. While the pool is idle that thread sleeps.

use crate::permits::Count;
use crate::pool::Pool;
use heist_os::limits::{Decision, Limits};
use heist_policy::tuning;
use heist_sync::StdArc as Arc;
use std::io;
use std::sync::{OnceLock, Weak};
use std::thread::Thread;
use std::time::{Duration, Instant};
// Not for the checkers: nothing depends on when limits are read.
use heist_sync::std_atomic::{AtomicBool, Ordering, fence};

/// What the pool knows of that thread.
#[derive(Debug, Default)]
pub(crate) struct Follower {
    thread: OnceLock<Thread>,
    /// It sleeps until the pool is busy.
    is_asleep: Arc<AtomicBool>,
}

impl Follower {
    /// Starts the thread for `pool`.
    pub fn start(&self, pool: &Arc<Pool>) -> io::Result<()> {
        // The environment lowers it for good. Its variable has been read before: it is a number.
        let most = Decision::for_pool(pool.parallelism()).map_or(pool.parallelism(), |most| most.workers);
        let mut limits = Limits::new();
        let allowed = limits.workers(pool.threads().live());
        let (pool, is_asleep) = (Arc::downgrade(pool), Arc::clone(&self.is_asleep));
        let run = Box::new(move || follow(&pool, &is_asleep, limits, allowed, most));
        let handle = heist_sync::start_thread("heist-limits", run)?;
        let _ = self.thread.set(handle.thread().clone());
        Ok(())
    }

    /// A thread works in the pool, and the pool's counters say so.
    pub fn note_busy(&self) {
        let Some(thread) = self.thread.get() else { return };
        // The counters before the look at the flag; `follow` has the partner.
        fence(Ordering::SeqCst);
        if self.is_asleep.load(Ordering::Relaxed) && self.is_asleep.swap(false, Ordering::Relaxed) {
            thread.unpark();
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        // The pool is gone, and it finds that out.
        self.is_asleep.store(false, Ordering::Relaxed);
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}

/// `allowed`: what the limits said when the pool was built. `most`: what they can raise it to.
fn follow(pool: &Weak<Pool>, is_asleep: &AtomicBool, mut limits: Limits, mut allowed: usize, most: usize) {
    loop {
        let next = Instant::now() + Duration::from_nanos(tuning::FOLLOW_EVERY_NS);
        // The end of the pool unparks us; whoever else does does so too early.
        while pool.strong_count() > 0
            && let Some(left) = next.checked_duration_since(Instant::now())
        {
            std::thread::park_timeout(left);
        }
        let Some(pool) = pool.upgrade().filter(|pool| !pool.threads().is_over()) else { return };
        let now = limits.workers(pool.threads().live());
        if now != allowed && pool.permits().follow(&pool, now.clamp(1, most)) {
            allowed = now;
        }
        let is_idle = || pool.permits().count(Count::Free) == pool.permits().in_use();
        is_asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if !is_idle() {
            is_asleep.store(false, Ordering::Relaxed);
        }
        drop(pool);
        while is_asleep.load(Ordering::Relaxed) {
            std::thread::park();
        }
    }
}
