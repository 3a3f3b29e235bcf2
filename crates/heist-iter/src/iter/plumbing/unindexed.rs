//! Drives producers of unknown length, which can only be cut somewhere.

use super::habit::{self, Habit, Inside};
use super::{Folder, Reducer, UnindexedConsumer, UnindexedProducer};
use crate::pool;
use std::time::{Duration, Instant};

/// A piece that lasted longer than this is reason to cut the next ones smaller.
const PIECE: Duration = Duration::from_micros(10);

/// A run is cut into at most two to this power pieces. What is stolen counts anew.
const LEVELS: u32 = 6;

/// A loop that was over within this time is expected to be so again, and is not shared before a part of it has shown
/// otherwise.
const WORTH: Duration = Duration::from_micros(8);

/// Cuts of such a loop before its first part.
const TRIAL_LEVELS: u32 = 3;

/// Drives a producer of unknown length into a consumer.
///
/// See [`UnindexedProducer`] for an example.
pub fn bridge_unindexed<P, C>(producer: P, consumer: C) -> C::Result
where
    P: UnindexedProducer,
    C: UnindexedConsumer<P::Item>,
{
    let workers = pool::workers();
    let budget = if workers > 1 { workers } else { 0 };
    if pool::is_worker() {
        // The whole loop counts as one item, since nobody knows how many there are.
        let habit = Habit::of::<P, C>(habit::depth());
        let _inside = Inside::of(habit::depth());
        let expected = habit.expect_ns(1).map(Duration::from_nanos);
        let since = Instant::now();
        let result = if expected.is_some_and(|whole| whole < WORTH) {
            let folder = consumer.split_off_left().into_folder();
            finish(Run { levels: TRIAL_LEVELS, ..Run::new(budget, producer, folder) }, consumer)
        } else {
            start(Prospect { budget, expected }, producer, consumer)
        };
        habit.learn(1, since.elapsed().as_nanos() as u64);
        return result;
    }
    match producer.split() {
        (near, Some(far)) => {
            pool::enter(true, move |_| fork(Prospect { budget, expected: None }, near, far, consumer))
        }
        (whole, None) => finish(Run::new(budget, whole, consumer.split_off_left().into_folder()), consumer),
    }
}

/// What is known about a part before it begins.
#[derive(Debug, Clone, Copy)]
struct Prospect {
    /// Cuts to make without being asked, halved by each one: enough parts for every worker.
    budget: usize,
    /// How long it will take, if the loop is like the last one of its kind and all its parts are alike.
    expected: Option<Duration>,
}

impl Prospect {
    /// Of either half.
    fn halved(self) -> Self {
        Prospect { budget: self.budget / 2, expected: self.expected.map(|whole| whole / 2) }
    }

    /// Where one thief was wanting there may be more.
    fn after(self, migrated: bool) -> Self {
        if migrated { Prospect { budget: self.budget.max(pool::workers()), ..self } } else { self }
    }

    fn is_worth_cutting(self) -> bool {
        self.expected.is_none_or(|whole| whole > WORTH)
    }
}

/// Cuts `producer` as long as the budget lasts or somebody wants work, then runs it.
fn start<P, C>(prospect: Prospect, producer: P, consumer: C) -> C::Result
where
    P: UnindexedProducer,
    C: UnindexedConsumer<P::Item>,
{
    if consumer.full() {
        drop(producer);
        return consumer.into_folder().complete();
    }
    let is_wanted = prospect.is_worth_cutting();
    let (near, far) = if is_wanted && (prospect.budget > 0 || pool::should_offer_work()) {
        producer.split()
    } else {
        (producer, None)
    };
    match far {
        Some(far) => fork(prospect, near, far, consumer),
        None => {
            let folder = consumer.split_off_left().into_folder();
            finish(Run { expected: prospect.expected, ..Run::new(prospect.budget, near, folder) }, consumer)
        }
    }
}

fn fork<P, C>(prospect: Prospect, near: P, far: P, consumer: C) -> C::Result
where
    P: UnindexedProducer,
    C: UnindexedConsumer<P::Item>,
{
    let half = prospect.halved();
    let reducer = consumer.to_reducer();
    let near_consumer = consumer.split_off_left();
    let (left, right) = pool::join_here(
        move |_| start(half, near, near_consumer),
        move |context| start(half.after(context.migrated()), far, consumer),
    );
    reducer.reduce(left, right)
}

/// Part of a run that was cut `level` times.
#[derive(Debug)]
struct Piece<P> {
    producer: P,
    level: u32,
}

/// Pieces on their way into one folder.
#[derive(Debug)]
struct Run<P, F> {
    budget: usize,
    /// What is left, last piece first.
    pieces: Vec<Piece<P>>,
    folder: F,
    /// How often a piece may be cut.
    levels: u32,
    /// How long an uncut run would take, judged by its last piece.
    expected: Option<Duration>,
}

impl<P: UnindexedProducer, F: Folder<P::Item>> Run<P, F> {
    fn new(budget: usize, producer: P, folder: F) -> Self {
        Run { budget, pieces: vec![Piece { producer, level: 0 }], folder, levels: LEVELS, expected: None }
    }

    /// Cuts `piece` until its front is expected to be short, and runs that.
    fn run_piece(mut self, mut piece: Piece<P>) -> Self {
        while piece.level < self.levels
            && self.expected.is_none_or(|whole| whole / (1 << piece.level) > PIECE)
        {
            let (near, far) = piece.producer.split();
            piece.producer = near;
            let Some(far) = far else { break };
            piece.level += 1;
            self.pieces.push(Piece { producer: far, level: piece.level });
        }
        let since = Instant::now();
        self.folder = piece.producer.fold_with(self.folder);
        let expected = since.elapsed() * (1 << piece.level);
        self.expected = Some(expected);
        if expected > WORTH {
            self.levels = LEVELS;
        }
        self
    }
}

/// Runs piece after piece; `consumer` is for those that are given away.
fn finish<P, C>(mut run: Run<P, C::Folder>, consumer: C) -> C::Result
where
    P: UnindexedProducer,
    C: UnindexedConsumer<P::Item>,
{
    while let Some(piece) = run.pieces.pop() {
        if run.folder.full() {
            break;
        }
        run = run.run_piece(piece);
        let is_worth = run.expected.is_none_or(|whole| whole > WORTH);
        if is_worth && !run.pieces.is_empty() && pool::should_offer_work() {
            return give_away(run, consumer);
        }
    }
    drop((run.pieces, consumer));
    run.folder.complete()
}

/// Offers the last piece, which is the largest.
fn give_away<P, C>(mut run: Run<P, C::Folder>, consumer: C) -> C::Result
where
    P: UnindexedProducer,
    C: UnindexedConsumer<P::Item>,
{
    let far = run.pieces.remove(0).producer;
    // What is true of the front of a run need not be so of its end.
    let prospect = Prospect { budget: run.budget, expected: None };
    let reducer = consumer.to_reducer();
    let near_consumer = consumer.split_off_left();
    let (left, right) = pool::join_here(
        move |_| finish(run, near_consumer),
        move |context| start(prospect.after(context.migrated()), far, consumer),
    );
    reducer.reduce(left, right)
}
