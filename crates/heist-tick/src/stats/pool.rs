//! What all ticks of a pool do together.

use super::recorder::{Recorder, Total};
use super::shown::Stats;
use crate::cell::schedule::Ledger;
use heist_pool::raw::pool::Pool;
use heist_sync::StdArc as Arc;
// std's lock in every build: no protocol depends on it, and it is held for a few sums only.
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// One for each pool that has had a tick. Kept by the pool, and by the ticks, so that a run need not look for it.
///
/// Each index has sums of its own, so that threads which run ticks do not wait for each other. A tick's are those of the index that it
/// is with; one that moves leaves its past there, and only all together are balanced.
#[derive(Debug)]
pub(crate) struct PoolStats {
    start_ns: u64,
    indices: Box<[OnIndex]>,
}

/// Made when the index has its first tick.
type OnIndex = OnceLock<Box<Mutex<Sums>>>;

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
            let indices = (0..pool.parallelism()).map(|_| OnIndex::new()).collect();
            Box::new(Arc::new(Self { start_ns: ticks.now_ns(), indices }))
        });
        Arc::clone(any.downcast_ref().expect("nobody else keeps something there"))
    }

    /// How all ticks of the pool are doing.
    pub fn snapshot(pool: &Pool) -> Stats {
        let ticks = pool.queues().ticks();
        let stats: Option<&Arc<Self>> = ticks.extension().get().and_then(|any| any.downcast_ref());
        stats.map_or_else(Stats::default, |stats| stats.sum(ticks.now_ns()))
    }

    /// All indices together, at `now_ns`.
    fn sum(&self, now_ns: u64) -> Stats {
        let mut total = Total::at(now_ns);
        for sums in self.indices.iter().filter_map(OnceLock::get) {
            let sums = lock(sums);
            total.add(&sums.recorder, sums.ledger);
        }
        total.into_stats()
    }

    fn sums(&self, index: u16) -> MutexGuard<'_, Sums> {
        let new = || Sums { recorder: Recorder::new(true, self.start_ns), ledger: Ledger::default() };
        lock(self.indices[usize::from(index)].get_or_init(|| Box::new(Mutex::new(new()))))
    }

    /// The ledger of a tick that is with `index` has changed.
    pub fn record_ledger(&self, index: u16, before: Ledger, after: Ledger) {
        self.sums(index).ledger.follow(before, after);
    }

    /// A tick's run has ended, and has changed its ledger twice: when it began, and now.
    pub fn record_run(&self, index: u16, run: Ended, changes: [(Ledger, Ledger); 2]) {
        let mut sums = self.sums(index);
        sums.recorder.record_ended(run);
        changes.into_iter().for_each(|(before, after)| sums.ledger.follow(before, after));
    }

    /// A worker has taken a tick from `index`.
    pub fn record_steal(&self, index: u16, at_ns: u64) {
        self.sums(index).recorder.record_steal(at_ns);
    }

    /// A closure has ended that was submitted to a tick which is with `index`.
    pub fn record_closure(&self, index: u16, at_ns: u64, ns: u64) {
        self.sums(index).recorder.record_closure(at_ns, ns);
    }
}

fn lock(sums: &Mutex<Sums>) -> MutexGuard<'_, Sums> {
    sums.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;
    use crate::stats::Window;
    use std::time::Duration;

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
    fn an_index_takes_no_more_than_a_tick_with_percentiles() {
        let more = size_of::<Mutex<Sums>>() - size_of::<Recorder>();
        assert!(more <= 64, "{more} bytes more");
    }

    #[test]
    fn several_indices_are_one_pool() {
        const SECOND: u64 = 1_000_000_000;
        let stats = PoolStats { start_ns: SECOND, indices: (0..3).map(|_| OnIndex::new()).collect() };
        let run = |ended_ns, took_ns| Ended {
            begun_ns: ended_ns - took_ns,
            ended_ns,
            lateness_ns: 0,
            skipped: 0,
            has_overrun: false,
            has_panicked: false,
        };
        let ledgers = [
            Ledger::default(),
            Ledger { scheduled: 1, pending: 1, ..Ledger::default() },
            Ledger { scheduled: 2, run: 1, pending: 1, ..Ledger::default() },
            Ledger { scheduled: 2, run: 1, cancelled: 1, ..Ledger::default() },
        ];
        stats.record_ledger(0, ledgers[0], ledgers[1]);
        stats.record_run(0, run(2 * SECOND, 1_000), [(ledgers[1], ledgers[2]), (ledgers[2], ledgers[2])]);
        // It has moved.
        stats.record_ledger(2, ledgers[2], ledgers[3]);
        stats.record_run(2, run(11 * SECOND, 9_000), [(ledgers[0], ledgers[0]); 2]);
        let seen = stats.sum(11 * SECOND);
        assert_eq!(seen.ledger, ledgers[3]);
        assert_eq!(seen.totals.runs, 2);
        let (short, long) = (seen.window(Window::Secs5), seen.window(Window::Min1));
        assert_eq!((short.runs, long.runs), (1, 2));
        assert_eq!(long.covered, Duration::from_secs(10));
        assert_eq!((long.mspt.mean.as_nanos(), long.mspt.max.as_nanos()), (5_000, 9_000));
        assert!(long.mspt.median.is_some());
    }
}
