//! Models of the words in front of the desk for loom. Sleeping itself is modelled in `worker/loom.rs`, with the code that does it.

use super::{Idle, Wake};
use heist_sync::{StdArc as Arc, thread};
use loom::model::Builder;
use std::sync::atomic::{AtomicUsize, Ordering};

fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let executions = Arc::new(AtomicUsize::new(0));
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    let counted = executions.clone();
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        model();
    });
    println!("{} executions", executions.load(Ordering::Relaxed));
}

/// Bug hunted: the counters, which are changed with and without the lock, drift away from the desk.
#[test]
fn counters_follow_the_desk() {
    check(3, || {
        let idle = Arc::new(Idle::new(2));
        let threads: Vec<_> = (0..2)
            .map(|t: u16| {
                let idle = idle.clone();
                thread::spawn(move || {
                    let index = idle.open().acquire(t, None).expect("one for each");
                    // With two indices one may search.
                    if idle.try_search(2) {
                        assert_eq!(idle.counters().searching(), 1, "beyond the cap");
                        idle.end_search();
                    }
                    assert_eq!(idle.open().release(t, index), None);
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        let counters = idle.counters();
        assert_eq!((counters.free(), counters.searching()), (2, 0));
        idle.open().check();
    });
}

/// Bug hunted: two announcements of work that wake two threads, or none. Who is woken counts as a searcher before the lock is
/// open again, and the second waker sees it there.
#[test]
fn two_announcements_wake_one() {
    check(3, || {
        let idle = Arc::new(Idle::new(2));
        let mut desk = idle.open();
        desk.park(0);
        desk.park(1);
        drop(desk);
        // What `Pool::wake_one` does.
        let wake = |idle: &Idle| {
            let mut desk = idle.open();
            if idle.counters().searching() > 0 {
                return 0;
            }
            match desk.wake(false, |_| 0) {
                Wake::Give(_) => {
                    desk.count_search();
                    1
                }
                Wake::Nobody | Wake::Start(_) => 0,
            }
        };
        let other = thread::spawn({
            let idle = idle.clone();
            move || wake(&idle)
        });
        let woken = wake(&idle);
        assert_eq!(woken + other.join().unwrap(), 1);
        let counters = idle.counters();
        assert_eq!((counters.free(), counters.searching()), (1, 1));
    });
}
