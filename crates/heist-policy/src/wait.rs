//! What a worker does while its own join, scope or install is not finished.

use crate::tuning::SPIN_BEFORE_BLOCK_NS;

/// What a waiter can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitView {
    /// Something that this wait needs can be run now: its other half, its scope's jobs, or their descendants.
    pub own_work: bool,
    /// How long it has spun since it last ran something.
    pub spun_ns: u64,
    /// It holds an index, and a thread that could use it exists or can be started.
    pub can_lend: bool,
}

/// What the waiter does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitStep {
    /// Run its own work; never a stranger's.
    RunOwn,
    /// Yield and look again.
    Spin,
    /// Give the index to another thread, then block; the core goes on working.
    Lend,
    /// Block with what it has: there is nothing to lend or nobody to lend to.
    Block,
}

/// A waiter runs only what ends its wait. With nothing of its own it spins, then gives its place away and sleeps.
///
/// ```
/// use heist_policy::{WaitStep, WaitView, tuning::SPIN_BEFORE_BLOCK_NS, wait_step};
/// let mut view = WaitView { own_work: false, spun_ns: 0, can_lend: true };
/// assert_eq!(wait_step(view), WaitStep::Spin);
/// view.spun_ns = SPIN_BEFORE_BLOCK_NS;
/// assert_eq!(wait_step(view), WaitStep::Lend);
/// view.own_work = true;
/// assert_eq!(wait_step(view), WaitStep::RunOwn);
/// ```
#[must_use]
pub const fn wait_step(view: WaitView) -> WaitStep {
    if view.own_work {
        WaitStep::RunOwn
    } else if view.spun_ns < SPIN_BEFORE_BLOCK_NS {
        WaitStep::Spin
    } else if view.can_lend {
        WaitStep::Lend
    } else {
        WaitStep::Block
    }
}

#[cfg(test)]
mod tests {
    use super::WaitStep::*;
    use super::*;

    #[test]
    fn the_whole_table() {
        const LIMIT: u64 = SPIN_BEFORE_BLOCK_NS;
        //           own    lend     0       limit-1 limit   for ever
        let table = [
            (false, false, [Spin, Spin, Block, Block]),
            (false, true, [Spin, Spin, Lend, Lend]),
            (true, false, [RunOwn, RunOwn, RunOwn, RunOwn]),
            (true, true, [RunOwn, RunOwn, RunOwn, RunOwn]),
        ];
        for (own_work, can_lend, row) in table {
            for (spun_ns, expected) in [0, LIMIT - 1, LIMIT, u64::MAX].into_iter().zip(row) {
                let view = WaitView { own_work, spun_ns, can_lend };
                assert_eq!(wait_step(view), expected, "{view:?}");
            }
        }
    }
}
