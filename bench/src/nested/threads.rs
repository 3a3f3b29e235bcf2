//! How many threads nested loops take with 16 workers on fewer cores, and how many of them run at a time; in a process
//! of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::burst::{self, Burst};
use super::running::Running;
use super::shape::{COARSE, SHAPES};
use crate::args::Pooled;
use crate::peers::{Backend, rayon::Rayon};
use crate::process;
use crate::report::{Bar, Judged, Row, Sense, Table};

const LINE: &str = "nested";
const WORKERS: usize = 16;
const DURATION: Duration = Duration::from_secs(1);

/// Of heist's threads in user code beyond the workers, in terms of these.
const MEAN_EXCESS_MAX: f64 = 0.1;
const PEAK_EXCESS_MAX: f64 = 1.0;

#[derive(Serialize, Deserialize)]
struct Outcome {
    /// That existed at a time, at most.
    threads: usize,
    looks: usize,
    /// Threads in user code beyond the workers, on average over all looks.
    mean_excess: f64,
    /// Threads in user code, on average over all looks.
    mean_running: f64,
    /// At any time.
    peak_running: usize,
    burst: Burst,
}

pub fn tables() -> Vec<Table> {
    let outcomes: Vec<(Pooled, Outcome)> = Pooled::ALL
        .iter()
        .map(|&pooled| (pooled, process::run_alone(&["threads", pooled.word(), &WORKERS.to_string()])))
        .collect();
    let table = |title: String, figure: &dyn Fn(&Outcome) -> f64, limit: Option<f64>| {
        let rows =
            outcomes.iter().map(|(pooled, outcome)| row(*pooled, figure(outcome), outcome.looks, limit));
        Table::with_rows(LINE, title, "threads", Judged::Best, rows.collect())
    };
    let within = format!("threads in user code of a pool of {WORKERS} in nested loops");
    let beyond = format!("threads in user code beyond {WORKERS} workers in nested loops");
    let jobs = burst::JOBS;
    vec![
        table(
            format!("peak threads of a pool of {WORKERS} in nested loops"),
            &|outcome| outcome.threads as f64,
            None,
        ),
        table(format!("{within}, mean"), &|outcome| outcome.mean_running, None),
        table(format!("{within}, maximum"), &|outcome| outcome.peak_running as f64, None),
        table(format!("{beyond}, mean"), &|outcome| outcome.mean_excess, Some(MEAN_EXCESS_MAX)),
        table(
            format!("{beyond}, maximum"),
            &|outcome| outcome.peak_running.saturating_sub(WORKERS) as f64,
            Some(PEAK_EXCESS_MAX),
        ),
        table(
            format!("{jobs} jobs in a pool of {WORKERS} that wait for another pool, at a time"),
            &|outcome| outcome.burst.waiting as f64,
            None,
        ),
        table(
            format!("{jobs} jobs in a pool of {WORKERS} that run when the other pool answers all at once"),
            &|outcome| outcome.burst.running as f64,
            None,
        ),
    ]
}

/// Only heist promises to keep the limit.
fn row(pooled: Pooled, figure: f64, looks: usize, limit: Option<f64>) -> Row {
    let measured = figure / WORKERS as f64;
    let what = format!("x {WORKERS} workers");
    let bar = match limit {
        Some(limit) if pooled != Pooled::Rayon => Bar { measured, what, sense: Sense::AtMost, limit },
        _ => Bar { measured, what, sense: Sense::Reported, limit: f64::NAN },
    };
    Row { name: pooled.word().into(), best: figure, median: figure, samples: looks, bars: vec![bar] }
}

/// The child's part.
pub fn alone(backend: Pooled, workers: usize) {
    let outcome = match backend {
        Pooled::Rayon => outcome::<Rayon>(workers),
        #[cfg(feature = "heist")]
        Pooled::Heist => outcome::<crate::peers::heist::Heist>(workers),
    };
    process::answer(&outcome);
}

fn outcome<B: Backend>(workers: usize) -> Outcome {
    let done = AtomicBool::new(false);
    let running = Running::default();
    // The sampler is not the pool's, either.
    let others = process::thread_count() + 1;
    let (threads, looks, ran, excess) = thread::scope(|scope| {
        let sampler = scope.spawn(|| {
            let (mut threads, mut looks, mut ran, mut excess) = (0, 0, 0, 0);
            while !done.load(Ordering::Relaxed) {
                threads = process::thread_count().saturating_sub(others).max(threads);
                let now = running.now();
                ran += now;
                excess += now.saturating_sub(workers);
                looks += 1;
                thread::sleep(Duration::from_micros(200));
            }
            (threads, looks, ran, excess)
        });
        let shapes: Vec<_> = SHAPES.iter().chain([&COARSE]).map(|shape| (shape, shape.serial())).collect();
        let pool = B::pool(workers);
        let start = Instant::now();
        while start.elapsed() < DURATION {
            for (shape, expected) in &shapes {
                assert_eq!(B::install(&pool, || shape.parallel_around::<B>(&running)), *expected);
            }
        }
        done.store(true, Ordering::Relaxed);
        sampler.join().expect("the sampler only counts")
    });
    Outcome {
        threads,
        looks,
        mean_excess: excess as f64 / looks as f64,
        mean_running: ran as f64 / looks as f64,
        peak_running: running.peak(),
        burst: burst::run::<B>(workers),
    }
}
