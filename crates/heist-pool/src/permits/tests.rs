//! The ledger and the words beside it, one thread at a time: every short history keeps the invariants.

use super::{AtBottom, Grant, Ledger, TakeBack, Wake, Words};
use heist_sync::StdArc as Arc;

fn ledger(n: usize, is_bound: bool) -> (Ledger, Arc<Words>) {
    let words = Arc::new(Words::new(n));
    (Ledger::new(words.clone(), n, is_bound), words)
}

/// On a machine with several nodes: of the nearest, that which slept last.
#[test]
fn the_nearest_sleeper_is_woken() {
    let nodes = [0, 1, 0, 1, 0];
    let near = |here: usize| move |thread: u16| u8::from(nodes[usize::from(thread)] != here);
    let mut l = Ledger::new(Arc::new(Words::new(5)), 5, false);
    (0..5).for_each(|thread| l.park(thread));
    let mut woken = |here| {
        l.bring_near(near(here));
        match l.wake(None, false, |thread| thread) {
            Wake::Grant(grant) => grant.thread,
            wake => panic!("{wake:?}"),
        }
    };
    assert_eq!([woken(1), woken(0), woken(1), woken(1), woken(0)], [3, 4, 1, 2, 0]);
}

#[test]
fn a_lent_permit_that_was_observed_comes_back_to_the_last_that_wants_it() {
    let (mut l, words) = ledger(1, false);
    assert_eq!(l.acquire_any(0, 0), Some(0));
    assert!(words.observe(0, 0));
    // Thread 0 lends, 1 borrows, observes and lends too, 2 borrows and observes.
    assert_eq!(l.release(0, 0), None);
    l.wait(0, 0);
    l.park(1);
    assert_eq!(l.wake(None, false, |_| 0), Wake::Grant(Grant { thread: 1, index: 0 }));
    assert!(words.observe(0, 1));
    assert_eq!(l.release(1, 0), None);
    l.wait(1, 0);
    assert_eq!(l.wake(None, true, |_| 0), Wake::Start(0));
    l.started(2, 0);
    assert!(words.observe(0, 2));
    l.check();
    assert!(l.end_wait(0));
    assert_eq!(l.take_back(0, 0), TakeBack::Asked);
    assert!(l.end_wait(1));
    assert_eq!(l.take_back(1, 0), TakeBack::Asked);
    assert_eq!(words.at_bottom(0, 2), AtBottom::Wanted);
    assert_eq!(l.release(2, 0), Some(Grant { thread: 1, index: 0 }));
    assert_eq!(words.at_bottom(0, 1), AtBottom::Wanted);
    assert_eq!(l.release(1, 0), Some(Grant { thread: 0, index: 0 }));
    assert_eq!(l.release(0, 0), None);
    l.check();
    assert_eq!(l.free(), [0]);
}

#[test]
fn a_borrower_that_has_not_asked_loses_the_permit_at_once() {
    let (mut l, words) = ledger(1, false);
    assert_eq!(l.acquire_any(0, 0), Some(0));
    assert!(words.observe(0, 0));
    assert_eq!(l.release(0, 0), None);
    assert_eq!(l.acquire_any(1, 0), Some(0));
    assert_eq!(l.take_back(0, 0), TakeBack::Have);
    assert!(!words.observe(0, 1), "it has lost the permit");
    assert_eq!(words.at_bottom(0, 1), AtBottom::Lost);
    assert_eq!(l.release(1, 0), None);
    assert!(words.get(0).is_by(0));
    l.check();
}

#[test]
fn a_thread_that_goes_on_without_gets_the_next_permit_that_is_passed_on() {
    let (mut l, words) = ledger(2, false);
    assert_eq!((l.acquire_any(0, 0), l.acquire_any(1, 0)), (Some(0), Some(1)));
    assert_eq!(l.resume(2, 0), None);
    assert_eq!(l.resume(3, 0), None);
    assert!(l.stop_wanting(2) && !l.stop_wanting(2));
    assert_eq!(l.release(1, 1), Some(Grant { thread: 3, index: 1 }));
    assert!(words.get(1).is_by(3) && !words.get(1).is_observed());
    assert_eq!(l.release(0, 0), None);
    assert_eq!(l.resume(2, 0), Some(0));
    l.check();
}

#[test]
fn a_permit_is_revoked_only_if_nobody_has_asked_for_its_index() {
    let (mut l, words) = ledger(1, false);
    assert_eq!(l.acquire_any(0, 0), Some(0));
    assert_eq!(l.resume(1, 0), None);
    assert_eq!(l.revoke(0, 0), Some(Some(Grant { thread: 1, index: 0 })));
    assert_eq!(l.revoke(0, 0), None);
    assert!(words.observe(0, 1));
    assert_eq!(l.revoke(1, 0), None);
    assert_eq!(words.at_bottom(0, 1), AtBottom::Held);
    assert_eq!(l.revoke(1, 0), Some(None));
    assert_eq!(l.free(), [0]);
    l.check();
}

#[test]
fn a_start_that_fails_serves_whoever_wants_the_permit_first() {
    let (mut l, words) = ledger(2, false);
    assert_eq!(l.acquire(0, 0), Some(0));
    assert!(words.observe(0, 0));
    assert_eq!(l.release(0, 0), None);
    l.wait(0, 0);
    assert_eq!(l.wake(Some(0), true, |_| 0), Wake::Start(0));
    assert!(l.end_wait(0));
    assert_eq!(l.take_back(0, 0), TakeBack::Asked);
    assert_eq!(l.start_failed(0), (Some(Grant { thread: 0, index: 0 }), false));
    // Without anybody who wants it, a waiter that has lent it helps.
    assert_eq!(l.release(0, 0), None);
    l.wait(0, 0);
    assert_eq!(l.wake(Some(0), true, |_| 0), Wake::Start(0));
    assert_eq!(l.start_failed(0), (Some(Grant { thread: 0, index: 0 }), true));
    assert_eq!(l.release(0, 0), None);
    assert_eq!(l.wake(Some(0), true, |_| 0), Wake::Start(0));
    assert_eq!(l.start_failed(0), (None, false));
    l.check();
}

#[test]
fn a_thread_gets_its_old_permit_if_it_can() {
    let (mut l, _) = ledger(3, false);
    l.park(7);
    l.park(8);
    assert_eq!(l.wake(None, false, |_| 2), Wake::Grant(Grant { thread: 8, index: 2 }));
    assert_eq!(l.wake(None, false, |_| 2), Wake::Grant(Grant { thread: 7, index: 0 }));
    assert_eq!(l.wake(None, false, |_| 2), Wake::Nobody);
    assert_eq!(l.wake(Some(2), true, |_| 2), Wake::Nobody);
    assert_eq!(l.wake(Some(1), true, |_| 2), Wake::Start(1));
    l.check();
}

#[test]
fn a_permit_that_is_not_active_is_withheld_at_the_next_boundary_and_comes_back() {
    let (mut l, words) = ledger(3, false);
    assert_eq!((l.acquire(0, 0), l.acquire(2, 2)), (Some(0), Some(2)));
    assert!(words.observe(2, 2));
    assert_eq!(l.set_active(1), []);
    // The free one is withheld at once, the held one when its holder gives it.
    assert_eq!((l.free(), l.withheld()), (&[][..], &[1][..]));
    assert_eq!(words.at_bottom(2, 2), AtBottom::Wanted);
    assert_eq!(words.at_bottom(0, 0), AtBottom::Held);
    // Who has lent an index that it has observed gets it back all the same.
    assert!(words.observe(2, 2));
    assert_eq!(l.release(2, 2), None);
    l.wait(2, 2);
    assert!(l.end_wait(2));
    assert_eq!(l.take_back(2, 2), TakeBack::Have);
    assert_eq!(l.release(2, 2), None);
    assert_eq!((l.free(), l.withheld()), (&[][..], &[1, 2][..]));
    // Nobody else gets it, except for what only its holder may run.
    assert_eq!(l.resume(3, 2), None);
    l.park(4);
    assert_eq!(l.wake(None, true, |_| 2), Wake::Nobody);
    assert_eq!(l.wake(Some(2), true, |_| 2), Wake::Grant(Grant { thread: 4, index: 2 }));
    assert_eq!(l.release(4, 2), None);
    l.check();
    // Those that want one are served before they become free.
    assert_eq!(l.set_active(3), [Grant { thread: 3, index: 2 }]);
    assert_eq!(l.free(), [1]);
    l.check();
    assert_eq!(l.set_active(0), []);
    l.park(5);
    assert_eq!(l.wake(Some(1), true, |_| 1), Wake::Nobody, "nothing runs");
    l.check();
}

#[test]
fn where_thread_and_permit_are_one_nobody_gets_another() {
    let (mut l, _) = ledger(3, true);
    for (thread, index) in [(0, 0), (1, 1), (2, 2)] {
        assert_eq!(l.acquire(thread, index), Some(index));
    }
    let home = |thread: u16| thread;
    // 0 parks, 1 waits, 2 runs.
    assert_eq!((l.release(0, 0), l.release(1, 1)), (None, None));
    l.park(0);
    l.wait(1, 1);
    // Neither a guest nor another thread gets one.
    assert_eq!(l.borrow(9), None);
    assert_eq!(l.acquire_any(2, 2), None);
    assert_eq!(l.wake(Some(1), false, home), Wake::Grant(Grant { thread: 1, index: 1 }));
    assert_eq!(l.wake(None, false, home), Wake::Grant(Grant { thread: 0, index: 0 }));
    assert_eq!(l.wake(None, false, home), Wake::Nobody);
    // Two lend, and each comes back to its own, whatever the order.
    assert_eq!((l.release(0, 0), l.release(1, 1)), (None, None));
    assert_eq!((l.resume(0, 0), l.resume(1, 1)), (Some(0), Some(1)));
    l.check();
}

/// What the model of the histories below knows about a thread.
#[derive(Clone, Copy, PartialEq, Debug)]
enum T {
    /// Runs, with or without a permit, observed or not.
    Running(Option<u16>, bool),
    /// Runs without a permit and would take one.
    Resumed,
    Parked,
    /// Sleeps in a wait, and whether it had observed what it lent.
    Waiting(u16, bool),
    /// Its wait is over, and it wants the permit that it had observed.
    Wanting(u16),
}

fn granted(ts: &mut [T], g: Grant) {
    let t = &mut ts[usize::from(g.thread)];
    *t = match *t {
        T::Parked | T::Resumed | T::Waiting(..) => T::Running(Some(g.index), false),
        T::Wanting(index) if index == g.index => T::Running(Some(g.index), true),
        other => panic!("{other:?} is granted {}", g.index),
    };
}

fn is_held(words: &Words, index: u16) -> bool {
    words.iter().nth(index.into()).is_some_and(|hold| hold.thread().is_some())
}

/// Carries out one step of thread `t`. False if it cannot take it.
fn step(l: &mut Ledger, words: &Words, ts: &mut [T; 3], t: usize, verb: usize) -> bool {
    let id = t as u16;
    let grant = match (verb, ts[t]) {
        // Takes a free permit.
        (0, T::Running(None, _)) => {
            ts[t] = T::Running(l.acquire_any(id, 0), false);
            None
        }
        // Parks; what it has observed is forgotten at the bottom.
        (1, T::Running(index, _)) => {
            let g = index.and_then(|i| l.release(id, i));
            ts[t] = T::Parked;
            l.park(id);
            g
        }
        // Waits.
        (2, T::Running(Some(i), observed)) if words.get(i).is_by(id) => {
            let g = l.release(id, i);
            ts[t] = T::Waiting(i, observed);
            l.wait(id, i);
            g
        }
        // Wakes somebody.
        (3, T::Running(..)) => match l.wake(None, false, |_| 0) {
            Wake::Grant(g) => Some(g),
            Wake::Nobody | Wake::Start(_) => None,
        },
        // Its wait is over.
        (4, T::Waiting(i, observed)) => {
            assert!(l.end_wait(id));
            ts[t] = match (observed, i) {
                (true, i) => match l.take_back(id, i) {
                    TakeBack::Have => T::Running(Some(i), true),
                    TakeBack::Asked => T::Wanting(i),
                },
                (false, i) => match l.resume(id, i) {
                    Some(i) => T::Running(Some(i), false),
                    None => T::Resumed,
                },
            };
            None
        }
        // Asks for its index.
        (5, T::Running(Some(i), false)) => {
            ts[t] = if words.observe(i, id) { T::Running(Some(i), true) } else { T::Running(None, false) };
            None
        }
        // Reaches its bottom without a permit.
        (6, T::Resumed) => {
            assert!(l.stop_wanting(id));
            ts[t] = T::Running(None, false);
            None
        }
        // The monitor takes somebody's permit.
        (7, T::Running(Some(i), observed)) => {
            let held = words.get(i).is_by(id);
            match l.revoke(id, i) {
                Some(g) => {
                    assert!(held && !observed);
                    ts[t] = T::Running(None, false);
                    g
                }
                None => {
                    assert!(!held || observed);
                    return false;
                }
            }
        }
        // Fewer permits are active, or all of them again.
        (8 | 9, _) if t == 0 => {
            let all = l.free().len() + l.withheld().len() + (0..2).filter(|&i| is_held(words, i)).count();
            let grants = l.set_active(if verb == 8 { all as u16 - 1 } else { all as u16 });
            for g in grants {
                granted(ts, g);
            }
            None
        }
        _ => return false,
    };
    if let Some(g) = grant {
        granted(ts, g);
    }
    true
}

/// Every short sequence of steps of three threads over one permit and over two keeps P1 to P5.
#[test]
fn all_short_histories_keep_the_invariants() {
    /// What the last step leads to is checked; all before it are scripts of their own.
    fn replay(permits: usize, script: &[(usize, usize)]) -> bool {
        let (mut l, words) = ledger(permits, false);
        let mut ts = [T::Running(None, false); 3];
        if !script.iter().all(|&(t, verb)| step(&mut l, &words, &mut ts, t, verb)) {
            return false;
        }
        l.check();
        for (t, state) in ts.iter().enumerate() {
            // P1: whoever has observed an index holds it, until it gives it.
            if let T::Running(Some(i), true) = state {
                assert!(words.get(*i).is_by(t as u16) && words.get(*i).is_observed(), "{script:?}");
            }
        }
        let holds = |i: u16| ts.iter().enumerate().filter(|(t, _)| words.get(i).is_by(*t as u16)).count();
        assert!((0..permits as u16).all(|i| holds(i) <= 1), "{script:?}");
        true
    }
    fn extend(
        (permits, verbs): (usize, usize),
        script: &mut Vec<(usize, usize)>,
        left: usize,
        count: &mut usize,
    ) {
        for t in 0..3 {
            for verb in 0..verbs {
                script.push((t, verb));
                if replay(permits, script) {
                    *count += 1;
                    if left > 1 {
                        extend((permits, verbs), script, left - 1, count);
                    }
                }
                script.pop();
            }
        }
    }
    // The last two verbs change how many permits are active.
    for (permits, steps, verbs) in [(1, 6, 8), (2, 5, 8), (1, 5, 10), (2, 4, 10)] {
        let mut count = 0;
        extend((permits, verbs), &mut Vec::new(), steps, &mut count);
        assert!(count > 5_000, "{count} histories");
    }
}
