//! Loops that are expected to be over at once.
//!
//! Whatever is decided about a loop of a hundred additions takes longer than the additions. If the loop is known to be
//! one of that kind, a share of it runs first, and is timed. If that took as little as expected, all the rest runs in one
//! go, and nothing else is looked at. If not, the loop goes on as any other of which a block has been run.

use super::habit::Inside;
use super::plan::{Clock, Kind, Plan, WORTH_NS};
use crate::pool;

/// The first share of a brief loop.
const SHARE: usize = 8;

/// The first share of a loop that should be over at once, while it runs.
#[derive(Debug)]
pub(super) struct Brief {
    kind: Kind,
    len: usize,
    first: usize,
    clock: Clock,
    blocks: pool::Blocks,
    _inside: Inside,
}

impl Brief {
    /// Begins a loop of `len` items, if it is expected to be brief; `max` is the most that one part may have.
    #[inline]
    pub(super) fn begin(kind: Kind, max: usize, len: usize) -> Option<Brief> {
        let is_brief = kind.habit.expect_ns(len).is_some_and(|expected| expected <= WORTH_NS);
        if !is_brief || len > max || len <= pool::workers() {
            return None;
        }
        let mut blocks = pool::Blocks::default();
        blocks.begin();
        let mut clock = Clock::default();
        clock.start();
        Some(Brief { kind, len, first: len.div_ceil(SHARE), clock, blocks, _inside: Inside::of(kind.depth) })
    }

    /// How many items run first.
    #[inline]
    pub(super) fn first(&self) -> usize {
        self.first
    }

    /// The first share has run. Whether the rest may run at once.
    #[inline]
    pub(super) fn is_brief(&mut self) -> bool {
        let spent_ns = self.clock.lap(self.first);
        spent_ns.saturating_mul(SHARE as u64 - 1) <= WORTH_NS
    }

    /// All has run.
    #[inline]
    pub(super) fn end(self) {
        self.blocks.end();
        self.kind.habit.learn(self.clock.items(), self.clock.spent_ns());
    }

    /// The loop was full within the first share. How many of its items have run is not known, so nothing is learnt of what they cost.
    #[inline]
    pub(super) fn end_full(self) {
        self.blocks.end();
    }

    /// The first share took longer than that of a brief loop: how to go on.
    #[cold]
    pub(super) fn disappoint(self, min: usize, max: usize) -> (Plan, Clock) {
        self.blocks.end();
        let mut plan = Plan::new(self.kind, min, max, self.len);
        plan.learn(self.first, self.clock.spent_ns());
        (plan, self.clock)
    }
}

#[cfg(test)]
mod tests {
    use super::super::habit::Habit;
    use super::*;
    use heist_sync::clock::Moment;

    /// A kind of loop of which a hundred items took a hundred nanoseconds.
    fn light<T>() -> Kind {
        let kind = Kind { habit: Habit::of::<T, Brief>(0), depth: 0 };
        kind.habit.learn(100, 100);
        kind
    }

    #[test]
    fn what_is_not_known_to_be_brief_is_not_taken_for_it() {
        struct Light;
        struct New;
        let kind = light::<Light>();
        let items = WORTH_NS as usize;
        assert!(Brief::begin(kind, usize::MAX, items).is_some());
        assert!(Brief::begin(kind, usize::MAX, items + 100).is_none());
        assert!(Brief::begin(kind, items - 1, items).is_none(), "it has to be divided");
        assert!(Brief::begin(kind, usize::MAX, pool::workers()).is_none(), "each may wait for the others");
        let new = Kind { habit: Habit::of::<New, Brief>(0), depth: 0 };
        assert!(new.habit.expect_ns(1).is_some() || Brief::begin(new, usize::MAX, 100).is_none());
    }

    #[test]
    fn a_loop_whose_items_have_become_long_is_divided_after_its_first_share() {
        struct Light;
        let kind = light::<Light>();
        let mut brief = Brief::begin(kind, usize::MAX, 1_000).unwrap();
        assert_eq!(brief.first(), 125);
        let begun = Moment::now();
        while Moment::now().ns_since(begun) < 1_000_000 {}
        assert!(!brief.is_brief());
        let (plan, clock) = brief.disappoint(1, usize::MAX);
        assert_eq!(clock.items(), 125);
        assert!(plan.would_wake(875), "7 ms are left");
        clock.stop(&plan);
        assert!(
            kind.habit.expect_ns(1_000).is_some_and(|expected| expected > 100_000),
            "and is remembered so"
        );
    }

    #[test]
    fn a_loop_that_is_as_short_as_ever_is_over() {
        struct Light;
        let kind = light::<Light>();
        // Something else may take the CPU away, but not every time.
        let is_over = (0..1_000).any(|_| {
            let mut brief = Brief::begin(kind, usize::MAX, 100).unwrap();
            let is_brief = brief.is_brief();
            if is_brief {
                brief.end();
            }
            is_brief
        });
        assert!(is_over);
        assert!(kind.habit.expect_ns(100).is_some_and(|expected| expected <= WORTH_NS));
    }
}
