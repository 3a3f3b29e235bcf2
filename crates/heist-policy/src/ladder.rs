//! How a worker that finds nothing goes to sleep.

use crate::tuning::{IDLE_SPIN_NS, STEAL_ROUNDS, TASK_STEAL_ROUNDS};

/// The three rungs of idleness. A worker steps down in this order, never skips one, and climbs back to work from any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ladder {
    /// Counts as a searcher: makers of work rely on it and wake nobody.
    Searching,
    /// No longer counts as a searcher, so new work may wake others, but still looks between yields.
    Sleepy,
    /// Asleep until woken. Before that the mechanism announces it, fences, and looks at everything once more.
    Parked,
}

/// When to step down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Rounds over all victims as a searcher.
    pub rounds: u32,
    /// Time without work, from its first moment, until the worker parks.
    pub spin_ns: u64,
}

impl Limits {
    /// [`STEAL_ROUNDS`] and [`IDLE_SPIN_NS`].
    ///
    /// ```
    /// assert_eq!(heist_policy::Limits::DEFAULT, heist_policy::Limits::default());
    /// ```
    pub const DEFAULT: Limits = Limits { rounds: STEAL_ROUNDS, spin_ns: IDLE_SPIN_NS };

    /// [`TASK_STEAL_ROUNDS`](crate::tuning::TASK_STEAL_ROUNDS) and no time, for a worker whose last work was a task.
    ///
    /// ```
    /// assert!(heist_policy::Limits::AFTER_TASKS.rounds < heist_policy::Limits::DEFAULT.rounds);
    /// ```
    pub const AFTER_TASKS: Limits = Limits { rounds: TASK_STEAL_ROUNDS, spin_ns: 0 };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The rung for a worker that has made `rounds` fruitless rounds in `spun_ns`.
///
/// Rounds first: however slow they were, all of them are made, because a searcher that leaves early breaks the trust of
/// those who woke nobody. The round after them is always sleepy, even if the time is long up, so that every worker looks
/// at least once after it stopped suppressing wakes.
///
/// ```
/// use heist_policy::{Ladder, Limits, step};
/// let limits = Limits { rounds: 4, spin_ns: 20_000 };
/// assert_eq!(step(3, 1_000_000, limits), Ladder::Searching);
/// assert_eq!(step(4, 1_000_000, limits), Ladder::Sleepy);
/// assert_eq!(step(5, 10_000, limits), Ladder::Sleepy);
/// assert_eq!(step(5, 20_000, limits), Ladder::Parked);
/// ```
#[must_use]
pub const fn step(rounds: u32, spun_ns: u64, limits: Limits) -> Ladder {
    if rounds < limits.rounds {
        Ladder::Searching
    } else if rounds == limits.rounds || spun_ns < limits.spin_ns {
        Ladder::Sleepy
    } else {
        Ladder::Parked
    }
}

#[cfg(test)]
mod tests {
    use super::Ladder::*;
    use super::*;

    #[test]
    fn the_whole_table() {
        let limits = Limits { rounds: 2, spin_ns: 100 };
        //           rounds  0 ns       99 ns      100 ns     for ever
        let table = [
            (0, [Searching, Searching, Searching, Searching]),
            (1, [Searching, Searching, Searching, Searching]),
            (2, [Sleepy, Sleepy, Sleepy, Sleepy]),
            (3, [Sleepy, Sleepy, Parked, Parked]),
            (u32::MAX, [Sleepy, Sleepy, Parked, Parked]),
        ];
        for (rounds, row) in table {
            for (spun_ns, expected) in [0, 99, 100, u64::MAX].into_iter().zip(row) {
                assert_eq!(step(rounds, spun_ns, limits), expected, "{rounds} rounds, {spun_ns} ns");
            }
        }
    }

    #[test]
    fn without_patience_a_worker_still_looks_once_more() {
        let limits = Limits { rounds: 0, spin_ns: 0 };
        assert_eq!(step(0, 0, limits), Sleepy);
        assert_eq!(step(1, 0, limits), Parked);
    }

    #[test]
    fn nobody_climbs_back_or_skips_a_rung() {
        for limits in [Limits::DEFAULT, Limits { rounds: 0, spin_ns: 0 }, Limits { rounds: 7, spin_ns: 3 }] {
            for ns_per_round in [0, 1, 1_000, 1_000_000] {
                let mut before = step(0, 0, limits);
                for rounds in 1..100_u32 {
                    let now = step(rounds, u64::from(rounds) * ns_per_round, limits);
                    assert!(now >= before && !(before == Searching && now == Parked));
                    before = now;
                }
            }
        }
    }
}
