//! tokio with rayon beside it, and nothing that computes on tokio's workers, as both recommend.

use std::sync::OnceLock;

use rayon::prelude::*;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use super::Host;
use crate::beside::primes::is_prime;
use crate::peers::{Backend, rayon::Rayon};
use crate::tasks::runtime::{Tokio, WORKERS};

fn pool() -> &'static rayon::ThreadPool {
    static POOL: OnceLock<rayon::ThreadPool> = OnceLock::new();
    POOL.get_or_init(|| Rayon::pool(WORKERS))
}

fn primes(below: u64) -> u64 {
    (0..below).into_par_iter().filter(|&number| is_prime(number)).count() as u64
}

impl Host for Tokio {
    fn job(work: impl FnOnce() + Send + 'static) {
        pool().spawn(work);
    }

    async fn computed(below: u64) -> u64 {
        let (done, ended) = oneshot::channel();
        pool().spawn(move || done.send(primes(below)).expect("the task waits"));
        ended.await.expect("the loop does not panic")
    }

    async fn in_task(below: u64) -> u64 {
        spawn_blocking(move || pool().install(|| primes(below))).await.expect("the loop does not panic")
    }

    async fn long_poll(work: impl FnOnce() -> u64 + Send + 'static) -> u64 {
        spawn_blocking(work).await.expect("the work does not panic")
    }
}
