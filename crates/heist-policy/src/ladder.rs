//! How a worker that finds nothing goes to sleep.

use crate::tuning::{IDLE_SPIN_NS, STEAL_ROUNDS, TASK_STEAL_ROUNDS};

/// The rungs of idleness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ladder {
    /// It counts as a searcher: makers of work rely on it and wake nobody.
    Searching,
    /// It sleeps until it is woken. Before that the mechanism announces it, fences, and looks at everything once more.
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
/// Both limits count: however slow they were, all rounds are made, because a searcher that leaves early breaks the trust of
/// those who woke nobody; and while a wake would cost more than looking on, it looks on.
///
/// ```
/// use heist_policy::{Ladder, Limits, step};
/// let limits = Limits { rounds: 4, spin_ns: 20_000 };
/// assert_eq!(step(4, 1_000_000, limits), Ladder::Searching);
/// assert_eq!(step(5, 10_000, limits), Ladder::Searching);
/// assert_eq!(step(5, 20_000, limits), Ladder::Parked);
/// ```
#[must_use]
pub const fn step(rounds: u32, spun_ns: u64, limits: Limits) -> Ladder {
    if rounds <= limits.rounds || spun_ns < limits.spin_ns { Ladder::Searching } else { Ladder::Parked }
}

#[cfg(test)]
mod tests {
    use super::Ladder::*;
    use super::*;

    #[test]
    fn the_whole_table() {
        let limits = Limits { rounds: 2, spin_ns: 100 };
        //           rounds  0 ns       99 ns      100 ns     longest
        let table = [
            (0, [Searching, Searching, Searching, Searching]),
            (2, [Searching, Searching, Searching, Searching]),
            (3, [Searching, Searching, Parked, Parked]),
            (u32::MAX, [Searching, Searching, Parked, Parked]),
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
        assert_eq!(step(0, 0, limits), Searching);
        assert_eq!(step(1, 0, limits), Parked);
    }
}
