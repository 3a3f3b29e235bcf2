//! Timers: what a million of them cost, how late they are, and the price of the ones that never fire.

use std::future::poll_fn;
use std::hint::black_box;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use super::figures::{Figures, Limit, both, compare, compare_by};
use super::runtime::{Runtime, WORKERS};
use crate::process;
use crate::race::Plan;
use crate::report::{Judged, Row, Table};
use crate::visit::{Visit, repeat};

const LINE: &str = "timers";
const MANY: u64 = 1_000_000;
const SOME: u64 = 50_000;
/// How long they sleep, in microseconds, drawn evenly.
const SLEEP_US: std::ops::Range<u64> = 10_000..1_000_000;
/// The same sleeps for both.
const SEED: u64 = 7;
/// So far away that it does not fire.
const FAR: Duration = Duration::from_secs(3600);
const CALLS: u32 = 100_000;
const MS: f64 = 1e6;

/// Of tokio.
const CPU_MAX: f64 = 0.7;
const CANCEL_MAX: f64 = 0.4;
const LATE_P99_MAX_MS: f64 = 0.3;

pub fn line(plan: &mut Plan) -> Vec<Table> {
    let mut prices = Vec::new();
    if plan.wants_row("CPU") {
        // Never fewer: how many fire at once is what decides the price.
        let series = both!(plan, plan.rounds(3, 1), |R| cpu::<R>(MANY));
        prices.push(compare(&format!("CPU time, {MANY} sleeps"), series, &[Limit::Ratio(CPU_MAX)]));
    }
    for tasks in [1, WORKERS] {
        let name = format!("create and cancel, {tasks} at once");
        if plan.wants_row(&name) {
            let series =
                both!(plan, plan.rounds(10, 3), |R| inside::<R, _>(tasks, || create_and_cancel::<R>(CALLS)));
            prices.push(compare(&name, series, &[Limit::Ratio(CANCEL_MAX)]));
        }
    }
    if plan.wants_row("reset") {
        let series = both!(plan, plan.rounds(10, 3), |R| inside::<R, _>(1, || reset::<R>(CALLS)));
        prices.push(compare("reset", series, &[Limit::None]));
    }
    let mut tables = Vec::new();
    if !prices.is_empty() {
        tables.push(Table::with_rows(LINE, "price of a timer, 2 workers", "ns", Judged::Median, prices));
    }
    tables.extend(lateness(plan));
    tables
}

/// Tasks that sleep, each for another time; what the last one returns is how many there were.
async fn sleepers<R: Runtime>(count: u64) -> Vec<Duration> {
    let mut rng = fastrand::Rng::with_seed(SEED);
    let tasks: Vec<_> = (0..count)
        .map(|_| {
            let time = Duration::from_micros(rng.u64(SLEEP_US));
            R::spawn(async move {
                let deadline = Instant::now() + time;
                R::sleep_until(deadline).await;
                deadline.elapsed()
            })
        })
        .collect();
    let mut late = Vec::with_capacity(tasks.len());
    for task in tasks {
        late.push(task.await.expect("no sleeper panics"));
    }
    late
}

/// CPU time of the whole process for each task that sleeps, its spawn and its end included.
fn cpu<R: Runtime>(count: u64) -> Visit<usize> {
    let before = process::cpu_time();
    let slept =
        R::block_on(async { R::spawn(sleepers::<R>(count)).await.expect("the parent does not panic") });
    let spent = process::cpu_time() - before;
    Visit { value: slept.len(), samples_ns: vec![spent.as_nanos() as f64] }.per(count)
}

fn lateness(plan: &mut Plan) -> Option<Table> {
    if !plan.wants_row("late") {
        return None;
    }
    let series = both!(plan, plan.rounds(4, 1), |R| {
        let late =
            R::block_on(async { R::spawn(sleepers::<R>(SOME)).await.expect("the parent does not panic") });
        Visit { value: late.len(), samples_ns: late.iter().map(|late| late.as_nanos() as f64).collect() }
    });
    let row = |share: f64, limit: Limit| -> Row {
        let name = format!("late, p{}", share * 100.0);
        compare_by(&name, &series, &[limit], |series| Figures::quantile(series, share, MS))
    };
    let rows = vec![row(0.5, Limit::None), row(0.99, Limit::Figure(LATE_P99_MAX_MS))];
    let title = format!("lateness of {SOME} sleeps of 10 to 1000 ms, 2 workers");
    Some(Table::with_rows(LINE, title, "ms", Judged::Median, rows))
}

/// Samples of so many tasks at once, of which each makes [`CALLS`] calls.
fn inside<R: Runtime, F>(tasks: usize, task: fn() -> F) -> Visit<u32>
where
    F: Future<Output = u32> + Send + 'static,
{
    let all = || {
        R::block_on(async {
            let tasks: Vec<_> = (0..tasks).map(|_| R::spawn(task())).collect();
            let mut pending = 0;
            for task in tasks {
                pending += task.await.expect("the task does not panic");
            }
            pending
        })
    };
    repeat(3, 1, all).per(u64::from(CALLS))
}

/// Timers that are set and dropped, as a timeout that is not needed is.
async fn create_and_cancel<R: Runtime>(count: u32) -> u32 {
    let mut pending = 0;
    for _ in 0..count {
        let mut sleep = pin!(R::sleep(FAR));
        poll_fn(|cx| {
            pending += u32::from(sleep.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
    }
    pending
}

/// One timer that is put off again and again, as that of a connection is.
async fn reset<R: Runtime>(count: u32) -> u32 {
    let start = Instant::now() + FAR;
    let mut sleep = pin!(R::sleep_until(start));
    let mut pending = 0;
    poll_fn(|cx| {
        pending += u32::from(sleep.as_mut().poll(cx).is_pending());
        for step in 1..=count {
            R::reset(sleep.as_mut(), black_box(start + Duration::from_micros(u64::from(step))));
        }
        Poll::Ready(())
    })
    .await;
    pending + count
}
