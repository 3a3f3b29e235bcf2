//! The one thread of the process that looks at pools from outside (Go's sysmon). It sleeps without a time-out unless a pool has
//! asked to be watched: an idle pool wakes nobody. Who asks does not wake it either, but sets the alarm by which it sleeps: it wakes
//! up once for a request, when it is time to look.
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
use heist_os::{Alarm, WokenFor};
use heist_policy::tuning;
use heist_sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering, fence};
use heist_sync::process::PerProcess;
use heist_sync::{Mutex, lock};
use look::Next;
use std::io;
use std::ptr::NonNull;
use std::sync::{OnceLock, Weak};
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_nanos(tuning::LOOK_EVERY_NS);
const LOOK_EVERY_MOST: Duration = Duration::from_nanos(tuning::LOOK_EVERY_MOST_NS);

struct Monitor {
    requests: Mutex<Requests>,
    /// What it sleeps by.
    alarm: OnceLock<Alarm>,
}

/// What pools have asked for since the last look.
struct Requests {
    is_started: bool,
    asked: Vec<Request>,
    /// When the monitor looks, if nobody has asked.
    planned: Option<Instant>,
    /// When its alarm rings.
    rings: Option<Instant>,
    /// How long after a request, or after a look that asks for another, there is a look.
    period: Duration,
    /// Since when nobody has asked.
    idle_since: Option<Instant>,
}

/// A pool wants to be looked at.
struct Request {
    pool: Weak<Pool>,
    at: Instant,
    /// Unless somebody sits in its driver again before that.
    is_for_driver: bool,
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
    /// The monitor is asked to look after the driver, and nobody has sat there since.
    has_left_driver: AtomicBool,
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
            has_left_driver: AtomicBool::new(false),
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
        self.is_on.raise(|| MONITOR.get().ask(Weak::clone(&self.pool), false));
    }

    /// Nobody sits in the driver, and the calling thread may be busy for long. The monitor looks in a while, unless somebody sits there before:
    /// a poll that is short wakes nobody. The caller has fenced after what makes the difference.
    pub fn watch_driver(&self, now_ns: impl FnOnce() -> u64) {
        if !self.is_planned_by(now_ns) && !self.is_on.is_up() {
            self.has_left_driver.store(true, Ordering::Relaxed);
            MONITOR.get().ask(Weak::clone(&self.pool), true);
        }
    }

    /// The calling thread sits in the driver. If it has missed a request, there is a look too many.
    #[inline]
    pub fn note_in_driver(&self) {
        if self.has_left_driver.load(Ordering::Relaxed) {
            self.withdraw();
        }
    }

    #[cold]
    fn withdraw(&self) {
        MONITOR.get().withdraw(&self.pool);
        self.has_left_driver.store(false, Ordering::Relaxed);
    }

    /// As [`watch`](Self::watch), for what may wait unseen from `at_ns` on. The caller has fenced after what makes the difference.
    pub fn watch_from(&self, at_ns: u64) {
        // ORDERING(MONITOR-E2): as in `is_planned_by`. Who sits in the driver takes the request back, and then looks at the queues (TICK-E1).
        if !self.has_left_driver.load(Ordering::Relaxed) && !self.is_planned_by(|| at_ns) {
            self.watch();
        }
    }

    /// Whether the monitor looks shortly after `at_ns` anyway. The caller has fenced after what makes the difference.
    fn is_planned_by(&self, at_ns: impl FnOnce() -> u64) -> bool {
        // ORDERING(MONITOR-E2): the driver was left, or a tick was queued, before this look; partner: `withdraw_plan`.
        let planned_ns = self.planned_ns.load(Ordering::Relaxed);
        planned_ns != 0 && planned_ns <= at_ns().saturating_add(2 * tuning::LOOK_EVERY_MOST_NS)
    }

    /// The monitor is going to look at `at_ns`.
    fn plan(&self, at_ns: u64) {
        self.planned_ns.store(at_ns.max(1), Ordering::Relaxed);
    }

    /// The monitor looks now: nobody relies on its plan, or on what was asked for, any more.
    fn withdraw_plan(&self) {
        self.planned_ns.store(0, Ordering::Relaxed);
        self.has_left_driver.store(false, Ordering::Relaxed);
        // ORDERING(MONITOR-E2): before the look; partner: `watch_from`. Who has relied on either is seen by the look.
        fence(Ordering::SeqCst);
    }

    /// There will be no look: whoever needs one asks again.
    fn give_up(&self) {
        self.has_left_driver.store(false, Ordering::Relaxed);
        self.is_on.clear();
    }
}

impl Monitor {
    const fn new() -> Self {
        let requests = Requests {
            is_started: false,
            asked: Vec::new(),
            planned: None,
            rings: None,
            period: LOOK_EVERY,
            idle_since: None,
        };
        Self { requests: Mutex::new(requests), alarm: OnceLock::new() }
    }

    /// Wakes nobody: the alarm does, when it is time to look.
    fn ask(&'static self, pool: Weak<Pool>, is_for_driver: bool) {
        let now = Instant::now();
        let mut requests = lock(&self.requests);
        // A busy server stops and begins to wait many times a second: looks do not come more often for that.
        if requests.idle_since.is_some_and(|since| now.duration_since(since) > requests.period) {
            requests.period = LOOK_EVERY;
        }
        if is_for_driver && requests.asked.iter().any(|other| other.is_for_driver && other.pool.ptr_eq(&pool))
        {
            return;
        }
        let at = now + requests.period;
        requests.asked.push(Request { pool, at, is_for_driver });
        self.set_alarm(&mut requests);
        drop(requests);
        self.start();
    }

    /// What was asked for because the driver was left is not needed any more.
    fn withdraw(&self, pool: &Weak<Pool>) {
        let mut requests = lock(&self.requests);
        requests.asked.retain(|request| !(request.is_for_driver && request.pool.ptr_eq(pool)));
        self.set_alarm(&mut requests);
    }

    /// Lets the alarm ring at the earliest of the times at which there is to be a look.
    fn set_alarm(&self, requests: &mut Requests) {
        let next = requests.asked.iter().map(|request| request.at).chain(requests.planned).min();
        if next != requests.rings {
            requests.rings = next;
            // LIVENESS: under the lock, so it is set to the earliest of all that are there.
            self.alarm().set(next.map(|next| next.saturating_duration_since(Instant::now())));
        }
    }

    fn alarm(&self) -> &Alarm {
        self.alarm.get_or_init(Alarm::new)
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
            let asked = std::mem::take(&mut requests.asked);
            drop(requests);
            for pool in asked.iter().filter_map(|request| request.pool.upgrade()) {
                pool.watched().give_up();
            }
        }
    }

    fn run(&self) {
        let mut looks = Vec::<Look>::new();
        loop {
            self.alarm().wait();
            let mut requests = lock(&self.requests);
            (requests.rings, requests.planned) = (None, None);
            let (asked, mut period) = (std::mem::take(&mut requests.asked), requests.period);
            drop(requests);
            for Request { pool, at, .. } in asked {
                match looks.iter_mut().find(|look| look.is_at(&pool)) {
                    Some(look) => look.ask(at),
                    None => looks.push(Look::new(pool, at)),
                }
            }
            let begun = Instant::now();
            let (mut was_asked, mut is_prompt) = (false, false);
            looks.retain_mut(|look| {
                if look.at > begun {
                    return true;
                }
                was_asked |= look.is_asked;
                let next = look.look();
                is_prompt |= matches!(next, Next::Soon);
                look.is_asked = matches!(next, Next::Soon | Next::Later);
                if let Next::At(at) = next {
                    look.at = at;
                }
                !matches!(next, Next::Forget)
            });
            if was_asked {
                period = if is_prompt { LOOK_EVERY } else { (2 * period).min(LOOK_EVERY_MOST) };
            }
            let now = Instant::now();
            looks.iter_mut().filter(|look| look.at <= begun).for_each(|look| look.at = now + period);
            let mut requests = lock(&self.requests);
            requests.period = period;
            requests.idle_since = (!looks.iter().any(|look| look.is_asked)).then_some(now);
            requests.planned = looks.iter().map(|look| look.at).min();
            self.set_alarm(&mut requests);
        }
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;
    use heist_sync::StdArc as Arc;
    use std::sync::LazyLock;

    /// As [`Watched::watch`], with a monitor that is the test's own. True if the monitor is asked.
    fn ask(monitor: &Monitor, pool: &Arc<Pool>) -> bool {
        let mut is_news = false;
        pool.watched().is_on.raise(|| {
            let request = Request { pool: Arc::downgrade(pool), at: Instant::now(), is_for_driver: false };
            lock(&monitor.requests).asked.push(request);
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
            assert!(lock(&monitor.requests).asked.is_empty());
        }
        assert!(ask(&monitor, &first) && ask(&monitor, &second));
        let mut is_started = false;
        monitor.start_by(|| {
            is_started = true;
            Ok(())
        });
        assert!(is_started && lock(&monitor.requests).is_started);
        assert_eq!(lock(&monitor.requests).asked.len(), 2, "both are watched now");
    }

    /// Whoever announces a task reads that a permit is free, and before it has the lock a thread that does not search has taken it: a guest,
    /// or an overtaker at the end of its poll. Nobody may come for the task, so the monitor is asked.
    #[test]
    fn a_permit_that_is_gone_when_a_thread_is_to_be_woken_for_it() {
        let pool = Pool::new(Config { parallelism: 1, ..Config::default() });
        let holder = pool.threads().table().enrol().unwrap().shared;
        assert_eq!(pool.permits().open().acquire(holder.id(), 0), Some(0));
        assert!(!pool.watched().is_on.is_up());
        // The process's monitor looks, finds that nothing is queued, and lets go of the pool, perhaps in between; but not every time.
        let is_asked = (0..1_000).any(|_| {
            pool.permits().wake_one(&pool, None, WokenFor::Task);
            pool.watched().is_on.is_up()
        });
        assert!(is_asked, "nobody is free for it, and nobody looks after it");
    }

    /// A poll that is short ends before the monitor would look, and then it does not. What somebody else has asked for stays.
    #[test]
    fn a_driver_that_is_attended_again_wakes_nobody() {
        static MONITOR: LazyLock<Monitor> = LazyLock::new(Monitor::new);
        let monitor = &*MONITOR;
        // By nobody: the test looks at what it would do.
        lock(&monitor.requests).is_started = true;
        let [first, second] =
            [(); 2].map(|()| Arc::downgrade(&Pool::new(Config { parallelism: 1, ..Config::default() })));
        let rings = || lock(&monitor.requests).rings;
        monitor.ask(Weak::clone(&first), true);
        assert!(rings().is_some(), "it looks in a while");
        monitor.withdraw(&second);
        assert!(rings().is_some(), "the other pool's driver is another matter");
        monitor.withdraw(&first);
        assert_eq!(rings(), None, "it sleeps on");
        monitor.ask(Weak::clone(&first), false);
        let at = rings();
        monitor.ask(Weak::clone(&first), true);
        monitor.ask(Weak::clone(&first), true);
        monitor.withdraw(&first);
        assert_eq!((rings(), lock(&monitor.requests).asked.len()), (at, 1), "a task waits, too");
        assert!(at.is_some());
    }
}
