//! What the models of whole pools share.

use heist::{ThreadPool, ThreadPoolBuilder};
use heist_sync::Arc;
use heist_sync::atomic::{AtomicUsize, Ordering};
use shuttle::scheduler::{PctScheduler, RandomScheduler, ReplayScheduler};
use shuttle::{Config, MaxSteps, Runner};

/// Schedules per model and scheduler if the environment does not say.
const ITERATIONS: usize = 2_000;
/// Preemptions that the second scheduler places.
const PCT_DEPTH: usize = 3;

fn config() -> Config {
    let mut config = Config::new();
    // Jobs nest, and panics are caught inside of them.
    config.stack_size = 0x4_0000;
    config.max_steps = MaxSteps::FailAfter(1_000_000);
    config
}

/// Runs `model` under all schedules asked for.
pub fn explore(model: impl Fn() + Send + Sync + Copy + 'static) {
    if let Ok(schedule) = std::env::var("HEIST_SHUTTLE_REPLAY") {
        Runner::new(ReplayScheduler::new_from_encoded(&schedule), config()).run(model);
        return;
    }
    let iterations = match std::env::var("HEIST_SHUTTLE_ITERATIONS") {
        Ok(n) => n.parse().expect("HEIST_SHUTTLE_ITERATIONS is a number"),
        Err(_) => ITERATIONS,
    };
    Runner::new(RandomScheduler::new(iterations), config()).run(model);
    Runner::new(PctScheduler::new(PCT_DEPTH, iterations), config()).run(model);
}

pub fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

/// Counts how often each of a model's jobs ran.
pub struct Ledger(Vec<AtomicUsize>);

impl Ledger {
    pub fn new(jobs: usize) -> Arc<Self> {
        Arc::new(Self((0..jobs).map(|_| AtomicUsize::new(0)).collect()))
    }

    pub fn run(&self, job: usize) {
        self.0[job].fetch_add(1, Ordering::Relaxed);
    }

    #[track_caller]
    pub fn check(&self) {
        let runs: Vec<usize> = self.0.iter().map(|n| n.load(Ordering::Relaxed)).collect();
        assert!(runs.iter().all(|&n| n == 1), "each job exactly once: {runs:?}");
    }
}
