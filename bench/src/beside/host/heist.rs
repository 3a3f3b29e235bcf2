//! heist: tasks, jobs and loops on the same workers, and nothing has to be moved elsewhere.

use heist::prelude::*;

use super::Host;
use crate::beside::primes::is_prime;
use crate::tasks::runtime::Heist;

fn primes(below: u64) -> u64 {
    (0..below).into_par_iter().filter(|&number| is_prime(number)).count() as u64
}

impl Host for Heist {
    fn job(work: impl FnOnce() + Send + 'static) {
        Heist::ready();
        heist::spawn(work);
    }

    async fn computed(below: u64) -> u64 {
        heist::task::compute(move || primes(below)).await
    }

    async fn in_task(below: u64) -> u64 {
        primes(below)
    }

    async fn long_poll(work: impl FnOnce() -> u64 + Send + 'static) -> u64 {
        work()
    }
}
