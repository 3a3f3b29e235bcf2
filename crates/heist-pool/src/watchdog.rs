//! Looks now and then whether a tick runs for too long, or is due and nobody gets to it.
//!
//! There is no thread for it: the thread that waits for ticks looks when it comes by, and the monitor while it watches the pool. What they find
//! is reported on a thread of its own, because the program's handler may block: one for the pool, for as long as there is something.

use crate::pool::Pool;
use crate::queues::ticks::{NEVER, Tick, TickRef};
use heist_policy::tuning;
use heist_sync::atomic::{AtomicU64, Ordering};
use heist_sync::{Mutex, StdArc as Arc, lock};

/// What is to be reported.
#[derive(Default)]
struct Reports(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    ticks: Vec<TickRef>,
    /// A thread reports them.
    is_served: bool,
}

impl Reports {
    /// Adds these. True if the caller should see to it that somebody [`serve`](Self::serve)s them.
    fn add(&self, ticks: Vec<TickRef>) -> bool {
        let mut waiting = lock(&self.0);
        for tick in ticks {
            // What it has to tell is with the tick, so once is enough.
            if !waiting.ticks.iter().any(|other| Arc::ptr_eq(other, &tick)) {
                waiting.ticks.push(tick);
            }
        }
        !std::mem::replace(&mut waiting.is_served, true)
    }

    /// Reports them until there is none.
    fn serve(&self) {
        loop {
            let mut waiting = lock(&self.0);
            waiting.is_served = !waiting.ticks.is_empty();
            if !waiting.is_served {
                return;
            }
            let ticks = std::mem::take(&mut waiting.ticks);
            drop(waiting);
            ticks.into_iter().for_each(Tick::report);
        }
    }

    /// Nobody can: what was seen at this look is not reported.
    fn forget(&self) {
        *lock(&self.0) = Waiting::default();
    }
}

/// When the watchdog looks, and what it has found.
pub struct Watchdog {
    next_ns: AtomicU64,
    /// How often it looks.
    every_ns: AtomicU64,
    reports: Reports,
}

impl Default for Watchdog {
    fn default() -> Self {
        Self { next_ns: AtomicU64::new(NEVER), every_ns: AtomicU64::new(NEVER), reports: Reports::default() }
    }
}

/// How often it looks for ticks with this watchdog: often enough to tell within half of that time more.
fn every_ns(watchdog_ns: u64) -> u64 {
    if watchdog_ns == NEVER { NEVER } else { (watchdog_ns / 2).max(tuning::TICK_WATCH_LEAST_NS) }
}

impl Watchdog {
    /// From here on it looks often enough for this, too.
    pub fn watch(&self, watchdog_ns: u64, now_ns: u64) {
        let every_ns = every_ns(watchdog_ns);
        self.every_ns.fetch_min(every_ns, Ordering::Relaxed);
        self.next_ns.fetch_min(now_ns.saturating_add(every_ns), Ordering::Relaxed);
    }

    /// It looks as often as the strictest of all needs, from `now_ns` on.
    pub fn watch_only(&self, strictest_ns: u64, now_ns: u64) {
        let every_ns = every_ns(strictest_ns);
        self.every_ns.store(every_ns, Ordering::Relaxed);
        self.next_ns.store(now_ns.saturating_add(every_ns), Ordering::Relaxed);
    }

    /// When somebody should look next.
    pub fn next_ns(&self) -> u64 {
        self.next_ns.load(Ordering::Relaxed)
    }

    /// Whether it is time, and the caller is to look.
    pub fn begin(&self, now_ns: u64) -> bool {
        let next_ns = self.next_ns();
        let then_ns = now_ns.saturating_add(self.every_ns.load(Ordering::Relaxed));
        // One of those that come by looks.
        now_ns >= next_ns
            && self.next_ns.compare_exchange(next_ns, then_ns, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// A look at the ticks of `pool`, if it is time.
    pub fn look(&self, pool: &Pool) {
        if !pool.driver().has_ticks() {
            return;
        }
        let ticks = pool.queues().ticks();
        let overdue = ticks.overdue(ticks.now_ns());
        if overdue.is_empty() || !self.reports.add(overdue) {
            return;
        }
        let pool = pool.arc();
        let serve = move || pool.queues().ticks().watchdog().reports.serve();
        if heist_sync::start_thread("heist-report", Box::new(serve)).is_err() {
            self.reports.forget();
        }
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::queues::ticks::{Taken, Ticks};
    use heist_sync::std_atomic::AtomicUsize;
    use std::sync::Weak;

    /// Something to report at every look, with this watchdog.
    struct Late {
        watchdog_ns: u64,
        told: AtomicUsize,
        reports: Arc<Reports>,
    }

    impl Late {
        fn new(watchdog_ns: u64, reports: &Arc<Reports>) -> Arc<Self> {
            Arc::new(Self { watchdog_ns, told: AtomicUsize::new(0), reports: Arc::clone(reports) })
        }
    }

    impl Tick for Late {
        fn run(self: Arc<Self>, _: &Taken<'_>) -> u64 {
            0
        }

        fn close(self: Arc<Self>) {}

        fn watchdog_ns(&self) -> u64 {
            self.watchdog_ns
        }

        fn is_overdue(&self, _: u64) -> bool {
            true
        }

        fn report(self: Arc<Self>) {
            let told = self.told.fetch_add(1, Ordering::Relaxed);
            // While the program's handler runs, there is more to tell.
            if told < 2 {
                let more = Vec::from([0; 3].map(|_| -> TickRef { self.clone() }));
                assert!(!self.reports.add(more), "one thread is enough");
            }
        }
    }

    #[test]
    fn one_thread_reports_everything_once() {
        let reports = Arc::new(Reports::default());
        let late = Late::new(1, &reports);
        assert!(reports.add(vec![late.clone()]));
        assert!(!reports.add(vec![late.clone()]), "somebody is about to");
        reports.serve();
        assert_eq!(late.told.load(Ordering::Relaxed), 3, "at first, and for what came while it was told");
        assert!(reports.add(vec![late.clone()]), "that thread is gone");
        reports.forget();
        assert!(reports.add(Vec::new()), "it could not be had");
    }

    #[test]
    fn it_looks_as_often_as_the_strictest_needs() {
        const MS: u64 = 1_000_000;
        let reports = Arc::new(Reports::default());
        let ticks = Ticks::new(1, Clock::new(None));
        let of = |late: &Arc<Late>| -> Weak<dyn Tick> { Arc::downgrade(&(late.clone() as TickRef)) };
        let (lax, strict) = (Late::new(1000 * MS, &reports), Late::new(10 * MS, &reports));
        ticks.enlist(of(&lax), lax.watchdog_ns).unwrap();
        let id = ticks.enlist(of(&strict), strict.watchdog_ns).unwrap();
        let look = || {
            let at_ns = ticks.watchdog().next_ns();
            (ticks.overdue(at_ns).len(), ticks.watchdog().next_ns() - at_ns)
        };
        assert_eq!(look(), (2, 5 * MS));
        ticks.delist(id);
        assert_eq!(look(), (1, 500 * MS), "less often again");
        assert_eq!(ticks.overdue(0).len(), 0, "it is not time yet");
        assert!(ticks.watch_more(1) <= ticks.now_ns() + tuning::TICK_WATCH_LEAST_NS, "not blind");
        let impatient = Late::new(1, &reports);
        ticks.enlist(of(&impatient), impatient.watchdog_ns).unwrap();
        assert_eq!(look(), (2, tuning::TICK_WATCH_LEAST_NS), "but not for every nanosecond");
        drop((lax, strict, impatient));
        let at_ns = ticks.watchdog().next_ns();
        assert_eq!(
            (ticks.overdue(at_ns).len(), ticks.watchdog().next_ns()),
            (0, NEVER),
            "nothing is left to look at"
        );
    }
}
