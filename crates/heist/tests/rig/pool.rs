//! Pools of the sizes that the tests go through.

use heist::{ThreadPool, ThreadPoolBuilder};

/// A pool of `n` workers with room for the frames of an unoptimised build.
pub fn pool(n: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(n).stack_size(16 << 20).build().expect("a pool")
}

/// A pool of `n` workers that takes guests: calls from outside run on the calling thread while a permit is free.
pub fn guest_pool(n: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(n).guests(true).build().expect("a pool")
}
