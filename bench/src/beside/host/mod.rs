//! What a load asks of a runtime: each takes the form that its users are told to take.

#[cfg(feature = "heist")]
mod heist;
mod tokio;

use crate::tasks::runtime::Runtime;

pub trait Host: Runtime {
    /// Queues a job from outside.
    fn job(work: impl FnOnce() + Send + 'static);

    /// Counts the primes below a number in a parallel loop that its task awaits.
    fn computed(below: u64) -> impl Future<Output = u64> + Send + 'static;

    /// Counts the primes below a number in a parallel loop that begins and ends inside of the task.
    fn in_task(below: u64) -> impl Future<Output = u64> + Send + 'static;

    /// Computes and awaits nothing.
    fn long_poll(work: impl FnOnce() -> u64 + Send + 'static) -> impl Future<Output = u64> + Send + 'static;
}
