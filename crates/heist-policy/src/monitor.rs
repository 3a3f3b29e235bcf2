//! What the monitor decides about a pool that seems stuck.

use crate::tuning::LAST_RESORT_NS;

/// Whether a spare thread should run the queued jobs now, if the program has asked for that: every thread that runs jobs has used
/// no CPU time for so long, so perhaps they all wait, unannounced, for just these jobs.
///
/// ```
/// assert!(heist_policy::last_resort(1_000_000_000));
/// assert!(!heist_policy::last_resort(999_999_999));
/// ```
#[must_use]
pub const fn last_resort(all_asleep_ns: u64) -> bool {
    all_asleep_ns >= LAST_RESORT_NS
}

/// What the monitor sees of a pool's tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TasksView {
    /// A task is queued, or sockets and timers are registered and nobody has looked at them since the last time.
    pub waiting: bool,
    /// Threads that hold a permit and have not been in the same poll or job since the last look.
    pub moving_holders: usize,
    /// Threads without a permit that run tasks, and have not been in the same poll since the last look.
    pub moving_overtakers: usize,
    /// Permits that nobody holds.
    pub free_permits: usize,
}

/// What the monitor does about a pool's tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overtake {
    /// Nothing waits, or somebody gets to it.
    No,
    /// Wake a thread for a free permit.
    Wake,
    /// Every holder of a permit is inside of one long poll or job: one more thread runs tasks without a permit.
    One,
}

/// Whether tasks wait behind polls and jobs that do not end, and who should run them.
///
/// ```
/// use heist_policy::{Overtake, TasksView, overtake};
/// let stuck = TasksView { waiting: true, ..TasksView::default() };
/// assert_eq!(overtake(stuck), Overtake::One);
/// assert_eq!(overtake(TasksView { moving_holders: 1, ..stuck }), Overtake::No);
/// assert_eq!(overtake(TasksView { free_permits: 1, ..stuck }), Overtake::Wake);
/// ```
#[must_use]
pub const fn overtake(view: TasksView) -> Overtake {
    match view {
        TasksView { waiting: false, .. } => Overtake::No,
        TasksView { free_permits: 1.., .. } => Overtake::Wake,
        TasksView { moving_holders: 0, moving_overtakers: 0, .. } => Overtake::One,
        _ => Overtake::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn somebody_is_sent_exactly_if_something_waits_and_nobody_moves() {
        for waiting in [false, true] {
            for moving_holders in 0..3 {
                for moving_overtakers in 0..3 {
                    for free_permits in 0..3 {
                        let view = TasksView { waiting, moving_holders, moving_overtakers, free_permits };
                        let expected = match (waiting, free_permits > 0, moving_holders + moving_overtakers) {
                            (true, true, _) => Overtake::Wake,
                            (true, false, 0) => Overtake::One,
                            _ => Overtake::No,
                        };
                        assert_eq!(overtake(view), expected, "{view:?}");
                    }
                }
            }
        }
    }
}
