//! What all ticks of a pool do together.

use super::recorder::Recorder;
use super::shown::Stats;
use crate::cell::schedule::Ledger;
use heist_pool::raw::pool::Pool;
use heist_sync::StdArc as Arc;
// std's lock in every build: no protocol depends on it, and it is held for a few sums only.
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One for each pool that has had a tick. Kept by the pool, and by the ticks, so that a run need not look for it.
#[derive(Debug)]
pub(crate) struct PoolStats(Mutex<Sums>);

#[derive(Debug)]
struct Sums {
    recorder: Recorder,
    ledger: Ledger,
}

/// A run that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub begun_ns: u64,
    pub ended_ns: u64,
    pub lateness_ns: u64,
    /// Periods that it stood for besides its own.
    pub skipped: u64,
    pub has_overrun: bool,
    pub has_panicked: bool,
}

impl Ended {
    pub fn took_ns(&self) -> u64 {
        self.ended_ns.saturating_sub(self.begun_ns)
    }
}

impl PoolStats {
    /// The pool's, made for its first tick.
    pub fn of(pool: &Pool) -> Arc<Self> {
        let ticks = pool.queues().ticks();
        let any = ticks.extension().get_or_init(|| {
            let recorder = Recorder::new(true, ticks.now_ns());
            Box::new(Arc::new(Self(Mutex::new(Sums { recorder, ledger: Ledger::default() }))))
        });
        Arc::clone(any.downcast_ref().expect("nobody else keeps something there"))
    }

    /// How all ticks of the pool are doing.
    pub fn snapshot(pool: &Pool) -> Stats {
        let ticks = pool.queues().ticks();
        let stats: Option<&Arc<Self>> = ticks.extension().get().and_then(|any| any.downcast_ref());
        stats.map_or_else(Stats::default, |stats| {
            let sums = stats.lock();
            sums.recorder.snapshot(sums.ledger, ticks.now_ns())
        })
    }

    fn lock(&self) -> MutexGuard<'_, Sums> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A tick's ledger has changed.
    pub fn record_ledger(&self, before: Ledger, after: Ledger) {
        self.lock().ledger.follow(before, after);
    }

    /// A tick's run has ended, and has changed its ledger twice: when it began, and now.
    pub fn record_run(&self, run: Ended, changes: [(Ledger, Ledger); 2]) {
        let mut sums = self.lock();
        sums.recorder.record_ended(run);
        changes.into_iter().for_each(|(before, after)| sums.ledger.follow(before, after));
    }

    /// A worker has taken a tick from another one.
    pub fn record_steal(&self, at_ns: u64) {
        self.lock().recorder.record_steal(at_ns);
    }

    /// A submitted closure has ended.
    pub fn record_closure(&self, at_ns: u64, ns: u64) {
        self.lock().recorder.record_closure(at_ns, ns);
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_ledgers_follows_each() {
        let (mut sum, mut ledgers) = (Ledger::default(), [Ledger::default(); 2]);
        let steps = [
            (0, Ledger { scheduled: 1, pending: 1, ..Ledger::default() }),
            (1, Ledger { scheduled: 1, pending: 1, ..Ledger::default() }),
            (0, Ledger { scheduled: 4, run: 1, skipped: 2, pending: 1, ..Ledger::default() }),
            (1, Ledger { scheduled: 1, cancelled: 1, ..Ledger::default() }),
        ];
        for (of, after) in steps {
            sum.follow(ledgers[of], after);
            ledgers[of] = after;
            assert!(sum.is_balanced(), "{sum:?}");
        }
        assert_eq!(sum, Ledger { scheduled: 5, run: 1, skipped: 2, cancelled: 1, pending: 1 });
    }

    #[test]
    fn it_takes_no_more_than_a_tick_with_percentiles() {
        let more = size_of::<PoolStats>() - size_of::<Recorder>();
        assert!(more <= 64, "{more} bytes more");
    }
}
