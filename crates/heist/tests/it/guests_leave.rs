//! A thread from outside that has worked in a pool keeps nothing of it alive once the pool is shut down: what the pool's handlers have
//! captured is dropped, however long the guest lives on.

use crate::rig::pool::pool;
use crate::rig::watchdog::watch;
use heist::{ThreadPool, ThreadPoolBuilder};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Where the pool has something of the program's.
#[derive(Clone, Copy, Debug)]
enum CapturedBy {
    StartHandler,
    ExitHandler,
    PanicHandler,
    ThreadName,
}

const ALL: [CapturedBy; 4] =
    [CapturedBy::StartHandler, CapturedBy::ExitHandler, CapturedBy::PanicHandler, CapturedBy::ThreadName];

fn holding(captured: &Arc<()>, by: CapturedBy) -> ThreadPool {
    let (builder, held) = (ThreadPoolBuilder::new().num_threads(2).guests(true), Arc::clone(captured));
    let builder = match by {
        CapturedBy::StartHandler => builder.start_handler(move |_| _ = std::hint::black_box(&held)),
        CapturedBy::ExitHandler => builder.exit_handler(move |_| _ = std::hint::black_box(&held)),
        CapturedBy::PanicHandler => builder.panic_handler(move |_| _ = std::hint::black_box(&held)),
        CapturedBy::ThreadName => {
            builder.thread_name(move |i| format!("{i} of {}", Arc::strong_count(&held)))
        }
    };
    builder.build().unwrap()
}

fn use_as_guest(pool: &ThreadPool) {
    assert_eq!(pool.fork(|f| f.join(|_| 1, |_| 2)), (1, 2));
    assert_eq!(pool.join(|| 1, || 2), (1, 2));
    pool.scope(|s| s.spawn(|_| ()));
    // Leftovers: a job and a task that the guest spawns and does not wait for.
    pool.fork(|_| {
        heist::spawn(|| ());
        drop(heist::task::spawn(async {}));
    });
    assert_eq!(pool.install(|| 7), 7);
}

/// Threads leave in their own time after a drop; this is far beyond it.
fn is_let_go(captured: &Arc<()>, what: &str) {
    let until = Instant::now() + Duration::from_secs(30);
    while Arc::strong_count(captured) > 1 {
        assert!(Instant::now() < until, "{what}: {} still hold it", Arc::strong_count(captured) - 1);
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn after_a_shutdown() {
    let _watch = watch!();
    for by in ALL {
        let captured = Arc::new(());
        let pool = holding(&captured, by);
        use_as_guest(&pool);
        pool.shutdown().unwrap();
        is_let_go(&captured, &format!("captured by {by:?}"));
    }
}

#[test]
fn after_a_drop() {
    let _watch = watch!();
    for by in ALL {
        let captured = Arc::new(());
        let pool = holding(&captured, by);
        use_as_guest(&pool);
        drop(pool);
        is_let_go(&captured, &format!("captured by {by:?}"));
    }
}

/// The guest waits in the pool, is itself a thread of another pool, and lives on in that one.
#[test]
fn a_worker_of_another_pool_as_guest() {
    let _watch = watch!();
    let home = pool(1);
    for by in ALL {
        let captured = Arc::new(());
        let guest_of = holding(&captured, by);
        home.install(|| use_as_guest(&guest_of));
        guest_of.shutdown().unwrap();
        is_let_go(&captured, &format!("captured by {by:?}"));
    }
}

/// Several guests at once, which then sleep, and one pool after another.
#[test]
fn many_guests_of_many_pools() {
    let _watch = watch!();
    let captured = Arc::new(());
    let barrier = std::sync::Barrier::new(4);
    std::thread::scope(|threads| {
        let pools: Vec<_> = ALL.iter().map(|&by| holding(&captured, by)).collect();
        let pools = Arc::new(pools);
        for _ in 0..3 {
            let (pools, barrier) = (Arc::clone(&pools), &barrier);
            threads.spawn(move || {
                pools.iter().for_each(use_as_guest);
                drop(pools);
                barrier.wait();
                // Alive, but in no pool, until the other end has looked.
                barrier.wait();
            });
        }
        barrier.wait();
        for pool in Arc::into_inner(pools).expect("all guests have let go of the handles") {
            pool.shutdown().unwrap();
        }
        let until = Instant::now() + Duration::from_secs(30);
        while Arc::strong_count(&captured) > 1 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        let held = Arc::strong_count(&captured) - 1;
        barrier.wait();
        assert_eq!(held, 0, "guests that are still there hold something of pools that are gone");
    });
}
