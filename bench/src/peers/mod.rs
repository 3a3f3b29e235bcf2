//! The pools that are measured, each with its best settings, and proof that each is what it is called.

pub mod chili;
#[cfg(feature = "heist")]
pub mod heist;
pub mod rayon;

/// A pool with a free `join`, so that a workload is written once and runs on each.
///
/// chili and heist's `Fork` pass a context from call to call and have files of their own in each workload.
pub trait Backend: 'static {
    type Pool: Send + Sync;

    /// A pool of its own with `workers` threads.
    fn pool(workers: usize) -> Self::Pool;

    /// Runs `work` on one of the pool's threads.
    fn install<R: Send>(pool: &Self::Pool, work: impl FnOnce() -> R + Send) -> R;

    /// Queues `work` from outside.
    fn spawn(pool: &Self::Pool, work: impl FnOnce() + Send + 'static);

    /// Runs `a` now and lets `b` be stolen.
    fn join<RA: Send, RB: Send>(a: impl FnOnce() -> RA + Send, b: impl FnOnce() -> RB + Send) -> (RA, RB);
}

/// Panics unless this thread belongs to `pool` alone: a `rayon-core` that is patched to run on heist would
/// otherwise make heist race against itself.
pub fn assert_thread_of(pool: &str, in_rayon: bool, in_heist: bool) {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("without a name");
    assert!(name.starts_with(&format!("{pool}-peer-")), "a thread of {pool}'s pool is called {name:?}");
    assert_eq!(in_rayon, pool == "rayon", "rayon's thread index inside {pool}'s pool");
    assert_eq!(in_heist, pool == "heist", "heist's thread index inside {pool}'s pool");
}
