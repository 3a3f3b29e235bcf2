//! Models of the injector for loom.
#![cfg(heist_loom)]

use heist_deque::Injector;
use heist_sync::atomic::{AtomicBool, Ordering, fence};
use heist_sync::{Arc, thread};

/// Bug hunted: the lost wake-up (`push_unfenced`). The consumer announces its sleep, fences and looks; the producer pushes and
/// then looks for sleepers. At least one of the two sees the other.
#[test]
fn a_push_is_not_missed_by_a_consumer_that_goes_to_sleep() {
    loom::model(|| {
        let queue = Arc::new(Injector::new());
        let asleep = Arc::new(AtomicBool::new(false));
        let (q, a) = (queue.clone(), asleep.clone());
        let producer = thread::spawn(move || {
            q.push(1);
            a.load(Ordering::Relaxed)
        });
        asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let empty = queue.is_empty();
        let woken = producer.join().unwrap();
        assert!(!empty || woken, "the consumer sleeps on a queue that is not empty");
    });
}

/// Bug hunted: two consumers that take one item twice, or leave one behind.
#[test]
fn two_consumers_share_a_batch() {
    loom::model(|| {
        let queue = Arc::new(Injector::new());
        queue.push_batch([0, 1]);
        let q = queue.clone();
        let other = thread::spawn(move || q.pop_share(2).collect::<Vec<_>>());
        let mut all: Vec<i32> = queue.pop().into_iter().collect();
        all.extend(other.join().unwrap());
        all.extend(queue.pop());
        all.sort_unstable();
        assert_eq!(all, [0, 1]);
        assert!(queue.is_empty());
    });
}
