//! A thread that rises from the driver with a task, and forks there, finds those that fell asleep while it slept: none of them has asked
//! it for work.

use crate::rig::scale::scaled;
use crate::rig::watchdog::watch;
use heist_sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The second half of each fork needs the other worker, which sleeps: the first half waits for it.
#[test]
fn forks_of_a_task_from_the_driver_wake_the_other_worker() {
    let _watch = watch!();
    let pool = heist::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let rounds = scaled(2_000) as u64;
    let task = pool.spawn_task(async move {
        for round in 0..rounds {
            heist::join(|| (), || ());
            heist::time::sleep(Duration::from_micros(round * 7 % 300)).await;
            heist::join(|| (), || ());
            std::thread::sleep(Duration::from_micros(400));
            let done = AtomicBool::new(false);
            let wait = || {
                let limit = Instant::now() + Duration::from_secs(20);
                while !done.load(Ordering::Acquire) {
                    assert!(Instant::now() < limit, "round {round}: nobody has heard of the second half");
                    std::thread::sleep(Duration::from_micros(50));
                }
            };
            heist::join(wait, || done.store(true, Ordering::Release));
        }
    });
    pool.block_on(task).unwrap();
}
