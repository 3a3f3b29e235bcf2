//! Looks for work where there is none: what a round over the other threads' queues costs, counted by callgrind.

use std::thread;
use std::time::Duration;

/// On a pool whose other threads sleep, one looks so many times for something to run.
pub fn once(workers: usize, times: u32) {
    let built = heist::ThreadPoolBuilder::new().num_threads(workers).build();
    let pool = built.expect("a pool can be built");
    pool.broadcast(|_| ());
    // Longer than a thread looks around before it sleeps.
    thread::sleep(Duration::from_millis(300));
    pool.install(|| {
        for _ in 0..times {
            let _ = heist::yield_now();
        }
    });
}
