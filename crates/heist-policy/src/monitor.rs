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

#[cfg(test)]
mod tests {
    use super::*;

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
