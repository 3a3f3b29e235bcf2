//! Promise 6: idle costs nothing. A pool without work burns no CPU and wakes up for nothing.
//!
//! A binary of its own with a single test, because it counts the context switches of the whole process. Public bugs of this
//! kind: rayon #343 (a spin without a bound), and every runtime with a periodic tick.

#![cfg(target_os = "linux")]

mod rig;

use crate::rig::pool::pool;
use crate::rig::usage::{Usage, settled, usage};
use crate::rig::watchdog::watch;
use std::collections::BTreeMap;
use std::time::Duration;

fn sum(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = heist::join(|| sum(n - 1), || sum(n - 2));
    a + b
}

#[test]
fn an_idle_pool_sleeps() {
    let _watch = watch!();
    let pools = [pool(1), pool(2), pool(8)];
    let check = |when: &str, window: Duration| {
        let before = settled();
        assert!(before.len() >= 1 + 2 + 8, "the pools' threads are counted");
        // A window, not a wait: nothing may happen in it.
        std::thread::sleep(window);
        let after = usage();
        assert_eq!(before, after, "{when}: threads ran while there was nothing to do");
    };
    check("fresh", Duration::ZERO);
    for pool in &pools {
        assert_eq!(pool.install(|| sum(20)), 6765);
        pool.broadcast(|_| ());
        pool.fork(|f| f.join(|_| (), |_| ()));
        // A wait that lends its index leaves a spare thread behind.
        pool.scope(|s| {
            for _ in 0..4 {
                s.spawn(|_| heist::blocking(|| std::thread::sleep(Duration::from_millis(1))));
            }
        });
    }
    check("after work", Duration::from_secs(2));

    // rayon #343: waits spin for a bounded time only, however long they last.
    let before = usage();
    for pool in &pools {
        pool.install(|| {
            heist::join(
                || (),
                || heist::join(|| (), || heist::blocking(|| std::thread::sleep(Duration::from_millis(200)))),
            )
        });
    }
    let used_ns = |all: &BTreeMap<u32, Usage>| all.values().map(|usage| usage.cpu_ns).sum::<u64>();
    let used = Duration::from_nanos(used_ns(&usage()).saturating_sub(used_ns(&before)));
    assert!(used < Duration::from_millis(60), "waits of 600 ms in all have used {used:?} of CPU time");
}
