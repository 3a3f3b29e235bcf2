//! Which tick runs next, when it runs again, when ticks and their closures make room for others, and whose a new tick is.
//!
//! Times are nanoseconds on one clock. A tick is *due* at the time for which its next run is scheduled; [`NEVER`] is a time that
//! does not come.
//!
//! ```
//! use heist_policy::tick::{self, TickChoice, TickView};
//! let others = [(1, TickView { due_ns: 100, stealable_ns: 400 })];
//! // Another worker's tick is older than this worker's own, but not yet late enough to be taken from its worker.
//! assert_eq!(tick::next_tick(300, Some(200), others.into_iter()), Some(TickChoice::Own));
//! assert_eq!(tick::next_tick(400, Some(200), others.into_iter()), Some(TickChoice::Steal(1)));
//! ```

use crate::tuning::{
    CLOSURES_BEFORE_DUE_NS, CLOSURES_IN_A_ROW_NS, TICK_BEHIND_NS, TICK_LOAD_NOISE_NS, TICK_LONG_NS,
    TICK_PERCENT_MOST, TICK_SLEEP_LEAST_NS, TICK_SLEEP_MORE_MOST_NS, TICK_SLEEP_MORE_NS, TICK_WINDOW_NS,
};

/// A time that does not come: when a pinned tick may be stolen, or when a worker without ticks has one due.
pub const NEVER: u64 = u64::MAX;

/// What a worker publishes of the tick that it would run next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickView {
    /// When the tick is due.
    pub due_ns: u64,
    /// From when on other workers may run it.
    pub stealable_ns: u64,
}

/// Which tick a worker runs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TickChoice {
    /// The head of its own queue.
    Own,
    /// The head of the queue of the worker with this number.
    Steal(usize),
}

/// What a worker runs next: the most overdue of its own head, if that is due, and of those other heads that may be stolen by now.
///
/// Of two that are equally overdue it takes its own, else the one that comes first: put the nearest workers first.
///
/// ```
/// use heist_policy::tick::{TickChoice, next_tick};
/// assert_eq!(next_tick(10, Some(10), [].into_iter()), Some(TickChoice::Own));
/// assert_eq!(next_tick(10, Some(11), [].into_iter()), None);
/// ```
#[must_use]
pub fn next_tick(
    now_ns: u64,
    own_due_ns: Option<u64>,
    others: impl Iterator<Item = (usize, TickView)>,
) -> Option<TickChoice> {
    // A plain loop: it runs before every tick.
    let own_ns = own_due_ns.filter(|&due_ns| has_come(due_ns, now_ns));
    let (mut oldest_ns, mut choice) = (own_ns.unwrap_or(NEVER), own_ns.map(|_| TickChoice::Own));
    for (worker, view) in others {
        if has_come(view.stealable_ns, now_ns) && view.due_ns < oldest_ns {
            (oldest_ns, choice) = (view.due_ns, Some(TickChoice::Steal(worker)));
        }
    }
    choice
}

const fn has_come(at_ns: u64, now_ns: u64) -> bool {
    at_ns <= now_ns && at_ns != NEVER
}

/// Until when a worker that has nothing to run may sleep: its own head is due, or another's head may be stolen.
///
/// [`next_tick`] finds something at that time, unless another worker was faster, and nothing before. `None` if no such time comes.
///
/// ```
/// use heist_policy::tick::{NEVER, TickView, nearest};
/// let pinned = TickView { due_ns: 5, stealable_ns: NEVER };
/// assert_eq!(nearest(None, [(1, pinned)].into_iter()), None);
/// let late = TickView { due_ns: 40, stealable_ns: 43 };
/// assert_eq!(nearest(Some(50), [(1, pinned), (2, late)].into_iter()), Some(43));
/// ```
#[must_use]
pub fn nearest(own_due_ns: Option<u64>, others: impl Iterator<Item = (usize, TickView)>) -> Option<u64> {
    let stealable = others.map(|(_, view)| view.stealable_ns);
    own_due_ns.into_iter().chain(stealable).min().filter(|&at_ns| at_ns != NEVER)
}

/// What happens to the periods that a tick has missed because it started late or ran for too long.
///
/// They are tokio's three kinds of `MissedTickBehavior`, of which `Burst` has a limit here. As there, the run that is late begins at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overrun {
    /// One run stands for all periods that have begun by the time it starts; the next one is in phase with the first.
    #[default]
    Skip,
    /// At most so many missed periods in a row are caught up with, back to back; what is more is skipped, as by [`Overrun::Skip`].
    Burst(u32),
    /// The next run is due one period after the *start* of this one. No period is skipped; the schedule moves.
    Delay,
}

/// What [`after_run`] says about the next run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// When it is due. May be in the past: then it is late already.
    pub due_ns: u64,
    /// How many periods were skipped: those that the run which has ended stood for, besides its own.
    pub skipped: u64,
    /// How many periods in a row have been caught up with: what [`after_run`] and [`count`] get as `burst_so_far` next.
    pub burst: u32,
    /// Whether the run ended after the next one was due.
    pub overran: bool,
}

/// How many periods a run stands for that starts at `started_ns`: its own, and those that are skipped because they begin by then, too.
///
/// `burst_so_far` is [`Next::burst`] of the run before, 0 for the first.
///
/// ```
/// use heist_policy::tick::{Overrun, count};
/// // Scheduled for 100, every 10, started at 134: the periods at 110, 120 and 130 have begun, too.
/// assert_eq!(count(Overrun::Skip, 100, 10, 134, 0), 4);
/// assert_eq!(count(Overrun::Burst(2), 100, 10, 134, 0), 2);
/// assert_eq!(count(Overrun::Delay, 100, 10, 134, 0), 1);
/// ```
///
/// # Panics
///
/// If the period is zero.
#[must_use]
pub const fn count(
    overrun: Overrun,
    scheduled_ns: u64,
    period_ns: u64,
    started_ns: u64,
    burst_so_far: u32,
) -> u64 {
    let missed = missed(scheduled_ns, period_ns, started_ns);
    let caught_up = match overrun {
        Overrun::Skip => 0,
        Overrun::Burst(most) => most.saturating_sub(burst_so_far) as u64,
        Overrun::Delay => missed,
    };
    // Only a tick that has missed every nanosecond of the whole clock has one more than fits.
    missed.saturating_sub(caught_up).saturating_add(1)
}

/// How many whole periods after its own a run starts.
const fn missed(scheduled_ns: u64, period_ns: u64, started_ns: u64) -> u64 {
    started_ns.saturating_sub(scheduled_ns) / period_ns
}

/// When a tick runs again that was scheduled for `scheduled_ns` and ran from `started_ns` to `ended_ns`.
///
/// The next run is due as many periods later as this one stood for ([`count`]); with [`Overrun::Delay`], one period after the start of
/// this one. So every period is run or is skipped with a count, whatever the history. A due time beyond the end of the clock is the end
/// of the clock.
///
/// ```
/// use heist_policy::tick::{Overrun, after_run};
/// let next = after_run(Overrun::Skip, 100, 10, 134, 136, 0);
/// assert_eq!((next.due_ns, next.skipped, next.overran), (140, 3, false));
/// assert_eq!(after_run(Overrun::Delay, 100, 10, 134, 136, 0).due_ns, 144);
/// ```
///
/// # Panics
///
/// If the period is zero.
#[must_use]
pub const fn after_run(
    overrun: Overrun,
    scheduled_ns: u64,
    period_ns: u64,
    started_ns: u64,
    ended_ns: u64,
    burst_so_far: u32,
) -> Next {
    let count = count(overrun, scheduled_ns, period_ns, started_ns, burst_so_far);
    let due_ns = match overrun {
        Overrun::Delay => started_ns.saturating_add(period_ns),
        Overrun::Skip | Overrun::Burst(_) => scheduled_ns.saturating_add(period_ns.saturating_mul(count)),
    };
    let is_behind = missed(scheduled_ns, period_ns, started_ns) > 0;
    Next {
        due_ns,
        skipped: count - 1,
        burst: if is_behind { burst_so_far.saturating_add(1) } else { 0 },
        overran: ended_ns > due_ns,
    }
}

/// Whether a worker for whose jobs or tasks somebody waits must run those now, though ticks are due.
///
/// `tick_ns` is what ticks have taken of the `window_ns` since the worker began to count. It begins anew once [`TICK_WINDOW_NS`] have
/// passed and the answer is no. A run is not interrupted; one that is longer than the window is made up for in proportion.
///
/// ```
/// use heist_policy::tick::ticks_must_yield;
/// const MS: u64 = 1_000_000;
/// assert!(!ticks_must_yield(50 * MS, 50 * MS));
/// assert!(ticks_must_yield(95 * MS, 96 * MS));
/// ```
#[must_use]
pub const fn ticks_must_yield(tick_ns: u64, window_ns: u64) -> bool {
    let window_ns = if window_ns < TICK_WINDOW_NS { TICK_WINDOW_NS } else { window_ns };
    tick_ns as u128 * 100 >= window_ns as u128 * TICK_PERCENT_MOST as u128
}

/// Whether one more of the closures that were submitted to ticks may begin, after `spent_ns` of them in a row and `until_due_ns` before
/// the worker's next tick is due.
///
/// ```
/// use heist_policy::{tick::closures_may_go_on, tuning::CLOSURES_IN_A_ROW_NS};
/// assert!(closures_may_go_on(0, 1_000_000));
/// assert!(!closures_may_go_on(CLOSURES_IN_A_ROW_NS, 1_000_000));
/// ```
#[must_use]
pub const fn closures_may_go_on(spent_ns: u64, until_due_ns: u64) -> bool {
    spent_ns < CLOSURES_IN_A_ROW_NS && until_due_ns > CLOSURES_BEFORE_DUE_NS
}

/// Whether another worker should be there for ticks that become due during a run: one that was `late_ns` late when it began, and that should
/// take `run_ns`.
///
/// ```
/// use heist_policy::tick::needs_relief;
/// assert!(needs_relief(0, 1_000_000));
/// assert!(!needs_relief(0, 1_000), "to wake somebody takes longer");
/// assert!(needs_relief(5_000_000, 1_000), "there are too many of these for one");
/// ```
#[must_use]
pub const fn needs_relief(late_ns: u64, run_ns: u64) -> bool {
    run_ns >= TICK_LONG_NS || late_ns >= TICK_BEHIND_NS
}

/// How long a worker sleeps that has run `ran` ticks since it last slept, found no more, and has `left_ns` until the next one is due: the more
/// there are, the more of them should be due when it rises. One that has run none does not wait for what is due already.
///
/// ```
/// use heist_policy::tick::sleep_ns;
/// use heist_policy::tuning::{TICK_SLEEP_LEAST_NS, TICK_SLEEP_MORE_MOST_NS};
/// assert_eq!(sleep_ns(0, 0), 0);
/// assert_eq!(sleep_ns(1, 1), TICK_SLEEP_LEAST_NS);
/// assert_eq!(sleep_ns(0, 1000), TICK_SLEEP_MORE_MOST_NS);
/// assert_eq!(sleep_ns(50_000_000, 1000), 50_000_000);
/// ```
#[must_use]
pub fn sleep_ns(left_ns: u64, ran: u32) -> u64 {
    let more_ns =
        u64::from(ran.saturating_sub(1)).saturating_mul(TICK_SLEEP_MORE_NS).min(TICK_SLEEP_MORE_MOST_NS);
    match left_ns {
        0 => more_ns,
        _ => left_ns.max(more_ns).max(TICK_SLEEP_LEAST_NS),
    }
}

/// The part of a worker that a tick needs whose runs take `run_ns`, in nanoseconds per second.
///
/// ```
/// assert_eq!(heist_policy::tick::share(1_000, 10_000), 100_000_000);
/// ```
#[must_use]
pub fn share(run_ns: u64, period_ns: u64) -> u64 {
    const SECOND_NS: f64 = 1e9;
    ((run_ns as f64 / period_ns as f64).min(1.0) * SECOND_NS) as u64
}

/// Whether a tick's [`share`] has changed by so much that others should hear of it.
///
/// ```
/// use heist_policy::tick::{is_news, share};
/// const MS: u64 = 1_000_000;
/// assert!(is_news(share(MS, 50 * MS), share(2 * MS, 50 * MS), 50 * MS));
/// assert!(!is_news(share(100, 50 * MS), share(200, 50 * MS), 50 * MS), "nothing twice");
/// ```
#[must_use]
pub fn is_news(before: u64, now: u64, period_ns: u64) -> bool {
    before.abs_diff(now) > before / 8 + share(TICK_LOAD_NOISE_NS, period_ns)
}

/// What the ticks of one worker ask of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// How long the measured ones run, in nanoseconds per second.
    pub busy_ns: u64,
    /// How many of its ticks have been measured.
    pub measured: u32,
    /// How many have not run yet. Each counts as the mean of all that were measured, on whatever worker.
    pub unmeasured: u32,
}

/// The worker that gets a new tick: the least loaded one, then the one with the fewest ticks, then the first. `None` if there is none.
///
/// ```
/// use heist_policy::tick::{Load, place};
/// let busy = Load { busy_ns: 700_000_000, measured: 2, unmeasured: 0 };
/// let free = Load { busy_ns: 100_000_000, measured: 8, unmeasured: 0 };
/// assert_eq!(place([busy, free].into_iter()), Some(1));
/// ```
#[must_use]
pub fn place(loads: impl Iterator<Item = Load> + Clone) -> Option<usize> {
    let (mut busy_ns, mut measured) = (0_u128, 0_u128);
    for load in loads.clone() {
        busy_ns += u128::from(load.busy_ns);
        measured += u128::from(load.measured);
    }
    // Times the number of measured ticks, so that the mean is exact. Before the first has been measured all count the same.
    let (mean, scale) = if measured == 0 { (1, 1) } else { (busy_ns, measured) };
    let asked = |load: &Load| u128::from(load.busy_ns) * scale + u128::from(load.unmeasured) * mean;
    let ticks = |load: &Load| u64::from(load.measured) + u64::from(load.unmeasured);
    loads.enumerate().min_by_key(|(_, load)| (asked(load), ticks(load))).map(|(worker, _)| worker)
}

#[cfg(test)]
mod tests;
