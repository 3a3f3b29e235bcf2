//! Where a worker looks for its next job or task.

use crate::tuning::{INJECTOR_EVERY, TASKS_EVERY};

/// What a worker can see between two turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// Its own deque holds a job.
    pub own_spawned: bool,
    /// Its own run queue holds a task.
    pub own_tasks: bool,
    /// The injector holds a job.
    pub injector: bool,
    /// The injector holds a task.
    pub injected_tasks: bool,
    /// The injector has been seen to hold something for [`INJECTED_WAIT_NS`](crate::tuning::INJECTED_WAIT_NS).
    pub injected_wait: bool,
}

/// Where to look next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The newest job of the own deque.
    Own,
    /// The own run queue.
    OwnTask,
    /// The injector's oldest job.
    Injector,
    /// A fair share of the injector's tasks.
    InjectedTasks,
    /// The driver, then the other workers: their oldest jobs, and half of their run queues.
    Elsewhere,
}

/// Picks the source for this `turn`: cheapest first and jobs before tasks, but every [`INJECTOR_EVERY`]th turn, and after some
/// time, the injector comes first, and every [`TASKS_EVERY`]th the own tasks do. Of the injector's two queues, each comes first
/// every other time.
///
/// `turn` may wrap around: two turns that prefer the injector are never more than `INJECTOR_EVERY` apart.
///
/// ```
/// use heist_policy::{Source, Sources, next_source};
/// let view = Sources { own_spawned: true, own_tasks: true, injector: true, ..Sources::default() };
/// assert_eq!(next_source(1, view), Source::Own);
/// assert_eq!(next_source(4, view), Source::OwnTask);
/// assert_eq!(next_source(61, view), Source::Injector);
/// ```
#[must_use]
pub const fn next_source(turn: u32, view: Sources) -> Source {
    // Remainder 0, not another one: the count restarts at 0 when it wraps, so the interval across the wrap is shorter,
    // never longer.
    let injector_first = view.injected_wait || turn.is_multiple_of(INJECTOR_EVERY);
    let tasks_first = turn.is_multiple_of(TASKS_EVERY);
    let injected = match (view.injector, view.injected_tasks) {
        (true, true) if (turn / INJECTOR_EVERY) % 2 == 1 => Some(Source::Injector),
        (_, true) => Some(Source::InjectedTasks),
        (true, false) => Some(Source::Injector),
        (false, false) => None,
    };
    match (injected, view) {
        (Some(source), _) if injector_first => source,
        (_, Sources { own_tasks: true, .. }) if tasks_first => Source::OwnTask,
        (_, Sources { own_spawned: true, .. }) => Source::Own,
        (_, Sources { own_tasks: true, .. }) => Source::OwnTask,
        (Some(source), _) => source,
        (None, _) => Source::Elsewhere,
    }
}

#[cfg(test)]
mod tests {
    use super::Source::*;
    use super::*;

    fn all_views() -> impl Iterator<Item = Sources> {
        (0..32_u32).map(|bits| Sources {
            own_spawned: bits & 1 != 0,
            own_tasks: bits & 2 != 0,
            injector: bits & 4 != 0,
            injected_tasks: bits & 8 != 0,
            injected_wait: bits & 16 != 0,
        })
    }

    fn is_there(source: Source, view: Sources) -> bool {
        match source {
            Own => view.own_spawned,
            OwnTask => view.own_tasks,
            Injector => view.injector,
            InjectedTasks => view.injected_tasks,
            Elsewhere => !(view.own_spawned || view.own_tasks || view.injector || view.injected_tasks),
        }
    }

    #[test]
    fn an_answer_is_a_source_that_has_something() {
        for view in all_views() {
            for turn in 0..4 * INJECTOR_EVERY {
                let source = next_source(turn, view);
                assert!(is_there(source, view), "turn {turn}, {view:?}: {source:?}");
            }
        }
    }

    #[test]
    fn an_ordinary_turn_goes_from_cheap_to_expensive() {
        let order = [
            (
                Sources {
                    own_spawned: true,
                    own_tasks: true,
                    injector: true,
                    injected_tasks: true,
                    injected_wait: false,
                },
                Own,
            ),
            (
                Sources { own_tasks: true, injector: true, injected_tasks: true, ..Sources::default() },
                OwnTask,
            ),
            (Sources { injector: true, ..Sources::default() }, Injector),
            (Sources { injected_tasks: true, ..Sources::default() }, InjectedTasks),
            (Sources::default(), Elsewhere),
        ];
        for (view, expected) in order {
            assert_eq!(next_source(1, view), expected, "{view:?}");
        }
    }

    #[test]
    fn what_has_waited_in_the_injector_comes_first() {
        for view in all_views().filter(|view| view.injected_wait && (view.injector || view.injected_tasks)) {
            for turn in 0..4 * INJECTOR_EVERY {
                let source = next_source(turn, view);
                assert!(matches!(source, Injector | InjectedTasks), "turn {turn}, {view:?}: {source:?}");
            }
        }
    }

    /// However busy a worker is, each of its sources gets its turn within a bounded number, across the wrap too.
    #[test]
    fn nothing_starves() {
        for view in all_views() {
            // What has waited is taken, and then has not any more.
            let view = Sources { injected_wait: false, ..view };
            for (source, most) in [
                (OwnTask, 2 * TASKS_EVERY),
                (Injector, 4 * INJECTOR_EVERY),
                (InjectedTasks, 4 * INJECTOR_EVERY),
            ] {
                if !is_there(source, view) {
                    continue;
                }
                let (mut turn, mut waited) = (u32::MAX - 10 * INJECTOR_EVERY, 0);
                for _ in 0..40 * INJECTOR_EVERY {
                    waited = if next_source(turn, view) == source { 0 } else { waited + 1 };
                    assert!(waited < most, "turn {turn}, {view:?}: {source:?} waits for {waited} turns");
                    turn = turn.wrapping_add(1);
                }
            }
        }
    }
}
