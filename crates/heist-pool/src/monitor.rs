//! The one thread of the process that looks at pools from outside. It sleeps without a time-out unless a pool has asked to be
//! watched: an idle pool wakes nobody.
//!
//! **Tasks that wait** (five times a millisecond, while somebody has said that tasks may wait unseen): a task is queued,
//! or sockets and timers are unattended, and every thread that could get to them is still inside of the turn or job in which it
//! was seen the last time. If an index is free, a thread is woken for it. If not, one more thread runs tasks without an index,
//! for as long as it takes: the long turn is not stopped but overtaken. If it computes, it also gives way: `courtesy`. The monitor
//! itself interrupts others only while somebody computes for long (docs/decisions/0008).
//!
//! **The last resort for jobs** (four times a second, while every index is in use): every thread that could run jobs has
//! blocked, unannounced, and jobs are queued. Such jobs hold their workers, as in rayon; but if all of them have been asleep in
//! the kernel for a second, without any CPU time, perhaps they wait for just the jobs that are queued. Then spare threads
//! without an index run those.

use crate::courtesy::Courtesy;
use crate::kernel::{self, Manner, Manners};
use crate::pool::Pool;
use crate::pulse::Pulses;
use heist_policy::{self as policy, MonitorView, Overtake, TasksView, tuning};
use heist_sync::atomic::{AtomicBool, Ordering, fence};
use heist_sync::barrier;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

const LOOK_AT_JOBS_EVERY: Duration = Duration::from_millis(250);
const LOOK_AT_TASKS_EVERY: Duration = Duration::from_nanos(tuning::LOOK_AT_TASKS_EVERY_NS);
const LATE_LOOK: Duration = Duration::from_nanos(tuning::LATE_LOOK_NS);
/// How far a thread's pace gets by a dozen turns.
const SLOW_PACE: u32 = 4 * 12;
/// Looks at a pool with free indices before it is forgotten.
const LOOKS_KEPT: u32 = 4;

struct Monitor {
    news: Mutex<News>,
    more: Condvar,
}

/// What pools have asked for since the last look.
struct News {
    started: bool,
    jobs: Vec<Weak<Pool>>,
    tasks: Vec<Weak<Pool>>,
}

static MONITOR: Monitor = Monitor {
    news: Mutex::new(News { started: false, jobs: Vec::new(), tasks: Vec::new() }),
    more: Condvar::new(),
};

/// Whether a pool is being watched; in front of the monitor's lock.
#[derive(Debug, Default)]
pub struct Watch {
    jobs: AtomicBool,
    tasks: AtomicBool,
}

impl Pool {
    /// If every index is in use, the monitor looks at the jobs for a while.
    pub(crate) fn watch(&self) {
        if self.idle().counters().free() > 0 || self.watch.jobs.load(Ordering::Relaxed) {
            return;
        }
        if !self.watch.jobs.swap(true, Ordering::Relaxed) {
            MONITOR.ask(self, &self.watch.jobs, |news| &mut news.jobs);
        }
    }

    /// Tasks may wait unseen: the monitor looks at them until they do not.
    #[inline]
    pub(crate) fn watch_tasks(&self) {
        // ORDERING(E12): the task before the look at the flag; partner: the monitor, before it sleeps.
        if barrier::is_asymmetric() {
            barrier::light();
        } else {
            fence(Ordering::SeqCst);
        }
        if !self.watch.tasks.load(Ordering::Relaxed) {
            self.watch_tasks_slow();
        }
    }

    #[cold]
    fn watch_tasks_slow(&self) {
        if !self.watch.tasks.swap(true, Ordering::Relaxed) {
            MONITOR.ask(self, &self.watch.tasks, |news| &mut news.tasks);
        }
    }
}

impl Monitor {
    fn lock(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(
        &'static self,
        pool: &Pool,
        flag: &AtomicBool,
        list: impl FnOnce(&mut News) -> &mut Vec<Weak<Pool>>,
    ) {
        let pool = Arc::downgrade(&pool.arc());
        let mut news = self.lock();
        list(&mut news).push(pool);
        let start = !std::mem::replace(&mut news.started, true);
        drop(news);
        if start {
            let thread = std::thread::Builder::new().name("heist-monitor".into()).stack_size(64 << 10);
            if thread.spawn(|| self.run()).is_err() {
                // No thread to be had now; the next one that asks tries again.
                let mut news = self.lock();
                news.started = false;
                list_of(&mut news).for_each(Vec::clear);
                flag.store(false, Ordering::Relaxed);
                return;
            }
        }
        self.more.notify_one();
    }

    fn run(&self) {
        kernel::sleep_exactly();
        let mut manners = Manners::new();
        let (mut jobs, mut tasks) = (Vec::<WatchedJobs>::new(), Vec::<WatchedTasks>::new());
        let mut pulses = Pulses::new();
        let mut jobs_due = Instant::now();
        let mut prompt_looks = 0u32;
        loop {
            let mut news = self.lock();
            // LIVENESS: a pool is added under this lock and then notifies.
            while news.jobs.is_empty() && news.tasks.is_empty() && jobs.is_empty() && tasks.is_empty() {
                news = self.more.wait(news).unwrap_or_else(PoisonError::into_inner);
            }
            if jobs.is_empty() {
                jobs_due = Instant::now() + LOOK_AT_JOBS_EVERY;
            }
            jobs.extend(news.jobs.drain(..).map(WatchedJobs::new));
            let new_tasks = !news.tasks.is_empty();
            tasks.extend(news.tasks.drain(..).map(WatchedTasks::new));
            let mut late = false;
            if !new_tasks && tasks.is_empty() {
                let left = jobs_due.saturating_duration_since(Instant::now());
                // A pool with tasks cuts the wait short.
                let _ = self.more.wait_timeout(news, left).unwrap_or_else(PoisonError::into_inner);
            } else {
                drop(news);
                let before = Instant::now();
                std::thread::sleep(LOOK_AT_TASKS_EVERY);
                prompt_looks = prompt_looks.saturating_sub(1);
                late = before.elapsed() >= LATE_LOOK;
            }
            // Outside of the lock: a look may start threads.
            tasks.retain_mut(|tasks| tasks.look(&mut pulses, &mut manners));
            if late && tasks.iter().any(|tasks| tasks.slow) {
                prompt_looks = tuning::LOOKS_AFTER_LATE;
            }
            let prompt = prompt_looks > 0 || tasks.iter().any(|tasks| tasks.courtesy.is_asked_for());
            let manner = if prompt { Manner::Prompt } else { Manner::Patient };
            manners.set(manner);
            // Before this: it may start a thread, and then there is a long turn.
            pulses.beat();
            if Instant::now() >= jobs_due {
                manners.set(Manner::Ordinary);
                jobs.retain_mut(WatchedJobs::look);
                jobs_due = Instant::now() + LOOK_AT_JOBS_EVERY;
                manners.set(manner);
            }
        }
    }
}

fn list_of(news: &mut News) -> impl Iterator<Item = &mut Vec<Weak<Pool>>> {
    [&mut news.jobs, &mut news.tasks].into_iter()
}

struct WatchedJobs {
    pool: Weak<Pool>,
    /// What the running threads had used at the last look.
    cpu_ns: Vec<(u16, u64)>,
    asleep_looks: u32,
    free_looks: u32,
}

impl WatchedJobs {
    fn new(pool: Weak<Pool>) -> Self {
        Self { pool, cpu_ns: Vec::new(), asleep_looks: 0, free_looks: 0 }
    }

    /// False if the pool need not be watched any more.
    fn look(&mut self) -> bool {
        let Some(pool) = self.pool.upgrade() else { return false };
        if pool.idle().counters().free() > 0 {
            self.asleep_looks = 0;
            self.free_looks += 1;
            if self.free_looks < LOOKS_KEPT {
                return true;
            }
            pool.watch.jobs.store(false, Ordering::Relaxed);
            // It may have become full again before it could see that nobody watches.
            return pool.idle().counters().free() == 0 && !pool.watch.jobs.swap(true, Ordering::Relaxed);
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
            all_holders_asleep_ns: u64::from(self.asleep_looks) * LOOK_AT_JOBS_EVERY.as_nanos() as u64,
            jobs_queued: pool.has_jobs(),
        };
        if policy::last_resort(view) {
            self.asleep_looks = 0;
            pool.rescue();
        }
        true
    }
}

struct WatchedTasks {
    pool: Weak<Pool>,
    /// By thread number, what each did at the last look.
    paces: Vec<u32>,
    quiet_looks: u32,
    /// Whether nobody has got far since the last look.
    slow: bool,
    courtesy: Courtesy,
}

impl WatchedTasks {
    fn new(pool: Weak<Pool>) -> Self {
        Self { pool, paces: Vec::new(), quiet_looks: 0, slow: false, courtesy: Courtesy::default() }
    }

    /// False if the pool need not be watched any more.
    fn look(&mut self, pulses: &mut Pulses, manners: &mut Manners) -> bool {
        let Some(pool) = self.pool.upgrade() else { return false };
        let mut view = TasksView {
            waiting: pool.has_tasks() | pool.attendance().is_neglected(),
            free_indices: pool.idle().counters().free(),
            ..TasksView::default()
        };
        let now = Instant::now();
        let mut holders = 0;
        self.slow = true;
        for (id, worker) in pool.table().iter().enumerate() {
            let pace = worker.pace();
            if id >= self.paces.len() {
                // Seen for the first time: it moves.
                self.paces.push(pace.wrapping_sub(1));
            }
            let in_turn = pace & 1 == 1;
            let stuck = in_turn && self.paces[id] == pace;
            self.slow &= pace.wrapping_sub(self.paces[id]) < SLOW_PACE;
            self.paces[id] = pace;
            self.courtesy.look(now, id, worker, stuck);
            holders += usize::from(worker.holds_index());
            match (worker.holds_index(), stuck) {
                (true, false) => view.moving_holders += 1,
                (false, false) if in_turn => view.moving_overtakers += 1,
                _ => {}
            }
        }
        // Who has been given an index but does not run yet will get there.
        view.moving_holders += pool.parallelism().saturating_sub(view.free_indices + holders);
        self.courtesy.apply(now, pulses);
        pool.set_overtaking(view.moving_holders == 0 && view.free_indices == 0);
        let overtake = policy::overtake(view);
        if overtake != Overtake::No {
            // This may start a thread.
            manners.set(Manner::Ordinary);
        }
        match overtake {
            Overtake::No => {}
            Overtake::Wake => pool.announce_task(),
            Overtake::One => pool.overtake(),
        }
        if view.waiting || pool.attendance().is_unattended() {
            self.quiet_looks = 0;
            return true;
        }
        self.quiet_looks += 1;
        if self.quiet_looks < tuning::QUIET_LOOKS_KEPT {
            return true;
        }
        self.courtesy.end();
        pool.set_overtaking(false);
        pool.watch.tasks.store(false, Ordering::Relaxed);
        // LIVENESS, ORDERING(E12): somebody may have queued a task and seen that we still watch. Our flag before our look;
        // partner: `watch_tasks`. Heavy, so that it costs them nothing; we come here once in a while.
        barrier::heavy();
        (pool.has_tasks() || pool.attendance().is_unattended())
            && !pool.watch.tasks.swap(true, Ordering::Relaxed)
    }
}
