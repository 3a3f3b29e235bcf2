//! The last resort: every thread that could run jobs has blocked, unannounced, and jobs are queued.
//!
//! Such jobs hold their workers, as in rayon; but if all of them have been asleep in the kernel for a second, without any CPU time,
//! perhaps they wait for just the jobs that are queued. Then spare threads without an index run those.
//!
//! One thread of the process looks at all pools, four times a second, and only at those where every index is in use: while an
//! index is free, queued jobs find a thread by themselves. When no pool is like that for a second it sleeps without a
//! time-out, and is woken by the next pool that comes to use all its indices. An idle pool wakes nobody.

use crate::kernel;
use crate::pool::Pool;
use heist_policy::{MonitorView, last_resort};
use heist_sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Duration;

const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Looks at a pool with free indices before it is forgotten.
const LOOKS_KEPT: u32 = 4;

struct Monitor {
    watched: Mutex<Vec<Watched>>,
    more: Condvar,
    started: AtomicBool,
}

static MONITOR: Monitor =
    Monitor { watched: Mutex::new(Vec::new()), more: Condvar::new(), started: AtomicBool::new(false) };

struct Watched {
    pool: Weak<Pool>,
    /// What the running threads had used at the last look.
    cpu_ns: Vec<(u16, u64)>,
    asleep_looks: u32,
    free_looks: u32,
}

/// Whether a pool is being watched; in front of the monitor's lock.
#[derive(Debug, Default)]
pub struct Watch(AtomicBool);

impl Pool {
    /// If every index is in use, the monitor looks at the pool for a while.
    pub(crate) fn watch(&self) {
        if self.idle().counters().free() > 0 || self.watch.0.load(Ordering::Relaxed) {
            return;
        }
        self.watch_slow();
    }

    #[cold]
    fn watch_slow(&self) {
        if self.watch.0.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut watched = MONITOR.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let pool = Arc::downgrade(&self.arc());
        watched.push(Watched { pool, cpu_ns: Vec::new(), asleep_looks: 0, free_looks: 0 });
        drop(watched);
        if !MONITOR.started.swap(true, Ordering::Relaxed) {
            let thread = std::thread::Builder::new().name("heist-monitor".into()).stack_size(64 << 10);
            if thread.spawn(|| MONITOR.run()).is_err() {
                // No thread to be had now; the next pool tries again.
                MONITOR.started.store(false, Ordering::Relaxed);
                self.watch.0.store(false, Ordering::Relaxed);
            }
        }
        MONITOR.more.notify_one();
    }
}

impl Monitor {
    fn run(&self) {
        loop {
            let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
            // LIVENESS: a pool is added under this lock and then notifies.
            while watched.is_empty() {
                watched = self.more.wait(watched).unwrap_or_else(PoisonError::into_inner);
            }
            drop(watched);
            std::thread::sleep(LOOK_EVERY);
            // Looked at outside of the lock: a rescue starts threads.
            let mut pools = std::mem::take(&mut *self.watched.lock().unwrap_or_else(PoisonError::into_inner));
            pools.retain_mut(Watched::look);
            self.watched.lock().unwrap_or_else(PoisonError::into_inner).append(&mut pools);
        }
    }
}

impl Watched {
    /// False if the pool need not be watched any more.
    fn look(&mut self) -> bool {
        let Some(pool) = self.pool.upgrade() else { return false };
        if pool.idle().counters().free() > 0 {
            self.asleep_looks = 0;
            self.free_looks += 1;
            if self.free_looks < LOOKS_KEPT {
                return true;
            }
            pool.watch.0.store(false, Ordering::Relaxed);
            // It may have become full again before it could see that nobody watches.
            return pool.idle().counters().free() == 0 && !pool.watch.0.swap(true, Ordering::Relaxed);
        }
        self.free_looks = 0;
        let now: Vec<(u16, u64)> =
            pool.running_threads().into_iter().map(|(id, tid)| (id, kernel::cpu_ns(tid))).collect();
        let asleep = pool.running_threads().iter().all(|&(_, tid)| kernel::is_asleep(tid));
        if asleep && now == self.cpu_ns {
            self.asleep_looks += 1;
        } else {
            self.asleep_looks = 0;
        }
        self.cpu_ns = now;
        let view = MonitorView {
            all_holders_asleep_ns: u64::from(self.asleep_looks) * LOOK_EVERY.as_nanos() as u64,
            jobs_queued: pool.has_work_for_anyone(),
        };
        if last_resort(view) {
            self.asleep_looks = 0;
            pool.rescue();
        }
        true
    }
}
