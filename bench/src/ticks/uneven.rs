//! Game regions: many ticks, a tenth of which hold half of the load. Spread over both workers, and with more than one worker can do all on one.

use std::thread;
use std::time::Duration;

use super::crowd::{Crowd, Outcome, Placed};
use super::{MS, WORKERS, at_most, pool, reported, table};
use crate::race::{Plan, Race, Series};
use crate::report::{Bar, Sense, Table};
use crate::tasks::figures::Figures;
use crate::visit::Visit;

const PERIOD: Duration = Duration::from_millis(50);
const HEAVY: u32 = 20;
const LIGHT: u32 = 180;
/// Of these only so many are with the heavy ones if all are on one worker, which makes 101 % of it.
const LIGHT_ON_ONE: u32 = 80;
/// Of both workers.
const SHARE: f64 = 0.7;

const P95_MAX_MS: f64 = 3.0;
const P99_MAX_MS: f64 = 6.0;
/// p99 with stealing in terms of p99 without.
const STEALING_MAX: f64 = 0.2;

/// Nobody steals so late.
const NEVER: Duration = Duration::from_secs(3600);
/// The first runs, in which nobody knows yet how long a run takes.
const SETTLE: Duration = Duration::from_secs(2);

/// What a run of each takes, so that the heavy ones hold half of the load.
fn costs() -> [Duration; 2] {
    let half = PERIOD.mul_f64(SHARE * WORKERS as f64 / 2.0);
    [half / HEAVY, half / LIGHT]
}

pub fn spread(plan: &mut Plan) -> Option<Table> {
    let title = format!(
        "{} ticks every {} ms, {:.0} % of {WORKERS} workers, {HEAVY} of them hold half of it",
        HEAVY + LIGHT,
        PERIOD.as_millis(),
        SHARE * 100.0
    );
    if !plan.wants_row(&title) {
        return None;
    }
    let [heavy, light] = costs();
    // New ticks go to both workers in turn; so do the heavy ones.
    let every = (HEAVY + LIGHT) / HEAVY;
    let is_heavy = |number: u32| number % every == number / every % WORKERS as u32;
    let costs = (0..HEAVY + LIGHT).map(|number| if is_heavy(number) { heavy } else { light }).collect();
    let crowd = Crowd { period: PERIOD, costs, placed: Placed::Spread, steal_after: None };
    let outcome = run(&crowd, Duration::from_secs(plan.size(8, 3)));
    let series = Series { name: "heist".into(), samples_ns: outcome.lateness_ns };
    let skipped = Figures { best: outcome.skipped as f64, median: outcome.skipped as f64, samples: 1 };
    let rows = vec![
        reported("p50", &series, 0.5, MS),
        at_most("p95", &series, 0.95, MS, P95_MAX_MS),
        at_most("p99", &series, 0.99, MS, P99_MAX_MS),
        reported("max", &series, 1.0, MS),
        super::row(
            "skipped",
            skipped,
            vec![Bar { measured: skipped.best, what: "runs".into(), sense: Sense::AtMost, limit: 0.0 }],
        ),
    ];
    Some(table(title, "ms late", rows))
}

pub fn on_one(plan: &mut Plan) -> Option<Table> {
    let title = format!(
        "{HEAVY} heavy and {LIGHT_ON_ONE} light ticks every {} ms, all on one of {WORKERS} workers",
        PERIOD.as_millis()
    );
    if !plan.wants_row(&title) {
        return None;
    }
    let [heavy, light] = costs();
    let every = (HEAVY + LIGHT_ON_ONE) / HEAVY;
    let window = Duration::from_secs(plan.size(8, 4));
    let visit = |steal_after| {
        let costs = (0..HEAVY + LIGHT_ON_ONE).map(|number| if number % every == 0 { heavy } else { light });
        let crowd = Crowd { period: PERIOD, costs: costs.collect(), placed: Placed::First, steal_after };
        Visit { value: (), samples_ns: run(&crowd, window).lateness_ns }
    };
    let mut race = Race::new();
    race.enter("stealing off", || visit(Some(NEVER)));
    race.enter("stealing on", || visit(None));
    let series = race.run(plan.rounds(2, 1), &mut plan.rng);
    let mut rows = Vec::new();
    for series in &series {
        for (name, share) in [("p50", 0.5), ("p99", 0.99), ("max", 1.0)] {
            rows.push(reported(&format!("{}, {name}", series.name), series, share, MS));
        }
    }
    let mut table = table(title, "ms late", rows);
    table.at_most("stealing on, p99", STEALING_MAX, "stealing off, p99");
    Some(table)
}

fn run(crowd: &Crowd, window: Duration) -> Outcome {
    let pool = pool();
    let running = crowd.spawn(&pool);
    thread::sleep(SETTLE + window);
    running.finish(SETTLE)
}
