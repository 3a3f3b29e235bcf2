//! A few ticks on an idle pool, against a thread that does nothing but sleep until each of the same times.

use std::time::{Duration, Instant};

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

use super::US;
use crate::machine::stolen_time;
use crate::race::{Plan, Race, Series};
use crate::report::{Bar, Row, Sense, Table};
use crate::tasks::figures::Figures;
use crate::visit::Visit;

const TICKS: u32 = 10;
const PERIOD: Duration = Duration::from_millis(10);
const BARE: &str = "clock_nanosleep";

/// Of the thread's figure.
const MAX: f64 = 1.5;
const MORE_US: f64 = 30.0;

pub fn table(plan: &mut Plan) -> Option<Table> {
    let title = format!("{TICKS} ticks every {} ms on an idle pool", PERIOD.as_millis());
    if !plan.wants_row(&title) {
        return None;
    }
    let window = Duration::from_secs(plan.size(5, 2));
    let (start, stolen) = (Instant::now(), stolen_time());
    let mut race = Race::new();
    race.enter(BARE, || Visit { value: (), samples_ns: bare(window) });
    #[cfg(feature = "heist")]
    race.enter("heist", || Visit { value: (), samples_ns: ticks(window) });
    let series = race.run(plan.rounds(3, 2), &mut plan.rng);
    let stolen = (stolen_time() - stolen).as_nanos() as f64 / US / start.elapsed().as_secs_f64();
    let mut rows: Vec<Row> =
        [("p50", 0.5, true), ("p95", 0.95, true), ("p99", 0.99, false), ("max", 1.0, false)]
            .map(|(name, share, is_judged)| row(name, share, is_judged, &series))
            .into();
    let stolen = Figures { best: stolen, median: stolen, samples: 1 };
    rows.push(super::row("stolen by the host, us a second", stolen, Vec::new()));
    Some(super::table(title, "us late", rows))
}

/// heist's figure, with the thread's in the bar; the thread's where heist is not there.
fn row(name: &str, share: f64, is_judged: bool, series: &[Series]) -> Row {
    let of = |name: &str| series.iter().find(|series| series.name == name);
    let quantile = |series: &Series| Figures::quantile(series, share, US);
    let bare = quantile(of(BARE).expect("the thread always takes part"));
    let heist = of("heist").map(quantile);
    let bar = heist.map(|heist| Bar {
        measured: heist.median,
        what: format!("({BARE} {:.1})", bare.median),
        sense: if is_judged { Sense::AtMost } else { Sense::Reported },
        limit: MAX * bare.median + MORE_US,
    });
    super::row(name, heist.unwrap_or(bare), bar.into_iter().collect())
}

/// One thread that wakes whenever one of the ticks would be due.
fn bare(window: Duration) -> Vec<f64> {
    let gap = PERIOD / TICKS;
    let gap = Timespec { tv_sec: 0, tv_nsec: gap.subsec_nanos().into() };
    let now = || clock_gettime(ClockId::Monotonic);
    let mut due = now();
    let wakes = window.as_nanos() / u128::from(gap.tv_nsec as u64);
    let late = |_| {
        due += gap;
        clock_nanosleep_absolute(ClockId::Monotonic, &due).expect("no signal comes");
        let late = now() - due;
        late.tv_sec as f64 * 1e9 + late.tv_nsec as f64
    };
    (0..wakes).map(late).collect()
}

#[cfg(feature = "heist")]
fn ticks(window: Duration) -> Vec<f64> {
    use super::crowd::{Crowd, Placed};
    let pool = super::pool();
    let costs = vec![Duration::ZERO; TICKS as usize];
    let running = Crowd { period: PERIOD, costs, placed: Placed::Spread, steal_after: None }.spawn(&pool);
    std::thread::sleep(window);
    running.finish(Duration::ZERO).lateness_ns
}
