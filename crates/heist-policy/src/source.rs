//! Where a worker looks for its next job.

use crate::tuning::INJECTOR_EVERY;

/// What a worker can see between two jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sources {
    /// Its own deque holds a job.
    pub own_spawned: bool,
    /// The injector holds a job.
    pub injector: bool,
    /// It may steal: it was admitted as a searcher ([`may_search`](crate::may_search)) and the ladder has not sent it to
    /// sleep ([`step`](crate::step)).
    pub steal: bool,
}

/// Where to look next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The newest job of the own deque.
    Own,
    /// A [`fair_share`](crate::fair_share) of the injector.
    Injector,
    /// The others' oldest jobs.
    Steal,
    /// Nowhere: announce it, look at everything once more, and park.
    Park,
}

/// Picks the source for this `turn`: cheapest first, but every [`INJECTOR_EVERY`]th turn the injector comes first.
///
/// `turn` may wrap around: two turns that prefer the injector are never more than `INJECTOR_EVERY` apart.
///
/// ```
/// use heist_policy::{Source, Sources, next_source};
/// let view = Sources { own_spawned: true, injector: true, steal: true };
/// assert_eq!(next_source(1, view), Source::Own);
/// assert_eq!(next_source(61, view), Source::Injector);
/// ```
#[must_use]
pub const fn next_source(turn: u32, view: Sources) -> Source {
    // Remainder 0, not another one: the count restarts at 0 when it wraps, so the interval across the wrap is shorter,
    // never longer.
    let injector_first = turn % INJECTOR_EVERY == 0;
    match view {
        Sources { injector: true, .. } if injector_first => Source::Injector,
        Sources { own_spawned: true, .. } => Source::Own,
        Sources { injector: true, .. } => Source::Injector,
        Sources { steal: true, .. } => Source::Steal,
        _ => Source::Park,
    }
}

#[cfg(test)]
mod tests {
    use super::Source::*;
    use super::*;

    #[test]
    fn the_whole_table() {
        //           own    injector steal   usual     every 61st
        let table = [
            ((false, false, false), Park, Park),
            ((false, false, true), Steal, Steal),
            ((false, true, false), Injector, Injector),
            ((false, true, true), Injector, Injector),
            ((true, false, false), Own, Own),
            ((true, false, true), Own, Own),
            ((true, true, false), Own, Injector),
            ((true, true, true), Own, Injector),
        ];
        for ((own_spawned, injector, steal), usual, fair) in table {
            let view = Sources { own_spawned, injector, steal };
            for turn in 0..4 * INJECTOR_EVERY {
                let expected = if turn % INJECTOR_EVERY == 0 { fair } else { usual };
                assert_eq!(next_source(turn, view), expected, "turn {turn}, {view:?}");
            }
        }
    }

    #[test]
    fn the_injector_waits_at_most_its_interval_even_when_the_turn_wraps() {
        let busy = Sources { own_spawned: true, injector: true, steal: true };
        let mut turn = u32::MAX - 10 * INJECTOR_EVERY;
        let mut waited = 0;
        for _ in 0..20 * INJECTOR_EVERY {
            waited = if next_source(turn, busy) == Injector { 0 } else { waited + 1 };
            assert!(waited < INJECTOR_EVERY, "turn {turn}");
            turn = turn.wrapping_add(1);
        }
    }
}
