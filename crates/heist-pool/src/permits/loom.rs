//! Models for loom of the words in front of the ledger. Sleeping itself is modelled in `worker/loom.rs`, with the code that does it.

use super::{AtBottom, Count, Permits, TakeBack, Wake};
use heist_sync::cell::UnsafeCell;
use heist_sync::{Parker, StdArc as Arc, thread};
use loom::model::Builder;
use std::sync::atomic::{AtomicUsize, Ordering};

fn check(preemptions: usize, model: impl Fn(bool) + Send + Sync + Copy + 'static) {
    let executions = Arc::new(AtomicUsize::new(0));
    for first in [true, false] {
        let mut builder = Builder::new();
        builder.preemption_bound = builder.preemption_bound.max(Some(preemptions));
        let counted = executions.clone();
        builder.check(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            model(first);
        });
    }
    println!("{} executions", executions.load(Ordering::Relaxed));
}

/// Runs both at once, and gives what came of them. loom begins with one schedule; the other order is the other start.
fn race<A: 'static, B: 'static>(
    a_first: bool,
    a: impl FnOnce() -> A + Send + 'static,
    b: impl FnOnce() -> B + Send + 'static,
) -> (A, B)
where
    A: Send,
    B: Send,
{
    if a_first {
        let b = thread::spawn(b);
        let a = a();
        (a, b.join().unwrap())
    } else {
        let a = thread::spawn(a);
        let b = b();
        (a.join().unwrap(), b)
    }
}

/// Bug hunted: the counters, which are changed with and without the lock, drift away from the ledger.
#[test]
fn counters_follow_the_ledger() {
    check(3, |_| {
        let permits = Arc::new(Permits::new(2, false));
        let threads: Vec<_> = (0..2)
            .map(|t: u16| {
                let permits = permits.clone();
                thread::spawn(move || {
                    let index = permits.open().acquire_any(t, 0).expect("one for each");
                    // With two permits one thread may search.
                    if permits.try_search(2) {
                        assert_eq!(permits.count(Count::Searching), 1, "beyond the cap");
                        permits.end_search();
                    }
                    assert_eq!(permits.open().release(t, index), None);
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        let counters = permits.counters();
        assert_eq!((counters.get(Count::Free), counters.get(Count::Searching)), (2, 0));
        permits.open().check();
    });
}

/// Bug hunted: two announcements of work that wake two threads, or none. Who is woken counts as a searcher before the lock is
/// open again, and the second waker sees it there.
#[test]
fn two_announcements_wake_one() {
    check(3, |first| {
        let permits = Arc::new(Permits::new(2, false));
        let mut open = permits.open();
        open.park(0);
        open.park(1);
        drop(open);
        // What `Permits::wake_one` does.
        let wake = |permits: &Permits| {
            let mut open = permits.open();
            if permits.count(Count::Searching) > 0 {
                return 0;
            }
            match open.wake(None, false, |_| 0) {
                Wake::Grant(_) => {
                    open.count(Count::Searching);
                    1
                }
                Wake::Nobody | Wake::Start(_) => 0,
            }
        };
        let (ours, theirs) = (permits.clone(), permits.clone());
        let (one, other) = race(first, move || wake(&ours), move || wake(&theirs));
        assert_eq!(one + other, 1);
        let counters = permits.counters();
        assert_eq!((counters.get(Count::Free), counters.get(Count::Searching)), (1, 1));
    });
}

/// What a program keeps for an index. loom complains if two threads are in it with nothing between them.
struct Scratch(UnsafeCell<u32>);

// SAFETY: loom checks every access.
unsafe impl Sync for Scratch {}

impl Scratch {
    fn new() -> Arc<Self> {
        Arc::new(Self(UnsafeCell::new(0)))
    }

    fn touch(&self) {
        // SAFETY: loom checks it.
        self.0.with_mut(|p| unsafe { *p += 1 });
    }
}

const LENDER: u16 = 0;
const BORROWER: u16 = 1;

/// One permit, which `LENDER` has observed, used and lent, and `BORROWER` holds.
fn lent(scratch: &Scratch) -> Arc<Permits> {
    let permits = Permits::new(1, false);
    assert_eq!(permits.open().acquire_any(LENDER, 0), Some(0));
    assert!(permits.words().observe(0, LENDER));
    scratch.touch();
    assert_eq!(permits.open().release(LENDER, 0), None);
    assert_eq!(permits.open().acquire_any(BORROWER, 0), Some(0));
    Arc::new(permits)
}

/// A holder that asks for its index against the thread that has lent it and wants it back.
///
/// Bug hunted: both believe that the index is theirs, because the holder does not say that it has asked
/// (`permit_observed_unseen`), or because the other does not mind (`permit_taken_though_observed`) (PERMIT-E1).
#[test]
fn an_observation_against_a_take_back() {
    check(4, |first| {
        let scratch = Scratch::new();
        let permits = lent(&scratch);
        let granted = Arc::new(Parker::new());
        let borrower = {
            let (permits, scratch, granted) = (permits.clone(), scratch.clone(), granted.clone());
            move || {
                let observed = permits.words().observe(0, BORROWER);
                if observed {
                    scratch.touch();
                }
                match permits.words().at_bottom(0, BORROWER) {
                    AtBottom::Lost => assert!(!observed || permits.words().get(0).is_by(LENDER)),
                    AtBottom::Held => {}
                    AtBottom::Wanted => {
                        // If there is no grant, the lender has taken it between our two steps.
                        if let Some(grant) = permits.open().release(BORROWER, 0) {
                            assert_eq!((grant.thread, grant.index), (LENDER, 0));
                            granted.unpark();
                        }
                    }
                }
                observed
            }
        };
        let lender = {
            let (permits, scratch) = (permits.clone(), scratch.clone());
            move || {
                let back = permits.open().take_back(LENDER, 0);
                if back == TakeBack::Asked {
                    // Given at the next job boundary, so this ends.
                    granted.park();
                }
                scratch.touch();
                back
            }
        };
        let (observed, back) = race(first, borrower, lender);
        assert!(observed || back == TakeBack::Have, "nobody has it");
        assert!(permits.words().get(0).is_by(LENDER) && permits.words().get(0).is_observed());
        permits.open().check();
    });
}

/// A holder that has asked for its index and comes to its loop's bottom, against the thread that wants it back.
///
/// Bug hunted: the holder passes a job boundary and does not see that the index is wanted, because it has looked before it said
/// that it does not need it any more (`permit_wanted_seen_too_early`), or the other marks it after it has tried to take it
/// (`permit_wanted_too_late`). Then that one waits for a job that it was never to wait for.
#[test]
fn a_job_boundary_against_a_take_back() {
    check(4, |first| {
        let scratch = Scratch::new();
        let permits = lent(&scratch);
        assert!(permits.words().observe(0, BORROWER));
        let (granted, over) = (Arc::new(Parker::new()), Arc::new(Parker::new()));
        let borrower = {
            let (permits, scratch) = (permits.clone(), scratch.clone());
            let (granted, over) = (granted.clone(), over.clone());
            move || {
                scratch.touch();
                if permits.words().at_bottom(0, BORROWER) == AtBottom::Wanted
                    && permits.open().release(BORROWER, 0).is_some()
                {
                    granted.unpark();
                }
                // Its next job does not ask for the index, and waits for something that the lender does then.
                over.park();
            }
        };
        let lender = {
            let (permits, scratch) = (permits.clone(), scratch.clone());
            move || {
                let back = permits.open().take_back(LENDER, 0);
                if back == TakeBack::Asked {
                    granted.park();
                }
                scratch.touch();
                over.unpark();
            }
        };
        race(first, borrower, lender);
        assert!(permits.words().get(0).is_by(LENDER));
        permits.open().check();
    });
}

/// A holder that asks for its index against the monitor, which takes the permit of a blocked poll.
///
/// Bug hunted: the permit is free, or somebody else's, and the holder uses its index (PERMIT-E1).
#[test]
fn an_observation_against_a_revocation() {
    check(4, |first| {
        let scratch = Scratch::new();
        let permits = lent(&scratch);
        let holder = {
            let (permits, scratch) = (permits.clone(), scratch.clone());
            move || {
                let observed = permits.words().observe(0, BORROWER);
                if observed {
                    scratch.touch();
                }
                observed
            }
        };
        let monitor = {
            let (permits, scratch) = (permits.clone(), scratch.clone());
            move || {
                let mut open = permits.open();
                let Some(grant) = open.revoke(BORROWER, 0) else { return false };
                assert_eq!(grant, None, "nobody wants it");
                // As whoever is woken for it.
                assert_eq!(open.acquire_any(LENDER, 0), Some(0));
                drop(open);
                assert!(permits.words().observe(0, LENDER));
                scratch.touch();
                true
            }
        };
        let (observed, revoked) = race(first, holder, monitor);
        assert!(observed != revoked, "one of the two has it");
        permits.open().check();
    });
}

/// Two threads that have observed the same index, one after the other, want it back from a third.
///
/// Bug hunted: one of them is forgotten: its wanted mark goes with the other's grant.
#[test]
fn two_take_backs_of_one_permit() {
    const LAST: u16 = 2;
    check(3, |first| {
        let scratch = Scratch::new();
        let permits = lent(&scratch);
        assert!(permits.words().observe(0, BORROWER));
        assert_eq!(permits.open().release(BORROWER, 0), None);
        assert_eq!(permits.open().acquire_any(LAST, 0), Some(0));
        assert!(permits.words().observe(0, LAST));
        scratch.touch();
        let parkers = [Arc::new(Parker::new()), Arc::new(Parker::new())];
        // At the end of its job: whoever wants the permit gets it.
        let bottom = |permits: &Permits, parkers: &[Arc<Parker>; 2], me: u16| {
            if permits.words().at_bottom(0, me) == AtBottom::Wanted
                && let Some(grant) = permits.open().release(me, 0)
            {
                parkers[usize::from(grant.thread)].unpark();
            }
        };
        let want = |me: u16| {
            let (permits, scratch, parkers) = (permits.clone(), scratch.clone(), parkers.clone());
            move || {
                let back = permits.open().take_back(me, 0);
                if back == TakeBack::Asked {
                    parkers[usize::from(me)].park();
                }
                scratch.touch();
                bottom(&permits, &parkers, me);
            }
        };
        let (lender, borrower) = (want(LENDER), want(BORROWER));
        let wanting = thread::spawn(lender);
        race(first, borrower, {
            let (permits, parkers) = (permits.clone(), parkers.clone());
            move || bottom(&permits, &parkers, LAST)
        });
        wanting.join().unwrap();
        permits.open().check();
        // SAFETY: loom checks it.
        assert_eq!(scratch.0.with(|p| unsafe { *p }), 4, "each once");
    });
}

/// Fewer permits and more again, as `Permits::set_active` does it in the ledger. Who is granted one is told.
fn resize(permits: &Permits, to: &[u16], granted: &Parker) {
    for &n in to {
        let mut open = permits.open();
        let grants = open.set_active(n);
        drop(open);
        grants.iter().for_each(|_| granted.unpark());
    }
}

/// A permit stops being active and becomes so again, while its holder has asked for its index and comes to its loop's bottom, and the
/// thread that has lent it wants it back.
///
/// Bug hunted: the mark that says that the permit is wanted goes when it is active again, though somebody waits for it
/// (`permit_active_again_unmarks`). Then the holder keeps it, and that one waits for a job that it was never to wait for. Or the permit
/// is withheld while somebody waits for it, or has two holders.
#[test]
fn a_resize_against_a_take_back() {
    check(3, |first| {
        let scratch = Scratch::new();
        let permits = lent(&scratch);
        assert!(permits.words().observe(0, BORROWER));
        let (granted, over) = (Arc::new(Parker::new()), Arc::new(Parker::new()));
        let borrower = {
            let (permits, scratch) = (permits.clone(), scratch.clone());
            let (granted, over) = (granted.clone(), over.clone());
            move || {
                scratch.touch();
                if permits.words().at_bottom(0, BORROWER) == AtBottom::Wanted
                    && permits.open().release(BORROWER, 0).is_some()
                {
                    granted.unpark();
                }
                // Its next job does not ask for the index, and waits for something that the lender does then.
                over.park();
            }
        };
        let lender = {
            let (permits, scratch, granted) = (permits.clone(), scratch.clone(), granted.clone());
            move || {
                if permits.open().take_back(LENDER, 0) == TakeBack::Asked {
                    granted.park();
                }
                scratch.touch();
                over.unpark();
            }
        };
        let resizer = {
            let permits = permits.clone();
            thread::spawn(move || resize(&permits, &[0, 1], &granted))
        };
        race(first, borrower, lender);
        resizer.join().unwrap();
        let hold = permits.words().get(0);
        assert!(hold.is_by(LENDER) && hold.is_observed() && !hold.is_wanted());
        permits.open().check();
    });
}

/// The same permit, whose holder has not asked for its index and goes to sleep, and a thread that goes on without one and would take any.
///
/// Bug hunted: the permit is free again and that thread sleeps beside it (`permit_active_again_is_free`), or the permit is lost: neither
/// free nor withheld nor held.
#[test]
fn a_resize_against_one_who_wants_any() {
    check(3, |first| {
        let scratch = Scratch::new();
        let permits = lent(&scratch);
        let granted = Arc::new(Parker::new());
        let holder = {
            let (permits, scratch, granted) = (permits.clone(), scratch.clone(), granted.clone());
            move || {
                scratch.touch();
                let _ = permits.words().at_bottom(0, BORROWER);
                if permits.open().release(BORROWER, 0).is_some() {
                    granted.unpark();
                }
            }
        };
        let wanting = {
            let (permits, scratch, granted) = (permits.clone(), scratch.clone(), granted.clone());
            move || {
                let index = permits.open().resume(LENDER, 0);
                if index.is_none() {
                    granted.park();
                }
                assert!(permits.words().observe(0, LENDER), "it was granted");
                scratch.touch();
            }
        };
        let resizer = {
            let permits = permits.clone();
            thread::spawn(move || resize(&permits, &[0, 1], &granted))
        };
        race(first, holder, wanting);
        resizer.join().unwrap();
        let hold = permits.words().get(0);
        assert!(hold.is_by(LENDER) && !hold.is_wanted());
        assert_eq!(permits.count(Count::Free), 0);
        permits.open().check();
    });
}
