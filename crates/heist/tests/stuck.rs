//! Promise 4, for jobs: workers that block without saying so are overtaken once all of them have been asleep for a second.

use std::sync::mpsc::channel;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

fn pool(n: usize) -> heist::ThreadPool {
    heist::ThreadPoolBuilder::new().num_threads(n).build().unwrap()
}

/// rayon hangs here for ever: both workers wait for a message that only the queued third job sends.
#[test]
fn jobs_that_block_outside_are_overtaken() {
    for n in [1, 2, 4] {
        let pool = pool(n);
        let (done, all_done) = channel();
        let mut senders = Vec::new();
        for _ in 0..n {
            let (send, receive) = channel::<u32>();
            let done = done.clone();
            pool.spawn(move || done.send(receive.recv().unwrap()).unwrap());
            senders.push(send);
        }
        pool.spawn(move || {
            for send in senders {
                send.send(7).unwrap();
            }
        });
        for _ in 0..n {
            assert_eq!(all_done.recv_timeout(Duration::from_secs(30)), Ok(7), "{n} workers");
        }
        pool.shutdown().unwrap();
    }
}

/// The same with the queued job in a blocked worker's own fork stack, where only a forced exposure finds it.
#[test]
fn a_fork_below_a_blocked_half_is_found() {
    let pool = pool(1);
    let (send, receive) = channel::<u32>();
    let receive = Mutex::new(receive);
    let (a, ()) = pool.install(|| {
        heist::join(
            || receive.lock().unwrap().recv_timeout(Duration::from_secs(30)),
            move || send.send(3).unwrap(),
        )
    });
    assert_eq!(a, Ok(3));
}

/// A rescuer can block too; then there is another.
#[test]
fn rescuers_are_rescued() {
    let pool = pool(1);
    let gate = (Mutex::new(0), Condvar::new());
    let (gate, started) = (&gate, Instant::now());
    pool.scope(|s| {
        for _ in 0..3 {
            s.spawn(move |_| {
                let mut here = gate.0.lock().unwrap();
                *here += 1;
                gate.1.notify_all();
                let (here, late) =
                    gate.1.wait_timeout_while(here, Duration::from_secs(30), |here| *here < 3).unwrap();
                assert!(!late.timed_out(), "only {} of 3 jobs run together", *here);
            });
        }
    });
    // One second for each rescuer but no busy waiting in between.
    assert!(started.elapsed() >= Duration::from_secs(1));
}

/// A worker that computes is never stuck, however long it takes: nothing runs without an index.
#[test]
fn computing_is_not_stuck() {
    let pool = pool(1);
    let (send, receive) = channel();
    pool.spawn(|| {
        let started = Instant::now();
        while started.elapsed() < Duration::from_millis(2500) {
            std::hint::black_box((0..1000u32).sum::<u32>());
        }
    });
    pool.spawn(move || send.send(heist::current_thread_index()).unwrap());
    assert_eq!(receive.recv(), Ok(Some(0)));
}
