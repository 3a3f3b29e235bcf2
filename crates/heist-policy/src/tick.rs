//! Which tick is run next, by whom, and when it is due again.
//!
//! Times are nanoseconds since the pool's epoch.

use crate::tuning::{CLOSURES_IN_A_ROW_NS, CLOSURES_STOP_BEFORE_NS, TICKS_WINDOW_NS};

/// What a worker sees of another index's tick queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickView {
    /// When its first tick is due.
    pub due_ns: u64,
    /// From when on others may take that tick.
    pub stealable_ns: u64,
}

/// Whose first tick to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TickChoice {
    /// That of the own index.
    Own,
    /// That of another index.
    Steal(usize),
}

/// The most overdue of the own first tick and of those others that may be taken; the own one if they are equally late. `None` if none
/// is due.
///
/// ```
/// use heist_policy::{TickChoice, TickView, next_tick};
/// let late = TickView { due_ns: 10, stealable_ns: 50 };
/// assert_eq!(next_tick(40, Some(20), [(1, late)].into_iter()), Some(TickChoice::Own));
/// assert_eq!(next_tick(60, Some(20), [(1, late)].into_iter()), Some(TickChoice::Steal(1)));
/// assert_eq!(next_tick(5, Some(20), [(1, late)].into_iter()), None);
/// ```
#[must_use]
pub fn next_tick(
    now_ns: u64,
    own: Option<u64>,
    others: impl Iterator<Item = (usize, TickView)>,
) -> Option<TickChoice> {
    let own = own.filter(|&due| due <= now_ns).map(|due| (due, TickChoice::Own));
    let others = others
        .filter(|(_, view)| view.due_ns.max(view.stealable_ns) <= now_ns)
        .map(|(index, view)| (view.due_ns, TickChoice::Steal(index)));
    // The first of equals is kept, and the own one comes first.
    let most_overdue = own.into_iter().chain(others).reduce(|a, b| if b.0 < a.0 { b } else { a });
    most_overdue.map(|(_, choice)| choice)
}

/// When the next of these ticks may be taken, by a thread that waits for it.
///
/// ```
/// use heist_policy::{TickView, nearest};
/// let views = [TickView { due_ns: 10, stealable_ns: 50 }, TickView { due_ns: 30, stealable_ns: 30 }];
/// assert_eq!(nearest(views.into_iter()), Some(30));
/// assert_eq!(nearest([].into_iter()), None);
/// ```
#[must_use]
pub fn nearest(views: impl Iterator<Item = TickView>) -> Option<u64> {
    views.map(|view| view.due_ns.max(view.stealable_ns)).min().filter(|&at| at != u64::MAX)
}

/// What happens to the periods that a tick has missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overrun {
    /// They are skipped, with a count, and the tick keeps its phase: runs stay at multiples of the period.
    #[default]
    Skip,
    /// At most so many of them are caught up, one run after the other; more are skipped, with a count.
    Burst(u32),
    /// The next run comes a period after the late one has begun. Nothing is skipped.
    Delay,
}

/// What follows from the beginning of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AfterRun {
    /// When the next run is due.
    pub next_ns: u64,
    /// Periods that are never run, which this run stands for as well.
    pub skipped: u64,
}

impl AfterRun {
    /// How many periods the run stands for.
    #[must_use]
    pub const fn count(self) -> u64 {
        self.skipped.saturating_add(1)
    }
}

/// A run that was due at `due_ns` begins at `started_ns`: when the next one is due, and what is skipped.
///
/// ```
/// use heist_policy::{AfterRun, Overrun, after_run};
/// // Due at 100, every 10, and it begins at 135: 110, 120 and 130 are missed.
/// assert_eq!(after_run(Overrun::Skip, 100, 135, 10), AfterRun { next_ns: 140, skipped: 3 });
/// assert_eq!(after_run(Overrun::Burst(2), 100, 135, 10), AfterRun { next_ns: 120, skipped: 1 });
/// assert_eq!(after_run(Overrun::Delay, 100, 135, 10), AfterRun { next_ns: 145, skipped: 0 });
/// ```
///
/// # Panics
/// If the period is zero.
#[must_use]
pub const fn after_run(overrun: Overrun, due_ns: u64, started_ns: u64, period_ns: u64) -> AfterRun {
    let missed = started_ns.saturating_sub(due_ns) / period_ns;
    let skipped = match overrun {
        Overrun::Skip => missed,
        Overrun::Burst(most) => missed.saturating_sub(most as u64),
        Overrun::Delay => {
            let began_ns = if started_ns > due_ns { started_ns } else { due_ns };
            return AfterRun { next_ns: began_ns.saturating_add(period_ns), skipped: 0 };
        }
    };
    let periods = skipped.saturating_add(1);
    AfterRun { next_ns: due_ns.saturating_add(periods.saturating_mul(period_ns)), skipped }
}

/// Whether a worker that has spent `tick_ns` of the last `window_ns` on ticks must let jobs and tasks go first: ticks
/// have at most 95 %.
///
/// ```
/// assert!(heist_policy::ticks_must_yield(96_000_000, 100_000_000));
/// assert!(!heist_policy::ticks_must_yield(95_000_000, 100_000_000));
/// // A window that has only begun says nothing yet.
/// assert!(!heist_policy::ticks_must_yield(1_000_000, 1_000_000));
/// ```
#[must_use]
pub const fn ticks_must_yield(tick_ns: u64, window_ns: u64) -> bool {
    let window_ns = if window_ns < TICKS_WINDOW_NS { TICKS_WINDOW_NS } else { window_ns };
    tick_ns > window_ns / 100 * 95
}

/// Whether one more submitted closure may begin, after `spent_ns` of them in a row, with the worker's next tick due in `until_due_ns`.
///
/// ```
/// assert!(heist_policy::closures_may_go_on(0, 200_000));
/// assert!(!heist_policy::closures_may_go_on(0, 50_000));
/// assert!(!heist_policy::closures_may_go_on(2_000_000, u64::MAX));
/// ```
#[must_use]
pub const fn closures_may_go_on(spent_ns: u64, until_due_ns: u64) -> bool {
    spent_ns < CLOSURES_IN_A_ROW_NS && until_due_ns >= CLOSURES_STOP_BEFORE_NS
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn views(all: &[(u64, u64)]) -> Vec<(usize, TickView)> {
        let view = |&(due_ns, stealable_ns): &(u64, u64)| TickView { due_ns, stealable_ns };
        all.iter().map(view).enumerate().collect()
    }

    #[test]
    fn the_most_overdue_wins_and_the_own_one_of_equals() {
        let others = views(&[(30, 30), (10, 100), (20, 25)]);
        let at = |now, own| next_tick(now, own, others.iter().copied());
        assert_eq!(at(24, None), None);
        assert_eq!(at(25, None), Some(TickChoice::Steal(2)));
        assert_eq!(at(25, Some(20)), Some(TickChoice::Own));
        assert_eq!(at(25, Some(21)), Some(TickChoice::Steal(2)));
        assert_eq!(at(99, Some(21)), Some(TickChoice::Steal(2)));
        assert_eq!(at(100, Some(21)), Some(TickChoice::Steal(1)));
    }

    #[test]
    fn every_period_is_run_or_skipped() {
        for overrun in [Overrun::Skip, Overrun::Burst(0), Overrun::Burst(3)] {
            for late in 0..200 {
                let after = after_run(overrun, 1000, 1000 + late, 10);
                // The grid is kept, and all between the two runs is accounted for.
                assert_eq!(after.next_ns, 1000 + 10 * after.count(), "{overrun:?} {late}");
                let behind = (1000 + late).saturating_sub(after.next_ns) / 10;
                let most = if let Overrun::Burst(most) = overrun { most.into() } else { 0 };
                assert!(behind <= most, "{overrun:?} {late}");
            }
        }
    }

    #[test]
    fn an_early_run_skips_nothing() {
        for overrun in [Overrun::Skip, Overrun::Burst(1), Overrun::Delay] {
            assert_eq!(after_run(overrun, 100, 90, 10), AfterRun { next_ns: 110, skipped: 0 });
        }
    }
}
