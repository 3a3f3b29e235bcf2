//! The global pool, and which pool a call means.

use crate::builder::{ThreadPoolBuildError, ThreadPoolBuilder};
use heist_pool::pool::Pool;
use heist_pool::worker::Local;
use heist_sync::Arc;
use std::sync::OnceLock;

static GLOBAL: OnceLock<Arc<Pool>> = OnceLock::new();

/// The global pool, started on first use.
pub(crate) fn pool() -> &'static Arc<Pool> {
    GLOBAL.get_or_init(|| match ThreadPoolBuilder::new().build_pool() {
        Ok(pool) => pool,
        Err(error) => panic!("heist's global pool could not be started: {error}"),
    })
}

/// Makes `build`'s pool the global one, unless there is one.
pub(crate) fn set(
    build: impl FnOnce() -> Result<Arc<Pool>, ThreadPoolBuildError>,
) -> Result<(), ThreadPoolBuildError> {
    let mut outcome = None;
    // `get_or_try_init` is not stable; a refusal must leave the cell empty, so that a later first use can try again.
    if GLOBAL.get().is_none() {
        let pool = build()?;
        let mut pool = Some(pool);
        GLOBAL.get_or_init(|| {
            outcome = Some(());
            pool.take().expect("called once")
        });
        if let Some(late) = pool {
            late.close();
        }
    }
    outcome.ok_or_else(ThreadPoolBuildError::already_initialized)
}

/// The pool of the calling thread, or else the global one.
pub(crate) fn current() -> Arc<Pool> {
    match Local::current() {
        Some(local) => Arc::clone(local.pool()),
        None => Arc::clone(pool()),
    }
}

/// Runs `f` on a thread of the current pool, or else of the global one.
pub(crate) fn install<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    match Local::current() {
        Some(_) => f(),
        None => pool().install(f),
    }
}
