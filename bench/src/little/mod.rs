//! What hardly any load costs: a runtime that wakes more threads than it needs, or lets them search for long, shows here.
//!
//! Both runtimes live in this process, but only one has anything to do, and the other costs nothing; so the CPU time of
//! the process is that of the one at work, and of the thread that feeds it.

use std::thread;
use std::time::{Duration, Instant};

use crate::peers::{Backend, rayon::Rayon};
use crate::process;
use crate::race::{Plan, Race, Series};
use crate::report::{Judged, Table};
#[cfg(feature = "heist")]
use crate::tasks::runtime::Heist;
use crate::tasks::runtime::{Runtime, Tokio, WORKERS};
use crate::visit::Visit;

const SLEEP: Duration = Duration::from_millis(50);
/// Between two tasks or jobs: 200 a second.
const GAP: Duration = Duration::from_millis(5);
/// The load is on for so long before the clock is read: the predecessor's threads fall asleep meanwhile.
const SETTLE: Duration = Duration::from_millis(500);
const MS: f64 = 1e6;

/// Of the peer.
const MAX: f64 = 1.2;

/// The feeding thread without anybody to feed: what is in the figures of all others, too.
const NOBODY: &str = "nobody";

pub fn line(plan: &mut Plan) -> Vec<Table> {
    let window = Duration::from_secs(plan.size(5, 2));
    let mut tables = Vec::new();
    let title = format!("one task that sleeps for {} ms at a time", SLEEP.as_millis());
    if plan.wants_row(&title) {
        let mut race = Race::new();
        race.enter("tokio", turn(window, || sleeper::<Tokio>(window)));
        #[cfg(feature = "heist")]
        race.enter("heist", turn(window, || sleeper::<Heist>(window)));
        tables.push(table(plan, race, &title, "tokio"));
    }
    let a_second = Duration::from_secs(1).as_millis() / GAP.as_millis();
    let title = format!("{a_second} tasks a second from outside");
    if plan.wants_row(&title) {
        let mut race = Race::new();
        race.enter(NOBODY, turn(window, || fed(window, || {})));
        race.enter("tokio", turn(window, || fed(window, || drop(Tokio::spawn_from_outside(async {})))));
        #[cfg(feature = "heist")]
        race.enter("heist", turn(window, || fed(window, || drop(Heist::spawn_from_outside(async {})))));
        tables.push(table(plan, race, &title, "tokio"));
    }
    let title = format!("{a_second} jobs a second from outside");
    if plan.wants_row(&title) {
        let rayon = Rayon::pool(WORKERS);
        let mut race = Race::new();
        race.enter(NOBODY, turn(window, || fed(window, || {})));
        race.enter("rayon", turn(window, || fed(window, || rayon.spawn(|| {}))));
        #[cfg(feature = "heist")]
        {
            Heist::ready();
            race.enter("heist", turn(window, || fed(window, || heist::spawn(|| {}))));
        }
        tables.push(table(plan, race, &title, "rayon"));
    }
    tables
}

fn table(plan: &mut Plan, race: Race<'_, ()>, title: &str, peer: &str) -> Table {
    let series: Vec<Series> = race.run(plan.rounds(3, 2), &mut plan.rng);
    let title = format!("CPU time of the process for {title}, {WORKERS} workers");
    let mut table = Table::new("little", title, ("ms a second", MS), Judged::Median, &series);
    if cfg!(feature = "heist") {
        table.at_most("heist", MAX, peer);
    }
    table
}

/// CPU time for each second of the window. The first turn, which does not count, is over at once: the settling in
/// each of the others has the same purpose.
fn turn<'a>(window: Duration, spent: impl Fn() -> Duration + 'a) -> impl FnMut() -> Visit<()> + 'a {
    let mut is_first = true;
    move || {
        if std::mem::take(&mut is_first) {
            return Visit { value: (), samples_ns: Vec::new() };
        }
        let a_second = spent().as_nanos() as f64 / window.as_secs_f64();
        Visit { value: (), samples_ns: vec![a_second] }
    }
}

fn sleeper<R: Runtime>(window: Duration) -> Duration {
    let end = Instant::now() + SETTLE + window;
    let task = R::spawn_from_outside(async move {
        while Instant::now() < end {
            R::sleep(SLEEP).await;
        }
    });
    thread::sleep(SETTLE);
    let before = process::cpu_time();
    thread::sleep(window);
    let spent = process::cpu_time() - before;
    R::block_on(async { task.await.expect("the sleeper does not panic") });
    spent
}

/// Feeds from this thread.
fn fed(window: Duration, feed: impl Fn()) -> Duration {
    let feed_for = |time: Duration| {
        // By the clock, so that a disturbed machine gets as many as a quiet one.
        let start = Instant::now();
        for number in 0..(time.as_nanos() / GAP.as_nanos()) as u32 {
            thread::sleep((start + GAP * number).saturating_duration_since(Instant::now()));
            feed();
        }
        thread::sleep((start + time).saturating_duration_since(Instant::now()));
    };
    feed_for(SETTLE);
    let before = process::cpu_time();
    feed_for(window);
    process::cpu_time() - before
}
