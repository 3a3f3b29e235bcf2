//! What the monitor decides about a pool that seems stuck.

use crate::tuning::LAST_RESORT_NS;

/// What the monitor can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MonitorView {
    /// For how long every thread that holds a permit has been asleep in the kernel without using CPU time; 0 as soon as
    /// one of them computes.
    pub all_holders_asleep_ns: u64,
    /// Jobs wait in a queue.
    pub jobs_queued: bool,
}

/// Whether spare threads without an index should run the queued jobs now, because those who should are all blocked,
/// unannounced, and perhaps on just these jobs.
///
/// A worker that computes, for however long, is not stuck: then the answer is no.
///
/// ```
/// use heist_policy::{MonitorView, last_resort};
/// assert!(last_resort(MonitorView { all_holders_asleep_ns: 1_000_000_000, jobs_queued: true }));
/// assert!(!last_resort(MonitorView { all_holders_asleep_ns: 1_000_000_000, jobs_queued: false }));
/// ```
#[must_use]
pub const fn last_resort(view: MonitorView) -> bool {
    view.jobs_queued && view.all_holders_asleep_ns >= LAST_RESORT_NS
}

/// What the monitor sees of a pool's tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TasksView {
    /// A task is queued, or sockets and timers are registered and nobody has looked at them since the last time.
    pub waiting: bool,
    /// Threads that hold an index and have not been in the same turn since the last look.
    pub moving_holders: usize,
    /// Threads without an index that run tasks, and have not been in the same turn since the last look.
    pub moving_overtakers: usize,
    /// Indices that nobody holds.
    pub free_indices: usize,
}

/// What the monitor does about a pool's tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overtake {
    /// Nothing waits, or somebody gets to it.
    No,
    /// Wake a thread for a free index.
    Wake,
    /// Every holder of an index is inside of one long turn: one more thread runs tasks without an index.
    One,
}

/// Whether tasks wait behind turns that do not end, and who should run them.
///
/// ```
/// use heist_policy::{Overtake, TasksView, overtake};
/// let stuck = TasksView { waiting: true, ..TasksView::default() };
/// assert_eq!(overtake(stuck), Overtake::One);
/// assert_eq!(overtake(TasksView { moving_holders: 1, ..stuck }), Overtake::No);
/// assert_eq!(overtake(TasksView { free_indices: 1, ..stuck }), Overtake::Wake);
/// ```
#[must_use]
pub const fn overtake(view: TasksView) -> Overtake {
    match view {
        TasksView { waiting: false, .. } => Overtake::No,
        TasksView { free_indices: 1.., .. } => Overtake::Wake,
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
                    for free_indices in 0..3 {
                        let view = TasksView { waiting, moving_holders, moving_overtakers, free_indices };
                        let expected = match (waiting, free_indices > 0, moving_holders + moving_overtakers) {
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

    #[test]
    fn the_whole_table() {
        for (all_holders_asleep_ns, long_enough) in
            [(0, false), (LAST_RESORT_NS - 1, false), (LAST_RESORT_NS, true), (u64::MAX, true)]
        {
            for jobs_queued in [false, true] {
                let view = MonitorView { all_holders_asleep_ns, jobs_queued };
                assert_eq!(last_resort(view), long_enough && jobs_queued, "{view:?}");
            }
        }
    }
}
