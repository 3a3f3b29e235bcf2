//! Ticks beside a parallel loop that never ends, called by a guest of the pool and from inside of it.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use heist::ThreadPool;
use heist::prelude::*;

use super::crowd::{Crowd, Outcome, Placed};
use super::{MS, WORKERS, at_most, reported, table};
use crate::churn::{churn, steps_for};
use crate::race::{Plan, Series};
use crate::report::{Bar, Row, Sense, Table};
use crate::tasks::figures::{Figures, quantile};

const TICKS: usize = 100;
const PERIOD: Duration = Duration::from_millis(50);
/// Of both workers: what is judged, and what is nearly too much.
const LITTLE: f64 = 0.2;
const MUCH: f64 = 0.7;
/// Of an item of the loop.
const ITEM: Duration = Duration::from_micros(10);
/// The ticks and the loop are there for so long before anything counts.
const SETTLE: Duration = Duration::from_millis(500);

const P95_MAX_MS: f64 = 2.0;
const P99_MAX_MS: f64 = 5.0;
/// What the loop may lose besides the ticks' own time.
const LOSS_MORE: f64 = 0.1;
/// The longest that a tick may be without a run.
const GAP_MAX: Duration = Duration::from_secs(1);

/// Who calls the loop.
#[derive(Clone, Copy)]
enum Caller {
    Guest,
    Inside,
}

impl Caller {
    fn title(self) -> &'static str {
        match self {
            Caller::Guest => "from a guest",
            Caller::Inside => "from inside",
        }
    }

    fn pool(self) -> ThreadPool {
        let pool = heist::ThreadPoolBuilder::new().num_threads(WORKERS);
        pool.guests(matches!(self, Caller::Guest)).build().expect("heist starts its threads")
    }

    /// How many items a loop of that length gets done.
    fn endless(self, pool: &ThreadPool, time: Duration, steps: u64) -> u64 {
        let done = AtomicU64::new(0);
        let end = Instant::now() + time;
        let is_over = |item: u64| {
            black_box(churn(item, steps));
            done.fetch_add(1, Ordering::Relaxed);
            Instant::now() >= end
        };
        // A guest stays on its own thread, anybody else goes to a worker's.
        pool.install(|| (0..u64::MAX).into_par_iter().any(is_over));
        done.into_inner()
    }
}

pub fn tables(plan: &mut Plan) -> Vec<Table> {
    let mut tables = Vec::new();
    for caller in [Caller::Guest, Caller::Inside] {
        for share in [LITTLE, MUCH] {
            let title = format!(
                "{TICKS} ticks every {} ms, {:.0} % of {WORKERS} workers, beside an endless loop {}",
                PERIOD.as_millis(),
                share * 100.0,
                caller.title()
            );
            if plan.wants_row(&title) {
                tables.push(table(title, "ms late; shares as such", rows(plan, caller, share)));
            }
        }
    }
    tables
}

fn rows(plan: &Plan, caller: Caller, share: f64) -> Vec<Row> {
    let window = Duration::from_millis(plan.size(2000, 1000));
    let steps = steps_for(ITEM.as_nanos() as f64);
    let cost = PERIOD.mul_f64(share * WORKERS as f64 / TICKS as f64);
    let crowd = Crowd { period: PERIOD, costs: vec![cost; TICKS], placed: Placed::Spread, steal_after: None };
    let mut losses = Vec::new();
    let mut late = Series { name: "heist".into(), samples_ns: Vec::new() };
    let (mut skipped, mut unbalanced, mut gap) = (0, 0, Duration::ZERO);
    for _ in 0..plan.rounds(5, 5) {
        let pool = caller.pool();
        let alone = caller.endless(&pool, window, steps);
        let running = crowd.spawn(&pool);
        caller.endless(&pool, SETTLE, steps);
        let beside = caller.endless(&pool, window, steps);
        let outcome: Outcome = running.finish(SETTLE);
        losses.push(1.0 - beside as f64 / alone as f64);
        late.samples_ns.extend(outcome.lateness_ns);
        skipped += outcome.skipped;
        unbalanced += outcome.unbalanced;
        gap = gap.max(outcome.gap);
        // The pool's threads sleep before the next round.
        thread::sleep(SETTLE / 10);
    }
    let loss =
        Figures { best: quantile(&losses, 0.0), median: quantile(&losses, 0.5), samples: losses.len() };
    let one = |name: &str, figure: f64, bars| {
        super::row(name, Figures { best: figure, median: figure, samples: losses.len() }, bars)
    };
    let limit =
        |measured, what: &str, limit| vec![Bar { measured, what: what.into(), sense: Sense::AtMost, limit }];
    let is_judged = share == LITTLE;
    let quantiles = match is_judged {
        true => [at_most("p95", &late, 0.95, MS, P95_MAX_MS), at_most("p99", &late, 0.99, MS, P99_MAX_MS)],
        false => [reported("p95", &late, 0.95, MS), reported("p99", &late, 0.99, MS)],
    };
    let loss_bars = match is_judged {
        true => limit(loss.median, "of the loop", crowd.share(WORKERS) + LOSS_MORE),
        false => Vec::new(),
    };
    let gap_ms = gap.as_nanos() as f64 / MS;
    let gap_max_ms = GAP_MAX.as_nanos() as f64 / MS;
    let mut rows = vec![reported("p50", &late, 0.5, MS)];
    rows.extend(quantiles);
    rows.extend([
        reported("max", &late, 1.0, MS),
        one("longest without a run", gap_ms, limit(gap_ms, "ms", gap_max_ms)),
        one("skipped", skipped as f64, Vec::new()),
        one("ledgers that do not add up", unbalanced as f64, limit(unbalanced as f64, "ticks", 0.0)),
        super::row("what the loop loses", loss, loss_bars),
    ]);
    rows
}
