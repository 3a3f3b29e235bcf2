//! What the workers have to compute.

use std::sync::OnceLock;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use super::host::Host;
use super::primes;
use crate::churn::{churn, steps_for};
use crate::tasks::runtime::WORKERS;

pub const BURST: Duration = Duration::from_millis(20);
/// Between two bursts: long enough for a worker to look for other work, or to fall asleep.
const PAUSE: Duration = Duration::from_millis(5);
const WARM_UP_BURSTS: usize = 4;

/// The long piece, and as long go the bursts on.
pub const fn long(quick: bool) -> Duration {
    Duration::from_secs(if quick { 1 } else { 3 })
}

/// How it is brought to the workers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// A job for each worker, spawned from outside.
    Jobs,
    /// A parallel loop that a task awaits without holding a worker.
    Compute,
    /// A parallel loop in the middle of a task.
    LoopInTask,
    /// A task for each worker that computes and awaits nothing.
    LongPolls,
}

impl Load {
    pub const ALL: [Load; 4] = [Load::Jobs, Load::Compute, Load::LoopInTask, Load::LongPolls];

    pub fn title(self) -> &'static str {
        match self {
            Load::Jobs => "jobs",
            Load::Compute => "a loop in compute",
            Load::LoopInTask => "a loop in a task",
            Load::LongPolls => "long polls",
        }
    }

    /// Computes one piece and returns when it is done.
    fn run<H: Host>(self, piece: &Piece) {
        let (below, steps) = (piece.below, piece.steps);
        match self {
            Load::Jobs => {
                let (done, ended) = channel();
                for seed in 0..WORKERS as u64 {
                    let done = done.clone();
                    H::job(move || done.send(churn(seed, steps)).expect("somebody waits for every job"));
                }
                drop(done);
                piece.churned.check(ended.iter().fold(0, |sum, part| sum ^ part));
            }
            Load::Compute => piece.primes.check(finish::<H>([H::spawn_from_outside(H::computed(below))])),
            Load::LoopInTask => piece.primes.check(finish::<H>([H::spawn_from_outside(H::in_task(below))])),
            Load::LongPolls => {
                let tasks: [_; WORKERS] = std::array::from_fn(|seed| {
                    H::spawn_from_outside(H::long_poll(move || churn(seed as u64, steps)))
                });
                piece.churned.check(finish::<H>(tasks));
            }
        }
    }

    /// One piece after the other; how long each took.
    pub fn run_all<H: Host>(self, pieces: &[Piece]) -> Vec<f64> {
        let mut pieces_ns = Vec::with_capacity(pieces.len());
        for piece in pieces {
            if !pieces_ns.is_empty() {
                thread::sleep(PAUSE);
            }
            let start = Instant::now();
            self.run::<H>(piece);
            pieces_ns.push(start.elapsed().as_nanos() as f64);
        }
        pieces_ns
    }
}

/// Waits for all tasks on a thread that is none of the workers.
fn finish<H: Host>(
    tasks: impl IntoIterator<Item = impl Future<Output = Result<u64, impl std::fmt::Debug>>>,
) -> u64 {
    H::block_on(async {
        let mut sum = 0;
        for task in tasks {
            sum ^= task.await.expect("no load panics");
        }
        sum
    })
}

/// As much work as all workers do in some time if they do nothing else.
#[derive(Clone)]
pub struct Piece {
    /// The primes below it are counted.
    below: u64,
    /// Of each job and long poll.
    steps: u64,
    primes: Outcome,
    churned: Outcome,
}

impl Piece {
    fn of(time: Duration) -> Piece {
        Piece {
            below: primes::below_for(time * WORKERS as u32),
            steps: steps_for(time.as_nanos() as f64),
            primes: Outcome::default(),
            churned: Outcome::default(),
        }
    }
}

/// What the first who computed it found, and everyone else must find, too.
#[derive(Clone, Default)]
struct Outcome(OnceLock<u64>);

impl Outcome {
    fn check(&self, found: u64) {
        assert_eq!(*self.0.get_or_init(|| found), found, "a contestant computed something else");
    }
}

pub struct Pieces {
    pub warm_up: Vec<Piece>,
    pub bursts: Vec<Piece>,
    /// Only one.
    pub long: Vec<Piece>,
}

impl Pieces {
    pub fn calibrated(quick: bool) -> Pieces {
        let burst = Piece::of(BURST);
        let count = long(quick).as_nanos().div_ceil((BURST + PAUSE).as_nanos());
        Pieces {
            warm_up: vec![burst.clone(); WARM_UP_BURSTS],
            bursts: vec![burst; count as usize],
            long: vec![Piece::of(long(quick))],
        }
    }
}
