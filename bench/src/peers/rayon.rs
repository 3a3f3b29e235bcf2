//! rayon, always entered by `install`: a join from outside would pay for the way in.

use super::Backend;

pub struct Rayon;

impl Backend for Rayon {
    type Pool = rayon::ThreadPool;

    fn pool(workers: usize) -> rayon::ThreadPool {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(workers)
            .thread_name(|index| format!("rayon-peer-{index}"))
            .build()
            .expect("rayon starts its threads");
        pool.broadcast(|_| {
            #[cfg(feature = "heist")]
            let in_heist = heist::current_thread_index().is_some();
            #[cfg(not(feature = "heist"))]
            let in_heist = false;
            super::assert_thread_of("rayon", rayon::current_thread_index().is_some(), in_heist);
        });
        pool
    }

    #[inline(always)]
    fn install<R: Send>(pool: &rayon::ThreadPool, work: impl FnOnce() -> R + Send) -> R {
        pool.install(work)
    }

    fn spawn(pool: &rayon::ThreadPool, work: impl FnOnce() + Send + 'static) {
        pool.spawn(work);
    }

    #[inline(always)]
    fn join<RA: Send, RB: Send>(a: impl FnOnce() -> RA + Send, b: impl FnOnce() -> RB + Send) -> (RA, RB) {
        rayon::join(a, b)
    }
}
