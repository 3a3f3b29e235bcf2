//! Standing aside: a thread whose permit is not active any more lets others have the rest of a loop, in the middle of it.
//!
//! Permits are given up at job boundaries, and a part of a long loop may take seconds. Between two blocks nothing of the loop is on the
//! stack, so there the rest can go to a thread that still has a permit: it is pushed as the other half of a fork, and this thread waits for
//! a thief. But not for ever: the program may hold a lock around the loop for which those others wait. So after a while this thread runs
//! a little of the rest itself, and stands aside again. Only where no permit is active at all does it wait as long as that is so.

use super::Worker;
use super::shared::{Doing, Role};
use heist_policy::tuning;
use heist_sync::clock::Instant;
use std::cell::Cell;
use std::time::Duration;

/// Until when a thread goes on although it should stand aside, because nobody has taken what it offered.
#[derive(Default)]
pub(super) struct Aside(Cell<Option<Instant>>);

impl Worker {
    /// Whether this thread should leave the rest of what it does to others: its permit is not active any more, or it has none because
    /// there are fewer.
    #[inline]
    pub fn is_retired(&self) -> bool {
        let active = self.me.pool.active();
        active < self.me.pool.parallelism() && self.is_retired_of(active)
    }

    #[cold]
    fn is_retired_of(&self, active: usize) -> bool {
        let is_retired = match self.permit.index() {
            Some(index) => usize::from(index) >= active,
            None => self.permit.role() == Role::Resumed,
        };
        is_retired && self.aside.0.get().is_none_or(|until| Instant::now() >= until)
    }

    /// Waits until a thief has taken what was forked last on this thread, or the thread is not retired any more, or for long enough.
    /// Nothing happens if it is not.
    pub fn stand_aside(&self) {
        if !self.is_retired() {
            return;
        }
        let me = &self.me;
        let look = Duration::from_nanos(tuning::ASIDE_LOOK_NS);
        let doing = me.shared.set_doing(Doing::Wait);
        // Shares everything, and leaves the permit to those who have asked for its index.
        let lent = self.permit.lend(me, false);
        let since = Instant::now();
        let is_over = || since.elapsed().as_nanos() >= u128::from(tuning::ASIDE_NS);
        while me.shared.stack.has_pending(me.hot) {
            let active = me.pool.active();
            if active == me.pool.parallelism() || active > 0 && is_over() {
                self.aside.0.set(Some(Instant::now() + Duration::from_nanos(tuning::ASIDE_SLICE_NS)));
                break;
            }
            // Nobody tells that something was stolen. This is rare, and short.
            me.shared.parker().park_timeout(look);
        }
        me.shared.set_doing(doing);
        self.permit.resume(me, lent);
    }
}
