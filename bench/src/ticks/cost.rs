//! What ticks that do nothing cost, against tokio's `interval` in a task each.
//!
//! Both runtimes live in this process, but only one has anything to do, so that the CPU time of the process is its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::WORKERS;
use crate::process;
use crate::race::{Plan, Race};
use crate::report::{Judged, Table};
use crate::tasks::runtime::{Runtime, Tokio};
use crate::visit::Visit;

/// They run for so long before the clock is read.
const SETTLE: Duration = Duration::from_millis(1500);

struct Case {
    ticks: u32,
    period: Duration,
    /// Of tokio.
    max: f64,
}

const CASES: [Case; 2] = [
    Case { ticks: 100, period: Duration::from_secs(1), max: 1.2 },
    Case { ticks: 10_000, period: Duration::from_millis(50), max: 1.0 },
];

pub fn tables(plan: &mut Plan) -> Vec<Table> {
    CASES.iter().filter_map(|case| case.table(plan)).collect()
}

impl Case {
    fn table(&self, plan: &mut Plan) -> Option<Table> {
        let Case { ticks, period, max } = self;
        let title = format!("{ticks} ticks every {} ms that do nothing", period.as_millis());
        if !plan.wants_row(&title) {
            return None;
        }
        let window = Duration::from_secs(plan.size(5, 3));
        let mut race = Race::new();
        race.enter("tokio", || Visit { value: (), samples_ns: self.intervals(window) });
        #[cfg(feature = "heist")]
        race.enter("heist", || Visit { value: (), samples_ns: self.ticks(window) });
        let series = race.run(plan.rounds(3, 2), &mut plan.rng);
        let title = format!("CPU time of the process a run, {title}, {WORKERS} workers");
        let mut table = Table::new(super::LINE, title, ("us", super::US), Judged::Median, &series);
        if cfg!(feature = "heist") {
            table.at_most("heist", *max, "tokio");
        }
        Some(table)
    }

    /// CPU time of each run that is counted in `runs` meanwhile.
    fn spent(window: Duration, runs: &AtomicU64) -> Vec<f64> {
        thread::sleep(SETTLE);
        let before = (process::cpu_time(), runs.load(Ordering::Relaxed));
        thread::sleep(window);
        let spent = process::cpu_time() - before.0;
        let runs = runs.load(Ordering::Relaxed) - before.1;
        vec![spent.as_nanos() as f64 / runs as f64]
    }

    fn intervals(&self, window: Duration) -> Vec<f64> {
        let (runs, is_over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let start = Instant::now() + self.period;
        let tasks: Vec<_> = (0..self.ticks)
            .map(|number| {
                let (runs, is_over) = (Arc::clone(&runs), Arc::clone(&is_over));
                let (first, period) = (start + self.period * number / self.ticks, self.period);
                Tokio::spawn_from_outside(async move {
                    let mut interval = tokio::time::interval_at(first.into(), period);
                    while !is_over.load(Ordering::Relaxed) {
                        interval.tick().await;
                        runs.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        let spent = Self::spent(window, &runs);
        is_over.store(true, Ordering::Relaxed);
        Tokio::block_on(async {
            for task in tasks {
                task.await.expect("no interval panics");
            }
        });
        spent
    }

    #[cfg(feature = "heist")]
    fn ticks(&self, window: Duration) -> Vec<f64> {
        use heist::tick::{self, Next};
        let pool = super::pool();
        let runs = Arc::new(AtomicU64::new(0));
        let ticks: Vec<_> = (0..self.ticks)
            .map(|_| {
                let runs = Arc::clone(&runs);
                tick::every(self.period).spawn_on(&pool, move |_| {
                    runs.fetch_add(1, Ordering::Relaxed);
                    Next::Continue
                })
            })
            .collect();
        let spent = Self::spent(window, &runs);
        for tick in &ticks {
            tick.cancel();
        }
        for tick in &ticks {
            tick.cancel_and_wait();
        }
        spent
    }
}
