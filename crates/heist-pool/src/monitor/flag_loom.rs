//! Models of the flag for loom. What is queued is a count; the heavy barrier is the fence that it stands for.

use super::Flag;
use heist_sync::atomic::{AtomicUsize, Ordering};
use heist_sync::{StdArc as Arc, thread};
use loom::model::Builder;

/// `n` threads queue something each while the monitor, which watches, finds nothing and stops. Bug hunted: something is queued and
/// nobody watches; or the pool is watched twice.
fn queueing_against_forgetting(n: usize) {
    let (flag, queued, asked) =
        (Arc::new(Flag::new()), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    flag.raise(|| ());
    let threads: Vec<_> = (0..n)
        .map(|_| {
            let (flag, queued, asked) = (flag.clone(), queued.clone(), asked.clone());
            thread::spawn(move || {
                queued.fetch_add(1, Ordering::Relaxed);
                flag.raise(|| {
                    asked.fetch_add(1, Ordering::Relaxed);
                });
            })
        })
        .collect();
    let waits = || queued.load(Ordering::Relaxed) != 0;
    let goes_on = waits() || !flag.lower(waits);
    for thread in threads {
        thread.join().unwrap();
    }
    let watchers = usize::from(goes_on) + asked.load(Ordering::Relaxed);
    assert_eq!(watchers, 1, "{n} queued, the monitor goes on: {goes_on}");
}

#[test]
fn a_task_against_the_monitor_that_forgets() {
    loom::model(|| queueing_against_forgetting(1));
}

#[test]
fn two_tasks_against_the_monitor_that_forgets() {
    let mut builder = Builder::new();
    builder.preemption_bound = builder.preemption_bound.max(Some(3));
    builder.check(|| queueing_against_forgetting(2));
}
