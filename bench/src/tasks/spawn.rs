//! Spawning many tasks that do nothing: from `block_on`, from a task, and from outside while the workers are idle
//! or busy. After the benchmarks that tokio judges its own scheduler by.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use super::figures::{Limit, both, compare};
use super::runtime::{Runtime, WORKERS};
use crate::race::Plan;
use crate::report::Row;
use crate::visit::{Visit, repeat};

const TASKS: usize = 10_000;
/// Fewer, because tokio needs so long.
const TASKS_BUSY: usize = 1_000;
/// How long a busy task holds its worker.
const STALL: Duration = Duration::from_micros(10);
const SAMPLES: usize = 3;

/// Of tokio.
const MAX: f64 = 0.5;
/// Go's with both workers busy, on the machine that the bars were set on.
const BUSY2_MAX_NS: f64 = 437.0;

pub fn rows(plan: &mut Plan) -> Vec<Row> {
    let rounds = plan.rounds(15, 5);
    let mut rows = Vec::new();
    if plan.wants_row("spawn_many local") {
        let series =
            both!(plan, rounds, |R| repeat(SAMPLES, 1, || from_block_on::<R>(TASKS)).per(TASKS as u64));
        rows.push(compare("spawn_many local", series, &[Limit::Ratio(MAX)]));
    }
    if plan.wants_row("spawn_many from a task") {
        let series = both!(plan, rounds, |R| repeat(SAMPLES, 1, || from_task::<R>(TASKS)).per(TASKS as u64));
        rows.push(compare("spawn_many from a task", series, &[Limit::Ratio(MAX)]));
    }
    if plan.wants_row("spawn_many remote idle") {
        let series =
            both!(plan, rounds, |R| repeat(SAMPLES, 1, || from_outside::<R>(TASKS)).per(TASKS as u64));
        rows.push(compare("spawn_many remote idle", series, &[Limit::Ratio(MAX)]));
    }
    if plan.wants_row("spawn_many remote, 1 worker busy") {
        let series = both!(plan, rounds, |R| beside::<R>(Load::chains(1)));
        rows.push(compare("spawn_many remote, 1 worker busy", series, &[Limit::Ratio(MAX)]));
    }
    if plan.wants_row("spawn_many remote busy1") {
        let series = both!(plan, rounds, |R| beside::<R>(Load::yielding(2 * WORKERS)));
        rows.push(compare("spawn_many remote busy1 (4 yield)", series, &[Limit::Ratio(MAX)]));
    }
    if plan.wants_row("spawn_many remote busy2") {
        let series = both!(plan, rounds, |R| beside::<R>(Load::chains(WORKERS)));
        let limits = [Limit::Ratio(MAX), Limit::Figure(BUSY2_MAX_NS)];
        rows.push(compare("spawn_many remote busy2 (2 chains)", series, &limits));
    }
    rows
}

/// Tells when the last of so many tasks has run.
struct Countdown {
    remaining: AtomicUsize,
    done: SyncSender<()>,
}

impl Countdown {
    fn new(count: usize) -> (Arc<Countdown>, Receiver<()>) {
        let (done, all_done) = sync_channel(1);
        (Arc::new(Countdown { remaining: AtomicUsize::new(count), done }), all_done)
    }

    fn count(&self) {
        if self.remaining.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.done.send(()).expect("somebody waits for the last task");
        }
    }
}

fn spawn_counted<R: Runtime>(countdown: &Arc<Countdown>) {
    let countdown = Arc::clone(countdown);
    drop(R::spawn(async move { countdown.count() }));
}

fn from_block_on<R: Runtime>(count: usize) -> usize {
    let (countdown, all_done) = Countdown::new(count);
    R::block_on(async {
        for _ in 0..count {
            spawn_counted::<R>(&countdown);
        }
        all_done.recv().expect("the last task tells");
    });
    count
}

fn from_task<R: Runtime>(count: usize) -> usize {
    let (countdown, all_done) = Countdown::new(count);
    drop(R::spawn_from_outside(async move {
        for _ in 0..count {
            spawn_counted::<R>(&countdown);
        }
    }));
    all_done.recv().expect("the last task tells");
    count
}

fn from_outside<R: Runtime>(count: usize) -> usize {
    let tasks: Vec<_> = (0..count).map(|_| R::spawn_from_outside(async {})).collect();
    R::block_on(async {
        for task in tasks {
            task.await.expect("the task ran");
        }
    });
    count
}

/// From outside while others keep the workers busy.
fn beside<R: Runtime>(load: Load) -> Visit<usize> {
    let load = load.start::<R>();
    let visit = repeat(SAMPLES, 1, || from_outside::<R>(TASKS_BUSY)).per(TASKS_BUSY as u64);
    load.stop();
    visit
}

/// Tasks that hold a worker for [`STALL`] at a time.
struct Load {
    tasks: usize,
    /// Each turn is a new task, spawned by the one before, instead of a yield.
    spawns: bool,
}

impl Load {
    fn yielding(tasks: usize) -> Load {
        Load { tasks, spawns: false }
    }

    fn chains(tasks: usize) -> Load {
        Load { tasks, spawns: true }
    }

    fn start<R: Runtime>(self) -> Running {
        let goes_on = Arc::new(AtomicBool::new(true));
        let (alive, ended) = channel();
        for _ in 0..self.tasks {
            let (goes_on, alive) = (Arc::clone(&goes_on), alive.clone());
            if self.spawns {
                drop(R::spawn_from_outside(async move { chain::<R>(goes_on, alive) }));
            } else {
                drop(R::spawn_from_outside(async move {
                    let _alive = alive;
                    while goes_on.load(Ordering::Relaxed) {
                        R::yield_now().await;
                        stall();
                    }
                }));
            }
        }
        Running { goes_on, ended }
    }
}

fn chain<R: Runtime>(goes_on: Arc<AtomicBool>, alive: Sender<()>) {
    if goes_on.load(Ordering::Relaxed) {
        stall();
        drop(R::spawn(async move { chain::<R>(goes_on, alive) }));
    } else {
        drop(alive);
    }
}

fn stall() {
    let start = Instant::now();
    while start.elapsed() < STALL {
        thread::yield_now();
    }
}

struct Running {
    goes_on: Arc<AtomicBool>,
    ended: Receiver<()>,
}

impl Running {
    /// Returns when the last task of the load is gone.
    fn stop(self) {
        self.goes_on.store(false, Ordering::Relaxed);
        assert!(self.ended.recv().is_err(), "the load only ever hangs up");
    }
}
