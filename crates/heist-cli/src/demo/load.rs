//! What the pieces of the demo do, and how a part of it is told.

use heist::ThreadPool;
use heist::trace::{Style, Timeline, Trace};
use std::hint::black_box;
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// How a piece holds its worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Load {
    /// It computes: there is a core for each worker.
    Computes,
    /// It only waits, so that four workers are four on any machine.
    Waits,
}

impl Load {
    /// What this machine is good for with so many workers.
    pub fn on(workers: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        if cores >= workers { Self::Computes } else { Self::Waits }
    }

    /// Holds the calling thread for so long.
    pub fn hold(self, time: Duration) {
        match self {
            Self::Computes => compute(time),
            Self::Waits => std::thread::sleep(time),
        }
    }

    /// Says so on the screen.
    pub fn sentence(self, workers: usize) -> String {
        match self {
            Self::Computes => {
                format!("There is a core for each of the {workers} workers: the pieces compute.")
            }
            Self::Waits => {
                format!(
                    "This machine has fewer than {workers} cores. So that {workers} workers are {workers}, pieces only wait where it says so."
                )
            }
        }
    }
}

/// Computes for so long.
pub fn compute(time: Duration) {
    let begun = Instant::now();
    let mut x = 1_u64;
    while begun.elapsed() < time {
        for _ in 0..100 {
            x = black_box(x.wrapping_mul(31).wrapping_add(7));
        }
    }
}

/// Runs `f` and records what the pool's threads do meanwhile.
pub fn traced(pool: &ThreadPool, f: impl FnOnce()) -> (Trace, Duration) {
    pool.start_trace();
    let started = Instant::now();
    f();
    let took = started.elapsed();
    (pool.stop_trace(), took)
}

/// A timeline with its title above it and its figures below.
pub fn tell(title: &str, run: &(Trace, Duration), width: usize, out: &mut dyn Write) -> io::Result<()> {
    let (trace, took) = run;
    let timeline = Timeline::new(trace);
    writeln!(out, "{title}")?;
    write!(out, "{}", timeline.render(&Style::new(width)))?;
    let busy = timeline.utilisation() * 100.0;
    writeln!(
        out,
        "  {} ms, workers busy {busy:.0} % of the time, {} {}\n",
        took.as_millis(),
        timeline.steals(),
        if timeline.steals() == 1 { "steal" } else { "steals" }
    )
}
