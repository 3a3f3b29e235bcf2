//! A crowd of ticks whose runs take a known time, and what became of them.

use std::hint::black_box;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use heist::ThreadPool;
use heist::tick::{self, Builder, Handle, Next};

use crate::churn::{churn, steps_for};

/// Until the first run of a crowd is due: by then all of them are spawned.
const LEAD: Duration = Duration::from_millis(100);

/// Where the ticks of a crowd begin.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    /// Each where there is least to do.
    Spread,
    /// All of them with the first of two workers.
    First,
}

/// What is to be spawned.
pub struct Crowd {
    pub period: Duration,
    /// How long a run of each takes.
    pub costs: Vec<Duration>,
    pub placed: Placed,
    /// Late ones are taken over by another worker only then; the pool's own figure if there is none.
    pub steal_after: Option<Duration>,
}

struct Run {
    tick: usize,
    scheduled: Instant,
    lateness: Duration,
}

/// A crowd that runs.
pub struct Running {
    handles: Vec<Handle>,
    runs: Receiver<Run>,
    start: Instant,
}

/// What became of it.
pub struct Outcome {
    /// Start past schedule.
    pub lateness_ns: Vec<f64>,
    pub skipped: u64,
    /// Ticks with runs that were neither executed nor skipped nor cancelled.
    pub unbalanced: usize,
    /// The longest that a tick was without a run.
    pub gap: Duration,
}

impl Crowd {
    /// The share of `workers` workers that they need.
    pub fn share(&self, workers: usize) -> f64 {
        let cost: Duration = self.costs.iter().sum();
        cost.as_secs_f64() / self.period.as_secs_f64() / workers as f64
    }

    /// Spawns them all; their first runs are spread over a period.
    pub fn spawn(&self, pool: &ThreadPool) -> Running {
        let (send, runs) = channel();
        let steps_per_ns = steps_for(1e6) as f64 / 1e6;
        let start = Instant::now() + LEAD;
        let mut decoys = Vec::new();
        let handles = self.costs.iter().enumerate().map(|(number, cost)| {
            let steps = (cost.as_nanos() as f64 * steps_per_ns) as u64;
            let first = start + self.period * number as u32 / self.costs.len() as u32;
            let send = send.clone();
            let handle = self.builder(first).spawn_on(pool, move |cx| {
                let run = Run { tick: number, scheduled: cx.scheduled(), lateness: cx.lateness() };
                send.send(run).expect("the crowd is waited for");
                black_box(churn(number as u64, steps));
                Next::Continue
            });
            if self.placed == Placed::First {
                // New ticks go where there are fewest as long as none has run, so every other one goes to the second worker.
                decoys.push(self.builder(first + self.period).spawn_on(pool, |_| Next::Continue));
            }
            handle
        });
        let handles = handles.collect();
        for decoy in &decoys {
            decoy.cancel_and_wait();
        }
        assert!(Instant::now() < start, "the crowd is spawned before its first run");
        Running { handles, runs, start }
    }

    fn builder(&self, first: Instant) -> Builder {
        let builder = tick::every(self.period).start_at(first);
        match self.steal_after {
            Some(lateness) => builder.steal_after(lateness),
            None => builder,
        }
    }
}

impl Running {
    /// Ends them, and tells of the runs that were due from `settled` after the first one on.
    pub fn finish(self, settled: Duration) -> Outcome {
        let end = Instant::now();
        for tick in &self.handles {
            tick.cancel();
        }
        for tick in &self.handles {
            tick.cancel_and_wait();
        }
        let from = self.start + settled;
        let mut lateness_ns = Vec::new();
        let mut last = vec![from; self.handles.len()];
        let mut gap = Duration::ZERO;
        for run in self.runs.try_iter().filter(|run| run.scheduled >= from) {
            lateness_ns.push(run.lateness.as_nanos() as f64);
            let began = run.scheduled + run.lateness;
            gap = gap.max(began.saturating_duration_since(last[run.tick]));
            last[run.tick] = began;
        }
        let longest = last.iter().map(|&last| end.saturating_duration_since(last)).max();
        let ledgers: Vec<_> = self.handles.iter().map(|tick| tick.stats().ledger).collect();
        Outcome {
            lateness_ns,
            skipped: ledgers.iter().map(|ledger| ledger.skipped).sum(),
            unbalanced: ledgers.iter().filter(|ledger| !ledger.is_balanced()).count(),
            gap: gap.max(longest.unwrap_or_default()),
        }
    }
}
