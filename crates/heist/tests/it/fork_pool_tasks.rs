//! Every way to start a task, or a job that is awaited, in a pool that is not the current one.

use heist::{ThreadPool, ThreadPoolBuilder, block_on, current_num_threads, task};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

/// The number of threads tells the pools apart.
async fn starts_in(pool: &ThreadPool) {
    let threads = pool.current_num_threads();
    assert_eq!(task::spawn_in(pool, async { current_num_threads() }).await.unwrap(), threads);
    let named = task::Builder::new().name("named").spawn_in(pool, async { current_num_threads() });
    assert_eq!(named.await.unwrap(), threads);
    let mut set = task::JoinSet::new();
    set.spawn_in(pool, async { current_num_threads() });
    assert_eq!(set.join_next().await.unwrap().unwrap(), threads);
    assert_eq!(pool.spawn_task(async { current_num_threads() }).await.unwrap(), threads);
    assert_eq!(pool.compute(current_num_threads).await, threads);
}

#[test]
fn a_pool_is_named_from_outside_and_from_another_pool() {
    let (one, other) = (pool(3), pool(5));
    block_on(starts_in(&one));
    block_on(starts_in(&other));
    one.block_on(starts_in(&other));
    one.install(|| block_on(starts_in(&other)));
    other.install(|| block_on(starts_in(&other)));
    one.shutdown().unwrap();
    other.shutdown().unwrap();
}

/// After a computation elsewhere, what is spawned belongs to the current pool again.
#[test]
fn a_computation_elsewhere_leaves_the_current_pool_as_it_was() {
    let (one, other) = (pool(3), pool(5));
    let seen = one.block_on(async {
        let computed = other.compute(current_num_threads);
        let spawned = task::spawn(async { current_num_threads() });
        (computed.await, spawned.await.unwrap())
    });
    assert_eq!(seen, (5, 3));
}

#[test]
fn a_panic_of_a_computation_arrives_where_it_is_awaited() {
    let pool = pool(2);
    let seen = catch_unwind(AssertUnwindSafe(|| block_on(pool.compute(|| panic_any(7u32)))));
    assert_eq!(*seen.unwrap_err().downcast::<u32>().unwrap(), 7);
    assert_eq!(block_on(pool.compute(|| 8)), 8);
}
