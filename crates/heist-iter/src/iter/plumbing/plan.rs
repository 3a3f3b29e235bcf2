//! When to cut an indexed loop, and how far to run before asking again.

use super::chain;
use super::habit::{self, Habit, Inside};
use super::pace::Pace;
use super::{Folder, Producer};
use crate::pool::{self, Demand};
use heist_sync::clock::Moment;

/// A loop of light items first runs alone for so long, even if somebody is awake: it may be a search that succeeds early.
const TRIAL_NS: u64 = 1_000;

/// A loop that is expected to last longer than this begins with blocks of the expected length; a shorter one is over at once.
pub(super) const WORTH_NS: u64 = 8_000;

/// Nobody is woken for light items before they have been run for so long: a search may be over by then, and a wake-up costs its waker as
/// much.
const WAKE_AFTER_NS: u64 = 8_000;

/// Nor if less than this is left, together with the loops just before: several wake-ups' worth, because whoever wakes comes late and with
/// cold caches.
const WAKE_LEFT_NS: u64 = 150_000;

/// The trial runs at least one item. With fewer items per worker than this, one item is too large a share of the loop
/// to be run while the other workers wait, as long as nothing is known about it.
const TRIAL_ITEMS_PER_WORKER: usize = 16;

/// What has just been offered may be private until a thief has found it and asked for it, and is handed over between
/// blocks. And whoever has just ended its part of the loop before this one begins to search a moment later. So the first blocks after an
/// offer, and after the beginning, are short.
const SHORT_BLOCKS: u32 = 4;

/// Stretches of at least this share of a loop are worth remembering.
const TELLING: usize = 8;

/// What is known about dividing a run of items.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    min: usize,
    max: usize,
    /// Cuts to make without being asked, halved by each one: enough parts for every worker.
    budget: usize,
    /// What is left of [`TRIAL_NS`].
    trial_ns: u64,
    /// For how long items have been run.
    spent_ns: u64,
    pace: Pace,
    habit: Habit,
    /// The items of the whole loop.
    whole: usize,
    /// How many loops enclose this one.
    depth: u32,
    /// Nothing has been remembered: whatever is left is measured, too.
    is_new: bool,
    /// Nothing was cut off.
    is_whole: bool,
    /// Short blocks to come, after each of which an offer can be handed over.
    short_blocks: u32,
    /// The block when the last stretch was promised, and how many of them the next one may have.
    stretch_block: usize,
    stretch_blocks: usize,
    /// For a profile.
    blocks: pool::Blocks,
}

/// Which loop it is, before anything is known about its items.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    pub(super) habit: Habit,
    /// How many loops enclose it.
    pub(super) depth: u32,
}

impl Kind {
    /// A loop from `P` into `C` that the calling thread begins here.
    #[inline]
    pub(super) fn of<P, C>() -> Kind {
        let depth = habit::depth();
        Kind { habit: Habit::of::<P, C>(depth), depth }
    }
}

/// Whether both halves of `len` items would be parts of at least `min`.
#[inline]
pub(super) fn is_divisible(min: usize, len: usize) -> bool {
    len / 2 >= min.max(1)
}

impl Plan {
    /// The plan for a whole loop of `len` items, in parts of `min` to `max`.
    pub(super) fn new(kind: Kind, min: usize, max: usize, len: usize) -> Plan {
        let Kind { habit, depth } = kind;
        let workers = pool::workers();
        let expected_ns = habit.expect_ns(len);
        let (budget, trial_ns, pace) = match expected_ns {
            // As with `join`: each may wait for the others.
            _ if len <= workers => (workers, 0, Pace::UNKNOWN),
            Some(expected) if expected >= WORTH_NS => {
                let pace = Pace::guessed(len, expected);
                if pace.is_light() { (0, TRIAL_NS, pace) } else { (workers, 0, pace) }
            }
            Some(_) => (0, TRIAL_NS, Pace::little(len)),
            None if len / TRIAL_ITEMS_PER_WORKER >= workers => (workers, TRIAL_NS, Pace::UNKNOWN),
            None => (workers, 0, Pace::UNKNOWN),
        };
        Plan {
            min: min.max(1),
            max: max.max(1),
            budget: if workers > 1 { budget } else { 0 },
            trial_ns,
            spent_ns: 0,
            pace,
            habit,
            whole: len,
            depth,
            is_new: expected_ns.is_none(),
            is_whole: true,
            short_blocks: if pace.is_known() { SHORT_BLOCKS } else { 0 },
            stretch_block: 0,
            stretch_blocks: 1,
            blocks: pool::Blocks::default(),
        }
    }

    /// Whether to cut `len` items that have not run yet; `is_fresh` if their folder has not taken any before.
    pub(super) fn wants_cut(&self, len: usize, is_fresh: bool) -> bool {
        if !is_divisible(self.min, len) {
            return false;
        }
        // INVARIANT: a folder gets at most `max` items, because whatever it begins with is not longer.
        let must = is_fresh && len > self.max;
        must || self.trial_ns == 0 && !self.pace.is_small(len) && self.is_wanted(len)
    }

    /// Whether somebody would take a part of `len` items. As long as nothing is known about the cost, only the budget says so: whoever
    /// searches may be looking at a handful of additions.
    #[inline]
    fn is_wanted(&self, len: usize) -> bool {
        if !self.pace.is_light() && self.budget > 0 {
            return true;
        }
        match if self.pace.is_known() { pool::demand() } else { Demand::None } {
            Demand::None => false,
            Demand::Awake | Demand::Anybody => true,
            Demand::Asleep => self.would_wake(len),
        }
    }

    /// Whether `len` items are worth a wake-up.
    pub(super) fn would_wake(&self, len: usize) -> bool {
        if !self.pace.is_light() {
            return true;
        }
        let before_ns = chain::before(self.spent_ns);
        before_ns + self.spent_ns >= WAKE_AFTER_NS && before_ns + self.pace.expect_ns(len) >= WAKE_LEFT_NS
    }

    /// Where to cut `len` items: in the middle, or before the first if this thread should not run any of them.
    pub(super) fn cut_at(&self, len: usize) -> usize {
        if pool::demand() == Demand::Anybody { 0 } else { len / 2 }
    }

    /// The plan for either half after a cut.
    pub(super) fn halved(mut self) -> Plan {
        self.budget /= 2;
        self.short_blocks = SHORT_BLOCKS;
        if self.is_whole {
            // Who takes the rest is awake for the next loop, too.
            chain::end();
            self.is_whole = false;
        }
        self
    }

    /// The plan for the far half after a cut; `is_migrated` if a thief took it.
    pub(super) fn far_half(self, is_migrated: bool) -> Plan {
        let mut plan = self.halved();
        plan.blocks = pool::Blocks::default();
        if is_migrated {
            plan.spent_ns = WAKE_AFTER_NS;
            // Where one thief was wanting there may be more. Light items come to an end often enough to ask then.
            if !plan.pace.is_light() {
                plan.budget = plan.budget.max(pool::workers());
            }
        }
        plan
    }

    /// The length of the next block when `len` items are left.
    #[inline]
    fn next_block(&mut self, len: usize) -> usize {
        if self.short_blocks > 0 {
            self.short_blocks -= 1;
            self.pace.short_block(len)
        } else {
            self.pace.next_block(len)
        }
    }

    /// Learns from a block of `items` that took `spent_ns`.
    #[inline]
    pub(super) fn learn(&mut self, items: usize, spent_ns: u64) {
        self.trial_ns = self.trial_ns.saturating_sub(spent_ns);
        self.spent_ns += spent_ns;
        self.pace.learn(items, spent_ns);
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

/// Measures one block after the other, with one look at the clock for each.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// When the first block began, and the current one.
    begun: Option<Moment>,
    since: Option<Moment>,
    /// The items of all measured blocks, and what they took.
    items: usize,
    spent_ns: u64,
}

impl Clock {
    /// Begins the first block. A loop of a single block never gets here.
    #[inline]
    pub(super) fn start(&mut self) {
        if self.since.is_none() {
            self.since = Some(Moment::now());
            self.begun = self.since;
        }
    }

    /// How many nanoseconds the block of `items` took; the next one begins.
    #[inline]
    pub(super) fn lap(&mut self, items: usize) -> u64 {
        let now = Moment::now();
        let spent_ns = self.since.replace(now).map_or(0, |since| now.ns_since(since));
        self.items += items;
        self.spent_ns += spent_ns;
        spent_ns
    }

    /// How many items have been measured.
    #[inline]
    pub(super) fn items(&self) -> usize {
        self.items
    }

    /// How long they took.
    #[inline]
    pub(super) fn spent_ns(&self) -> u64 {
        self.spent_ns
    }

    /// Whether a good share of the loop has been measured.
    #[inline]
    fn is_telling(&self, plan: &Plan) -> bool {
        self.items.saturating_mul(TELLING) >= plan.whole
    }

    /// The last block has ended.
    pub(super) fn end(&self, plan: &Plan) {
        self.stop(plan);
        if plan.is_whole
            && let Some(begun) = self.begun
        {
            chain::add(begun);
        }
    }

    /// Ends the stretch.
    pub(super) fn stop(&self, plan: &Plan) {
        // A few items of many may be unlike the others, but are better than nothing.
        if self.items > 0 && (self.is_telling(plan) || plan.is_new) {
            plan.habit.learn(self.items, self.spent_ns);
        }
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
    pub(super) fn run_block<F>(self, folder: F, clock: &mut Clock, plan: &mut Plan) -> (F, Option<Items<P>>)
    where
        F: Folder<P::Item>,
    {
        let block = Block::begin(plan, clock, self.len, P::COSTLY_START);
        let (now, rest) = if block.is_last {
            (self.producer, None)
        } else {
            let (now, rest) = self.split_at(block.len);
            (now.producer, Some(rest))
        };
        // In one place only: what is inlined there is the user's loop.
        let folder = fold(now, folder);
        block.end(plan, clock, folder.full());
        (folder, rest)
    }
}

/// The user's loop over one block. Apart from whoever decides about blocks and parts: among all that, the compiler would keep the loop's
/// variables in memory.
#[inline(never)]
pub(super) fn fold<P: Producer, F: Folder<P::Item>>(producer: P, folder: F) -> F {
    producer.fold_with(folder)
}

/// What a block is about to do, whatever its items are: this is compiled once for all loops.
#[derive(Debug)]
struct Block {
    len: usize,
    is_last: bool,
    is_measured: bool,
    _inside: Inside,
}

impl Block {
    /// The next block of `len` items, all of them if it `is_whole`.
    fn begin(plan: &mut Plan, clock: &mut Clock, len: usize, is_whole: bool) -> Block {
        let inside = Inside::of(plan.depth);
        plan.blocks.begin();
        let block = plan.next_block(len);
        let is_last = block >= len || is_whole;
        // What is left of a known loop is not worth the looks at the clock, unless so little was measured before that it would not be
        // remembered: then a memory that was wrong once would be so for ever.
        let is_measured = !is_last || plan.is_new || clock.items > 0 && !clock.is_telling(plan);
        if is_measured {
            clock.start();
        }
        Block { len: if is_last { len } else { block }, is_last, is_measured, _inside: inside }
    }

    /// How many of its items have run is not known if the folder was full before its end. To believe that all have would make them look as if they cost
    /// next to nothing: then one item that is everything would be run before the others are shared.
    fn end(self, plan: &mut Plan, clock: &mut Clock, is_full: bool) {
        plan.blocks.end();
        if self.is_measured && !is_full {
            plan.learn(self.len, clock.lap(self.len));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As many items as the length says.
    struct Light(usize);

    impl Producer for Light {
        type Item = usize;
        type IntoIter = std::ops::Range<usize>;

        fn into_iter(self) -> Self::IntoIter {
            0..self.0
        }

        fn split_at(self, index: usize) -> (Self, Self) {
            (Light(index), Light(self.0 - index))
        }
    }

    struct Count(usize);

    impl Folder<usize> for Count {
        type Result = usize;

        fn consume(self, _item: usize) -> Self {
            Count(self.0 + 1)
        }

        fn complete(self) -> usize {
            self.0
        }

        fn full(&self) -> bool {
            false
        }
    }

    /// Takes nothing.
    struct Full;

    impl Folder<usize> for Full {
        type Result = ();

        fn consume(self, _item: usize) -> Self {
            self
        }

        fn complete(self) {}

        fn full(&self) -> bool {
            true
        }
    }

    /// A search that is over with its first item says nothing about the others.
    #[test]
    fn what_ends_early_is_not_taken_for_cheap() {
        struct Searched;
        let habit = Habit::of::<Searched, u8>(0);
        habit.learn(1, 20_000);
        for _ in 0..100 {
            let mut plan = Plan::new(Kind { habit, depth: 0 }, 1, usize::MAX, 1_000);
            let mut clock = Clock::default();
            let (_, rest) =
                Items { producer: Light(1_000), len: 1_000 }.run_block(Full, &mut clock, &mut plan);
            clock.stop(&plan);
            assert!(rest.is_some());
        }
        assert_eq!(habit.expect_ns(1), Some(20_000));
    }

    /// However few items a loop has, one that was slow once is not taken for a slow one for ever.
    #[test]
    fn what_was_remembered_wrong_is_corrected() {
        struct Slow<const N: usize>;
        fn is_corrected<const N: usize>() -> bool {
            let habit = Habit::of::<Slow<N>, u8>(0);
            habit.learn(1, 20_000);
            (0..1_000).any(|_| {
                let mut plan = Plan::new(Kind { habit, depth: 0 }, 1, usize::MAX, N);
                let (mut clock, mut rest) = (Clock::default(), Some(Items { producer: Light(N), len: N }));
                let mut count = Count(0);
                while let Some(items) = rest {
                    (count, rest) = items.run_block(count, &mut clock, &mut plan);
                }
                clock.stop(&plan);
                assert_eq!(count.complete(), N);
                habit.expect_ns(1).is_some_and(|expected| expected < 2_000)
            })
        }
        assert!(is_corrected::<9>());
        assert!(is_corrected::<16>());
        assert!(is_corrected::<100>());
        assert!(is_corrected::<1_000>());
    }
}
