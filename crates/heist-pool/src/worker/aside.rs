//! Standing aside: a thread whose permit is not active any more lets others have the rest of a loop, in the middle of it.
//!
//! Permits are given up at job boundaries, and a part of a long loop may take seconds. Between two blocks nothing of the loop is on the
//! stack, so there the rest can go to a thread that still has a permit: it is pushed as the other half of a fork, and this thread waits for
//! a thief. But not forever: the program may hold a lock around the loop for which those others wait. So after a while this thread runs
//! a little of the rest itself, and stands aside again. Each such turn is a fork inside of the last one, so both times double from turn
//! to turn: there are few, however long it takes. When there are more permits again it goes on as soon as one is free; until then those who have one
//! take its rest. Only where no permit is active at all does it wait as long as that is so.

use super::me::Me;
use super::permit::{Lends, OwnPermit};
use super::shared::{Doing, Role};
use crate::metrics::WorkerState;
use crate::permits::Count;
use heist_policy::tuning;
use heist_sync::clock::Instant;
use std::cell::Cell;
use std::time::Duration;

/// A thread that has stood aside in vain.
#[derive(Default)]
pub(super) struct Aside {
    /// Until when it goes on.
    until: Cell<Option<Instant>>,
    /// How often in a row nobody has taken what it offered.
    turns: Cell<u32>,
    /// It has gone on without a permit. There may be as many again as ever, and others have them.
    is_left_out: Cell<bool>,
}

impl Aside {
    /// The thread leaves. If it comes again, that is another time.
    pub fn forget(&self) {
        self.until.set(None);
        self.turns.set(0);
        self.is_left_out.set(false);
    }

    /// Whether this thread should leave the rest of what it does to others: its permit is not active any more, or it has none because
    /// there are fewer.
    #[inline]
    pub fn is_retired(&self, me: &Me, permit: &OwnPermit) -> bool {
        let active = me.pool.active();
        (active < me.pool.parallelism() || self.is_left_out.get()) && self.is_retired_of(active, permit)
    }

    #[cold]
    fn is_retired_of(&self, active: usize, permit: &OwnPermit) -> bool {
        let is_retired = match permit.index() {
            Some(index) => usize::from(index) >= active,
            None => permit.role() == Role::Resumed,
        };
        self.is_left_out.set(is_retired && self.is_left_out.get());
        is_retired && (active == 0 || self.until.get().is_none_or(|until| Instant::now() >= until))
    }

    /// Waits until a thief has taken what was forked last on this thread, or the thread is not retired any more, or for long enough.
    /// Nothing happens if it is not.
    pub fn stand(&self, me: &Me, permit: &OwnPermit) {
        if !self.is_retired(me, permit) {
            return;
        }
        let look = Duration::from_nanos(tuning::ASIDE_LOOK_NS);
        let doing = me.shared.set_doing(Doing::Wait);
        let spent = me.spend_on(WorkerState::Waiting);
        // Shares everything, and leaves the permit to those who have asked for its index.
        let lent = permit.lend(me, Lends::Awake);
        let turns = self.turns.replace(0);
        let since = Instant::now();
        let is_over = || since.elapsed().as_nanos() >= u128::from(tuning::ASIDE_NS << turns);
        while me.shared.stack.has_pending(me.hot) {
            let active = me.pool.active();
            let is_back = |index: u16| usize::from(index) < active;
            // Those who have a permit take the rest, unless there is one for this thread as well, or it is to have its own back.
            let may_have = || me.permits().count(Count::Free) > 0 || permit.has_observed();
            if (active == me.pool.parallelism() || lent.is_some_and(is_back)) && may_have() {
                break;
            }
            if active > 0 && is_over() {
                let slice = Duration::from_nanos(tuning::ASIDE_SLICE_NS << turns);
                self.until.set(Some(Instant::now() + slice));
                self.turns.set((turns + 1).min(tuning::ASIDE_DOUBLINGS));
                break;
            }
            // Nobody tells that something was stolen. This is rare, and short.
            me.shared.parker().park_timeout(look);
        }
        me.shared.set_doing(doing);
        permit.resume(me, lent);
        self.is_left_out.set(permit.index().is_none());
        me.spend_on(spent);
    }
}
