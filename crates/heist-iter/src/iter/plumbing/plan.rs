//! When to cut an indexed loop, and how far to run before asking again.

use super::pace::Pace;
use super::{Folder, Producer};
use crate::pool;
use std::time::{Duration, Instant};

/// A loop of many items first runs alone for so long. If it ends within that time, nobody is woken for it: that would
/// cost more than it brings.
const TRIAL: Duration = Duration::from_micros(2);

/// The trial runs at least one item. With fewer items per worker than this, one item is too large a share of the loop
/// to be run while the other workers wait.
const TRIAL_ITEMS_PER_WORKER: usize = 16;

/// So few items, left after all cuts, are not worth a look at the clock.
const UNMEASURED: usize = 3;

/// What is known about dividing a run of items.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    min: usize,
    max: usize,
    /// Cuts to make without being asked, halved by each one: enough parts for every worker.
    budget: usize,
    /// What is left of [`TRIAL`].
    trial: Duration,
    pace: Pace,
    /// The block when the last stretch was promised, and how many of them the next one may have.
    stretch_block: usize,
    stretch_blocks: usize,
}

impl Plan {
    /// The plan for a whole loop.
    pub(super) fn new<P: Producer>(producer: &P, len: usize) -> Plan {
        let workers = pool::current_num_threads();
        let trial = if len / TRIAL_ITEMS_PER_WORKER >= workers { TRIAL } else { Duration::ZERO };
        Plan {
            min: producer.min_len().max(1),
            max: producer.max_len().max(1),
            budget: if workers > 1 { workers } else { 0 },
            trial,
            pace: Pace::UNKNOWN,
            stretch_block: 0,
            stretch_blocks: 1,
        }
    }

    /// Whether both halves of `len` items would be long enough.
    #[inline]
    pub(super) fn is_divisible(&self, len: usize) -> bool {
        len / 2 >= self.min
    }

    /// Whether to cut `len` items that have not run yet; `is_fresh` if their folder does not exist yet either.
    #[inline]
    pub(super) fn wants_cut(&self, len: usize, is_fresh: bool) -> bool {
        if !self.is_divisible(len) {
            return false;
        }
        // INVARIANT: a folder gets at most `max` items, because whatever it begins with is not longer.
        let must = is_fresh && len > self.max;
        must || self.trial.is_zero() && !self.pace.is_small(len) && self.is_wanted()
    }

    /// Whether somebody would take a part. As long as nothing is known about the cost, only the budget says so: a
    /// hungry worker may be looking at a handful of additions.
    #[inline]
    fn is_wanted(&self) -> bool {
        self.budget > 0 || self.pace.is_known() && pool::is_hungry()
    }

    /// The plan for either half after a cut.
    pub(super) fn halved(mut self) -> Plan {
        self.budget /= 2;
        self
    }

    /// The plan for a half that a thief took: where one thief was hungry there may be more.
    pub(super) fn migrated(mut self, migrated: bool) -> Plan {
        if migrated {
            self.budget = self.budget.max(pool::current_num_threads());
        }
        self
    }

    /// The length of the next block when `len` items are left.
    #[inline]
    fn next_block(&self, len: usize) -> usize {
        if len <= UNMEASURED && !self.pace.is_known() { len } else { self.pace.next_block(len) }
    }

    /// Learns from a block of `items` that began at `clock`, and sets that to the beginning of the next.
    #[inline]
    fn learn(&mut self, items: usize, clock: &mut Clock) {
        let spent = clock.lap();
        self.trial = self.trial.saturating_sub(spent);
        self.pace.learn(items, spent);
    }

    /// How many of `len` items to promise to one folder whose consumer must know in advance.
    ///
    /// They cannot be cut any more once they have begun. So the first promise is one block, and each next one twice as
    /// many, until the cost of the items jumps up; never more than a share of what is left.
    pub(super) fn stretch(&mut self, len: usize) -> usize {
        const SHARE: usize = 4;
        const JUMP: usize = 4;
        let block = self.pace.block();
        if block < self.stretch_block / JUMP {
            self.stretch_blocks = 1;
        }
        let promise = block.saturating_mul(self.stretch_blocks).min(len / SHARE);
        self.stretch_block = block;
        self.stretch_blocks = self.stretch_blocks.saturating_mul(2);
        let stretch = promise.max(block).max(self.min);
        if len.saturating_sub(stretch) < self.min { len } else { stretch }
    }
}

/// Measures one block after the other, with one look at the real clock for each.
#[derive(Debug, Default)]
pub(super) struct Clock(Option<Instant>);

impl Clock {
    /// Begins the first block. A loop of a single block never gets here.
    #[inline]
    fn start(&mut self) {
        self.0.get_or_insert_with(Instant::now);
    }

    /// How long the block took; the next one begins.
    #[inline]
    fn lap(&mut self) -> Duration {
        let now = Instant::now();
        self.0.replace(now).map_or(Duration::ZERO, |since| now.duration_since(since))
    }
}

/// Items that have not run yet.
#[derive(Debug)]
pub(super) struct Items<P> {
    pub(super) producer: P,
    pub(super) len: usize,
}

impl<P: Producer> Items<P> {
    pub(super) fn split_at(self, index: usize) -> (Items<P>, Items<P>) {
        let (near, far) = self.producer.split_at(index);
        (Items { producer: near, len: index }, Items { producer: far, len: self.len - index })
    }

    /// Runs one block and learns from it. No items are left after the last one.
    #[inline]
    pub(super) fn run_block<F>(self, folder: F, clock: &mut Clock, plan: &mut Plan) -> (F, Option<Items<P>>)
    where
        F: Folder<P::Item>,
    {
        let block = plan.next_block(self.len);
        if block >= self.len || P::COSTLY_START {
            return (self.producer.fold_with(folder), None);
        }
        clock.start();
        let (now, rest) = self.split_at(block);
        let folder = now.producer.fold_with(folder);
        plan.learn(block, clock);
        (folder, Some(rest))
    }
}
