//! heist, entered as rayon is.

use super::Backend;

pub struct Heist;

/// The pool whose callers are its guests, as those of the global pool are.
pub fn guests() -> &'static heist::ThreadPool {
    static POOL: std::sync::OnceLock<heist::ThreadPool> = std::sync::OnceLock::new();
    POOL.get_or_init(|| {
        let pool = heist::ThreadPoolBuilder::new().num_threads(2).guests(true);
        pool.build().expect("heist starts its threads")
    })
}

impl Backend for Heist {
    type Pool = heist::ThreadPool;

    fn pool(workers: usize) -> heist::ThreadPool {
        let pool = heist::ThreadPoolBuilder::new()
            .num_threads(workers)
            .thread_name(|index| format!("heist-peer-{index}"))
            .build()
            .expect("heist starts its threads");
        pool.broadcast(|_| {
            let in_rayon = rayon::current_thread_index().is_some();
            super::assert_thread_of("heist", in_rayon, heist::current_thread_index().is_some());
        });
        pool
    }

    #[inline(always)]
    fn install<R: Send>(pool: &heist::ThreadPool, work: impl FnOnce() -> R + Send) -> R {
        pool.install(work)
    }

    fn spawn(pool: &heist::ThreadPool, work: impl FnOnce() + Send + 'static) {
        pool.spawn(work);
    }

    #[inline(always)]
    fn join<RA: Send, RB: Send>(a: impl FnOnce() -> RA + Send, b: impl FnOnce() -> RB + Send) -> (RA, RB) {
        heist::join(a, b)
    }
}
