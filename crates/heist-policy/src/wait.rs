//! What a worker does while its own join, scope or install is not finished and it has nothing of its own to run.

use crate::tuning::SPIN_BEFORE_BLOCK_NS;

/// What a waiter can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitView {
    /// How long it has spun since it last ran something.
    pub spun_ns: u64,
}

/// What the waiter does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitStep {
    /// Yield and look again.
    Spin,
    /// Give the permit to another thread, then block; the core goes on working.
    Lend,
}

/// A waiter runs only what ends its wait. With nothing of its own it spins, then gives its permit away and sleeps.
///
/// ```
/// use heist_policy::{WaitStep, WaitView, tuning::SPIN_BEFORE_BLOCK_NS, wait_step};
/// assert_eq!(wait_step(WaitView { spun_ns: 0 }), WaitStep::Spin);
/// assert_eq!(wait_step(WaitView { spun_ns: SPIN_BEFORE_BLOCK_NS }), WaitStep::Lend);
/// ```
#[must_use]
pub const fn wait_step(view: WaitView) -> WaitStep {
    if view.spun_ns < SPIN_BEFORE_BLOCK_NS { WaitStep::Spin } else { WaitStep::Lend }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_table() {
        for (spun_ns, expected) in [
            (0, WaitStep::Spin),
            (SPIN_BEFORE_BLOCK_NS - 1, WaitStep::Spin),
            (SPIN_BEFORE_BLOCK_NS, WaitStep::Lend),
            (u64::MAX, WaitStep::Lend),
        ] {
            assert_eq!(wait_step(WaitView { spun_ns }), expected, "{spun_ns}");
        }
    }
}
