//! How many threads nested loops take with 16 workers on fewer cores, in a process of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::shape::SHAPES;
use crate::args::Pooled;
use crate::peers::{Backend, rayon::Rayon};
use crate::process;
use crate::report::{Bar, Judged, Row, Sense, Table};

const WORKERS: usize = 16;
const DURATION: Duration = Duration::from_secs(1);

#[derive(Serialize, Deserialize)]
struct Peak {
    threads: usize,
    looks: usize,
}

pub fn table() -> Table {
    let mut rows = vec![row(Pooled::Rayon)];
    #[cfg(feature = "heist")]
    rows.push(row(Pooled::Heist));
    rows.iter_mut().for_each(|row| {
        let what = format!("x {WORKERS} workers");
        let measured = row.best / WORKERS as f64;
        row.bars.push(Bar { measured, what, sense: Sense::Reported, limit: f64::NAN });
    });
    let title = format!("peak threads of a pool of {WORKERS} in nested loops");
    Table::with_rows("nested", title, "threads", Judged::Best, rows)
}

fn row(backend: Pooled) -> Row {
    let peak: Peak = process::run_alone(&["threads", backend.word(), &WORKERS.to_string()]);
    let threads = peak.threads as f64;
    Row { name: backend.word().into(), best: threads, median: threads, samples: peak.looks, bars: Vec::new() }
}

/// The child's part.
pub fn alone(backend: Pooled, workers: usize) {
    let peak = match backend {
        Pooled::Rayon => peak::<Rayon>(workers),
        #[cfg(feature = "heist")]
        Pooled::Heist => peak::<crate::peers::heist::Heist>(workers),
    };
    process::answer(&peak);
}

fn peak<B: Backend>(workers: usize) -> Peak {
    let done = AtomicBool::new(false);
    // The sampler is not the pool's, either.
    let others = process::thread_count() + 1;
    thread::scope(|scope| {
        let sampler = scope.spawn(|| {
            let mut peak = Peak { threads: 0, looks: 0 };
            while !done.load(Ordering::Relaxed) {
                peak.threads = peak.threads.max(process::thread_count().saturating_sub(others));
                peak.looks += 1;
                thread::sleep(Duration::from_micros(200));
            }
            peak
        });
        let pool = B::pool(workers);
        let start = Instant::now();
        while start.elapsed() < DURATION {
            for shape in SHAPES {
                assert_eq!(B::install(&pool, || shape.parallel::<B>()), shape.serial());
            }
        }
        done.store(true, Ordering::Relaxed);
        sampler.join().expect("the sampler only counts")
    })
}
