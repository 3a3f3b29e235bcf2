//! A pool whose number of running threads changes in the middle of a computation: how soon that holds, and whether what comes after is as fast
//! as on a pool that was built that way. Also what waits while no thread may run, and a pool that follows the machine's limits.

mod limits;
mod stopped;

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use heist::prelude::*;
use heist::{ThreadPool, ThreadPoolBuilder};

use crate::churn::{churn, steps_for};
use crate::race::{Plan, Race, Series};
use crate::report::{Bar, Judged, Row, Sense, Table};
use crate::visit::{Visit, once};

const LINE: &str = "resize";
const WORKERS: usize = 2;
const MS: f64 = 1e6;
/// What one item or leaf takes.
const ITEM_NS: f64 = 20_000.0;
/// The number is left alone for so long before and after each change.
const HOLD: Duration = Duration::from_millis(100);
/// As long as the whole computation takes with all threads, at least.
const WHOLE: Duration = Duration::from_millis(600);

/// A new number holds from so long after the call on.
const SOON: Duration = Duration::from_millis(20);
/// A thread that is one too many leaves the rest of its loop to others, and runs a twentieth of the time meanwhile.
const DOWN_MOST: f64 = 1.1;
const UP_LEAST: f64 = 1.9;
const UP_MOST: f64 = 2.2;
/// Of a pool that was built with the number.
const AFTER: f64 = 1.03;

/// What is under way while the number changes.
#[derive(Clone, Copy)]
enum Load {
    Loop,
    Fib,
}

impl Load {
    const ALL: [Load; 2] = [Load::Loop, Load::Fib];

    fn title(self) -> &'static str {
        match self {
            Load::Loop => "a long loop",
            Load::Fib => "fib",
        }
    }

    /// As many items as take this long on all threads together, or a few more.
    fn run(self, time: Duration, item: &(impl Fn() + Sync)) {
        let items = (time.as_nanos() as f64 / ITEM_NS) as u64 * WORKERS as u64;
        match self {
            Load::Loop => (0..items).into_par_iter().for_each(|_| item()),
            Load::Fib => {
                let mut n = 0;
                while leaves(n) < items {
                    n += 1;
                }
                fib(n, item);
            }
        }
    }
}

/// The calls of `fib(n)` that fork no further.
fn leaves(n: u32) -> u64 {
    if n < 2 { 1 } else { leaves(n - 1) + leaves(n - 2) }
}

/// `fib(n)`, with an item for each leaf.
fn fib(n: u32, item: &(impl Fn() + Sync)) {
    if n < 2 {
        return item();
    }
    heist::join(|| fib(n - 1, item), || fib(n - 2, item));
}

/// How long items have run, all together.
#[derive(Default)]
struct Busy(AtomicU64);

impl Busy {
    fn item(&self, steps: u64) {
        let start = Instant::now();
        black_box(churn(black_box(steps), steps));
        self.0.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }

    /// How many threads have run items, in the mean of `time` from now on.
    fn threads(&self, time: Duration) -> f64 {
        let (start, before) = (Instant::now(), self.0.load(Ordering::Relaxed));
        thread::sleep(time);
        (self.0.load(Ordering::Relaxed) - before) as f64 / start.elapsed().as_nanos() as f64
    }
}

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .max_num_threads(WORKERS)
        .build()
        .expect("a pool can be built")
}

/// One computation during which the number goes down and up again: how many threads have run it from [`SOON`] after each change on.
fn down_and_up(load: Load, steps: u64) -> [f64; 2] {
    let pool = pool(WORKERS);
    let busy = Busy::default();
    thread::scope(|scope| {
        scope.spawn(|| pool.install(|| load.run(WHOLE, &|| busy.item(steps))));
        thread::sleep(HOLD);
        [1, WORKERS].map(|threads| {
            pool.set_num_threads(threads).expect("the pool may have so many");
            thread::sleep(SOON);
            busy.threads(HOLD)
        })
    })
}

fn soon(plan: &mut Plan, load: Load, steps: u64) -> Table {
    let mut both = [Vec::new(), Vec::new()];
    for _ in 0..plan.rounds(11, 5) {
        for (all, threads) in both.iter_mut().zip(down_and_up(load, steps)) {
            all.push(threads);
        }
    }
    // A thread that is one too many is in the middle of a job that may be all the rest of fib, and nobody else could end that.
    let down = match load {
        Load::Loop => (Sense::AtMost, DOWN_MOST),
        Load::Fib => (Sense::Reported, 0.0),
    };
    let limits = [vec![down], vec![(Sense::AtLeast, UP_LEAST), (Sense::AtMost, UP_MOST)]];
    let names = [format!("{WORKERS} -> 1"), format!("1 -> {WORKERS}")];
    let rows = names.into_iter().zip(both).zip(limits).map(|((name, threads), limits)| {
        let median = median(&threads);
        let bars = limits.into_iter().map(|(sense, limit)| (median, "threads", sense, limit));
        in_turn(&name, threads, bars.collect())
    });
    let title = format!("{}, from {} ms after its pool was resized on", load.title(), SOON.as_millis());
    Table::with_rows(LINE, title, "threads that run it", Judged::Median, rows.collect())
}

fn median(samples: &[f64]) -> f64 {
    Series { name: String::new(), samples_ns: samples.to_vec() }.median_ns()
}

/// A row of what was measured one after the other, in the table's own unit, with bars of figures that are made of it.
fn in_turn(name: &str, samples: Vec<f64>, bars: Vec<(f64, &str, Sense, f64)>) -> Row {
    let series = Series { name: name.into(), samples_ns: samples };
    let bar = |(measured, what, sense, limit)| Bar { measured, what: String::from(what), sense, limit };
    Row {
        best: series.best_ns(),
        median: series.median_ns(),
        samples: series.samples_ns.len(),
        bars: bars.into_iter().map(bar).collect(),
        name: series.name,
    }
}

fn after(plan: &mut Plan, load: Load, threads: usize, steps: u64) -> Table {
    let (built, resized) = (pool(threads), pool(WORKERS + 1 - threads));
    resized.set_num_threads(threads).expect("the pool may have so many");
    let item = || {
        black_box(churn(black_box(steps), steps));
    };
    let work = |pool: &ThreadPool| -> Visit<()> {
        once(|| pool.install(|| load.run(Duration::from_millis(50), &item)))
    };
    let mut race = Race::new();
    race.enter("built", || work(&built));
    race.enter("resized", || work(&resized));
    let series = race.run(plan.rounds(21, 11), &mut plan.rng);
    let title = format!("{} on a pool of {threads}, built so or made so", load.title());
    let mut table = Table::new(LINE, title, ("ms", MS), Judged::Median, &series);
    table.at_most("resized", AFTER, "built");
    table
}

pub fn line(plan: &mut Plan) -> Vec<Table> {
    let steps = steps_for(ITEM_NS);
    let mut tables = Vec::new();
    for load in Load::ALL {
        if plan.wants_row(load.title()) {
            tables.push(soon(plan, load, steps));
            tables.extend([1, WORKERS].map(|threads| after(plan, load, threads, steps)));
        }
    }
    if plan.wants_row("stopped") {
        tables.push(stopped::table(plan));
    }
    if plan.wants_row("limits") {
        tables.extend(limits::table(plan));
    }
    tables
}
