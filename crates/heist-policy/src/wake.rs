//! Who may search, and who wakes whom.
//!
//! At any time, while there is work and a permit is idle, somebody searches or is on its way: whoever makes work
//! guarantees it unless a searcher already does, and a searcher that leaves with work passes the duty on. So wakes form a
//! chain of one at a time, as long as there is work for the next link, and a burst of new jobs costs one wake, not one
//! each.

use crate::tuning::SEARCH_ONE_IN;

/// How many workers may search at once in a pool of this parallelism: half of them, and always one.
///
/// ```
/// assert_eq!(heist_policy::search_cap(1), 1);
/// assert_eq!(heist_policy::search_cap(8), 4);
/// ```
#[must_use]
pub const fn search_cap(parallelism: usize) -> usize {
    let cap = parallelism / SEARCH_ONE_IN;
    if cap == 0 { 1 } else { cap }
}

/// Whether one more worker may search while `searching` others do.
///
/// A waiter that looks for its own subtree is not a searcher and is not counted.
///
/// ```
/// assert!(heist_policy::may_search(0, 1));
/// assert!(!heist_policy::may_search(2, 4));
/// ```
#[must_use]
pub const fn may_search(searching: usize, parallelism: usize) -> bool {
    searching < search_cap(parallelism)
}

/// What is known about idleness when work appears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleView {
    /// Workers that search now, without the asker.
    pub searching: usize,
    /// Permits that nobody uses.
    pub idle_permits: usize,
}

/// How many to wake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Somebody is already looking, or nobody could run.
    Nobody,
    /// One parked worker, which starts as a searcher.
    One,
}

/// Asked after work was made visible: wake one, unless somebody searches (it will find it) or no permit is idle (a wake
/// would only add a thread to full cores).
///
/// ```
/// use heist_policy::{IdleView, Wake, on_new_work};
/// assert_eq!(on_new_work(IdleView { searching: 0, idle_permits: 1 }), Wake::One);
/// assert_eq!(on_new_work(IdleView { searching: 1, idle_permits: 1 }), Wake::Nobody);
/// ```
#[must_use]
pub const fn on_new_work(view: IdleView) -> Wake {
    if view.searching == 0 && view.idle_permits > 0 { Wake::One } else { Wake::Nobody }
}

/// Asked by a searcher that found work, after it stopped counting as one: if it was the last, wakes that it suppressed
/// while it searched are its debt, and it wakes the next.
///
/// ```
/// use heist_policy::{IdleView, Wake, on_found_work};
/// assert_eq!(on_found_work(IdleView { searching: 0, idle_permits: 3 }), Wake::One);
/// assert_eq!(on_found_work(IdleView { searching: 2, idle_permits: 3 }), Wake::Nobody);
/// ```
#[must_use]
pub const fn on_found_work(view: IdleView) -> Wake {
    // The view already excludes the finder, so its question is the same as that of new work.
    on_new_work(view)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_may_search_and_always_one() {
        let caps = [(0, 1), (1, 1), (2, 1), (3, 1), (4, 2), (5, 2), (64, 32), (usize::MAX, usize::MAX / 2)];
        for (parallelism, cap) in caps {
            assert_eq!(search_cap(parallelism), cap, "parallelism {parallelism}");
            assert!(may_search(0, parallelism));
            assert!(may_search(cap - 1, parallelism));
            assert!(!may_search(cap, parallelism));
            assert!(!may_search(usize::MAX, parallelism));
        }
    }

    #[test]
    fn one_is_woken_exactly_if_nobody_searches_and_a_permit_is_idle() {
        let table = [
            (0, 0, Wake::Nobody),
            (0, 1, Wake::One),
            (0, usize::MAX, Wake::One),
            (1, 0, Wake::Nobody),
            (1, 1, Wake::Nobody),
            (usize::MAX, usize::MAX, Wake::Nobody),
        ];
        for (searching, idle_permits, expected) in table {
            let view = IdleView { searching, idle_permits };
            assert_eq!(on_new_work(view), expected, "{view:?}");
            assert_eq!(on_found_work(view), expected, "{view:?}");
        }
    }

    /// Jobs that never end, made all at once: the chain of wakes must bring every permit to work, and no step of it may
    /// wake more than one.
    #[test]
    fn the_chain_of_wakes_reaches_every_permit() {
        for parallelism in 1..=9 {
            for jobs in 0..=12 {
                let (mut queued, mut idle, mut searching, mut wakes) = (jobs, parallelism, 0, 0);
                let mut wake = |wake: Wake, idle: &mut usize, searching: &mut usize| {
                    if wake == Wake::One {
                        *idle -= 1;
                        *searching += 1;
                        wakes += 1;
                    }
                };
                for _ in 0..jobs {
                    wake(on_new_work(IdleView { searching, idle_permits: idle }), &mut idle, &mut searching);
                }
                while searching > 0 {
                    searching -= 1;
                    if queued > 0 {
                        queued -= 1;
                        wake(
                            on_found_work(IdleView { searching, idle_permits: idle }),
                            &mut idle,
                            &mut searching,
                        );
                    } else {
                        idle += 1;
                    }
                }
                assert!(queued == 0 || idle == 0, "{queued} jobs wait beside {idle} idle permits");
                assert!(wakes <= jobs + 1, "{wakes} wakes for {jobs} jobs");
            }
        }
    }
}
