//! The one thread of the process that looks at pools from outside (Go's sysmon). It sleeps without a time-out unless a pool has
//! asked to be watched: an idle pool wakes nobody.
//!
//! A pool asks when something may wait unseen: a task is queued, or sockets and timers are unattended, and the threads that hold a
//! permit are inside of a poll or job that may be long; jobs are queued behind polls; a thread could not be started. What is then
//! done is in [`look`]. Looks that find nothing to do come less and less often, and stop when nothing waits.

mod flag;
mod look;

pub use look::Look;
pub(crate) use look::release;

use crate::metrics::polls::note_ready;
use crate::pool::{Config, Pool};
use crate::profile::totals;
use crate::queues::task::{Header, TaskRef};
use flag::Flag;
use heist_os::WokenFor;
use heist_policy::tuning;
use heist_sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering, fence};
use heist_sync::process::PerProcess;
use heist_sync::{Condvar, Mutex, lock};
use look::Next;
use std::io;
use std::ptr::NonNull;
use std::sync::{PoisonError, Weak};
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_nanos(tuning::LOOK_EVERY_NS);
const LOOK_EVERY_MOST: Duration = Duration::from_nanos(tuning::LOOK_EVERY_MOST_NS);

struct Monitor {
    requests: Mutex<Requests>,
    more: Condvar,
}

/// What pools have asked for since the last look.
struct Requests {
    is_started: bool,
    pools: Vec<Weak<Pool>>,
}

static MONITOR: PerProcess<Monitor> = PerProcess::new(Monitor::new(), Monitor::new);

/// Starts the monitor, if it does not run. When a pool is short of threads because the system refuses them, it is too late for that.
pub(crate) fn start() {
    MONITOR.get().start();
}

/// The pool has run tasks: jobs may wait behind a poll that blocks.
const HAS_TASKS: u8 = 1;
/// Polls are timed, and so is how long tasks wait for them.
const IS_TIMED: u8 = 2;
/// Profiles count how often tasks become ready, and how long they wait.
const IS_PROFILED: u8 = 4;

/// Whether a pool is being watched; in front of the monitor's lock.
#[derive(Debug)]
pub struct Watched {
    pool: Weak<Pool>,
    is_on: Flag,
    /// What its tasks are to the monitor and to histograms: [`HAS_TASKS`], [`IS_TIMED`], [`IS_PROFILED`].
    tasks: AtomicU8,
    /// The program wants spare threads for jobs behind blocked ones.
    rescues: bool,
    has_warned: AtomicBool,
    /// When the monitor looks though nobody has asked, in the pool's time; 0 if it does not.
    planned_ns: AtomicU64,
}

impl Watched {
    pub fn new(config: &Config, pool: Weak<Pool>) -> Self {
        Self {
            pool,
            is_on: Flag::new(),
            tasks: AtomicU8::new(if config.times_polls() { IS_TIMED } else { 0 }),
            rescues: config.rescues(),
            has_warned: AtomicBool::new(false),
            planned_ns: AtomicU64::new(0),
        }
    }

    /// A task is queued.
    #[inline]
    pub fn note_task(&self, task: &TaskRef) {
        let tasks = self.tasks.load(Ordering::Relaxed);
        if tasks != HAS_TASKS {
            // SAFETY: the caller has it.
            unsafe { self.note_task_slow(tasks, task.as_ptr()) };
        }
    }

    /// By value, so that the task of the usual way stays in a register.
    ///
    /// # Safety
    /// As for [`note_ready`].
    #[cold]
    unsafe fn note_task_slow(&self, tasks: u8, task: NonNull<Header>) {
        self.tasks.fetch_or(HAS_TASKS, Ordering::Relaxed);
        if tasks & (IS_TIMED | IS_PROFILED) != 0 {
            // SAFETY: by the caller.
            unsafe { note_ready(task) };
        }
        if tasks & IS_PROFILED != 0 {
            totals::note_ready(task.addr().get());
        }
    }

    /// Whether a profile is taken from here on.
    pub fn set_profiled(&self, is_on: bool) {
        if is_on {
            self.tasks.fetch_or(IS_PROFILED, Ordering::Relaxed);
        } else {
            self.tasks.fetch_and(!IS_PROFILED, Ordering::Relaxed);
        }
    }

    /// Whether polls are timed.
    pub fn times_polls(&self) -> bool {
        self.tasks.load(Ordering::Relaxed) & IS_TIMED != 0
    }

    /// Whether jobs that wait while every permit is in use are the monitor's business.
    fn minds_jobs(&self) -> bool {
        self.rescues || self.tasks.load(Ordering::Relaxed) & HAS_TASKS != 0
    }

    /// As [`watch`](Self::watch), for work of this kind that nobody is free for.
    pub fn watch_for(&self, what: WokenFor) {
        if what == WokenFor::Task || self.minds_jobs() {
            self.watch();
        }
    }

    /// Something may wait unseen: the monitor looks until it does not.
    #[inline]
    pub fn watch(&self) {
        self.is_on.raise(|| MONITOR.get().ask(Weak::clone(&self.pool)));
    }

    /// As [`watch`](Self::watch), for what may wait unseen from `at_ns` on: nobody has to be asked if the monitor looks shortly after that
    /// anyway. The caller has fenced after what makes the difference.
    pub fn watch_from(&self, at_ns: u64) {
        // ORDERING(MONITOR-E2): the driver was left, or a tick was queued, before this look; partner: `withdraw_plan`.
        let planned_ns = self.planned_ns.load(Ordering::Relaxed);
        if planned_ns == 0 || planned_ns > at_ns.saturating_add(2 * tuning::LOOK_EVERY_MOST_NS) {
            self.watch();
        }
    }

    /// The monitor is going to look at `at_ns`.
    fn plan(&self, at_ns: u64) {
        self.planned_ns.store(at_ns.max(1), Ordering::Relaxed);
    }

    /// The monitor looks now: nobody relies on its plan any more.
    fn withdraw_plan(&self) {
        self.planned_ns.store(0, Ordering::Relaxed);
        // ORDERING(MONITOR-E2): before the look; partner: `watch_from`. Who has relied on the plan is seen by the look.
        fence(Ordering::SeqCst);
    }
}

impl Monitor {
    const fn new() -> Self {
        Self { requests: Mutex::new(Requests { is_started: false, pools: Vec::new() }), more: Condvar::new() }
    }

    fn ask(&'static self, pool: Weak<Pool>) {
        lock(&self.requests).pools.push(pool);
        self.start();
        self.more.notify_one();
    }

    /// Starts the thread, if it does not run.
    fn start(&'static self) {
        self.start_by(|| {
            // With a stack of the usual size: the last reference to a pool may be dropped there.
            heist_sync::start_thread("heist-monitor", Box::new(|| self.run())).map(drop)
        });
    }

    /// Starts the thread by `spawn`, if it does not run.
    fn start_by(&self, spawn: impl FnOnce() -> io::Result<()>) {
        if std::mem::replace(&mut lock(&self.requests).is_started, true) {
            return;
        }
        if spawn().is_err() {
            // No thread to be had now; whoever asks next tries again. That goes for every pool that has asked meanwhile and has
            // relied on the thread.
            let mut requests = lock(&self.requests);
            requests.is_started = false;
            let pools = std::mem::take(&mut requests.pools);
            drop(requests);
            for pool in pools.iter().filter_map(Weak::upgrade) {
                pool.watched().is_on.clear();
            }
        }
    }

    fn run(&self) {
        let mut looks = Vec::<Look>::new();
        let mut period = LOOK_EVERY;
        loop {
            let before = Instant::now();
            for pool in self.wait(&looks) {
                match looks.iter_mut().find(|look| look.is_at(&pool)) {
                    Some(look) => look.planned = None,
                    None => looks.push(Look::new(pool)),
                }
            }
            let is_asked = looks.iter().any(|look| look.planned.is_none());
            // A busy server stops and begins to wait many times a second: looks do not come more often for that.
            if before.elapsed() > period {
                period = LOOK_EVERY;
            }
            if is_asked {
                std::thread::sleep(period);
            }
            let now = Instant::now();
            let mut is_prompt = false;
            looks.retain_mut(|look| {
                if look.planned.is_some_and(|at| at > now) {
                    return true;
                }
                let next = look.look();
                is_prompt |= matches!(next, Next::Soon);
                look.planned = if let Next::At(at) = next { Some(at) } else { None };
                !matches!(next, Next::Forget)
            });
            if is_asked {
                period = if is_prompt { LOOK_EVERY } else { (2 * period).min(LOOK_EVERY_MOST) };
            }
        }
    }

    /// Sleeps until it is time to look at one of these, or another pool asks. Returns those that have asked.
    fn wait(&self, looks: &[Look]) -> Vec<Weak<Pool>> {
        let mut requests = lock(&self.requests);
        // LIVENESS: a pool is added under this lock and then notifies.
        while requests.pools.is_empty() && looks.iter().all(|look| look.planned.is_some()) {
            let Some(at) = looks.iter().filter_map(|look| look.planned).min() else {
                requests = self.more.wait(requests).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = at.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            requests = self.more.wait_timeout(requests, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        std::mem::take(&mut requests.pools)
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;
    use heist_sync::StdArc as Arc;

    /// As [`Watched::watch`], with a monitor that is the test's own. True if the monitor is asked.
    fn ask(monitor: &Monitor, pool: &Arc<Pool>) -> bool {
        let mut is_news = false;
        pool.watched().is_on.raise(|| {
            lock(&monitor.requests).pools.push(Arc::downgrade(pool));
            is_news = true;
        });
        is_news
    }

    /// One pool asks, and the thread is refused; another asks in between, sees that the thread is being started, and relies on it. Each
    /// must be able to ask again.
    #[test]
    fn a_monitor_that_is_refused_forgets_nobody() {
        let monitor = Monitor::new();
        let [first, second] = [(); 2].map(|()| Pool::new(Config { parallelism: 1, ..Config::default() }));
        for _ in 0..2 {
            assert!(ask(&monitor, &first), "the first pool asks");
            let mut refused = false;
            monitor.start_by(|| {
                assert!(ask(&monitor, &second), "the second pool asks");
                monitor.start_by(|| unreachable!("the thread is being started"));
                refused = true;
                Err(io::ErrorKind::WouldBlock.into())
            });
            assert!(refused, "the thread is asked for");
            assert!(lock(&monitor.requests).pools.is_empty());
        }
        assert!(ask(&monitor, &first) && ask(&monitor, &second));
        let mut is_started = false;
        monitor.start_by(|| {
            is_started = true;
            Ok(())
        });
        assert!(is_started && lock(&monitor.requests).is_started);
        assert_eq!(lock(&monitor.requests).pools.len(), 2, "both are watched now");
    }
}
