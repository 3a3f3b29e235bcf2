//! The global pool, and which pool a call means.

use crate::build::BuildError;
use crate::pool::{Config, Pool};
use crate::threads::ThreadStart;
use crate::worker::Worker;
use heist_sync::StdArc as Arc;
use heist_sync::process::PerProcess;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, Weak};

// Each process has its own: in a child of a fork the threads of the parent's do not exist, and a lock may be held by one of them.
static GLOBAL: PerProcess<OnceLock<Arc<Pool>>> = PerProcess::new(OnceLock::new(), OnceLock::new);

// std's lock in every build: no protocol depends on it, and those of the checkers cannot be static.
static ALL: PerProcess<Mutex<Vec<Weak<Pool>>>> = PerProcess::new(Mutex::new(Vec::new()), Mutex::default);

fn lock_all() -> MutexGuard<'static, Vec<Weak<Pool>>> {
    ALL.get().lock().unwrap_or_else(PoisonError::into_inner)
}

/// A new pool is there.
pub(crate) fn enlist(pool: Weak<Pool>) {
    let mut all = lock_all();
    all.retain(|pool| pool.strong_count() > 0);
    all.push(pool);
}

/// Every pool of the process.
pub fn all() -> Vec<Arc<Pool>> {
    lock_all().iter().filter_map(Weak::upgrade).collect()
}

/// As [`all`], for one who must not hang.
pub(crate) fn try_all() -> Option<Vec<Arc<Pool>>> {
    Some(heist_sync::lock_soon(|| ALL.get().try_lock())?.iter().filter_map(Weak::upgrade).collect())
}

/// The global pool, started on first use.
///
/// # Panics
/// If not one thread can be started, or the environment asks for a number of threads that is none.
pub fn pool() -> &'static Arc<Pool> {
    let config = || Config { guests: Some(true), ..Config::default() };
    GLOBAL.get().get_or_init(|| match config().build(ThreadStart::spawn) {
        Ok(pool) => pool,
        Err(BuildError::BadValue(why)) => panic!("heist's global pool could not be started: {why}"),
        Err(BuildError::Io(error)) => panic!(
            "heist's global pool could not be started: {error}. Raise the limit on threads or on memory (ulimit -u, ulimit -v, \
             pids.max)"
        ),
        Err(BuildError::CurrentThreadInPool) => unreachable!("the calling thread does not join"),
    })
}

/// The global pool, if it has been started.
pub fn started() -> Option<&'static Arc<Pool>> {
    GLOBAL.get().get()
}

/// Makes `build`'s pool the global one. False if there is one already.
pub fn set<E>(build: impl FnOnce() -> Result<Arc<Pool>, E>) -> Result<bool, E> {
    // `get_or_try_init` is not stable; a refusal must leave the cell empty, so that a later first use can try again.
    let global = GLOBAL.get();
    if global.get().is_some() {
        return Ok(false);
    }
    let mut pool = Some(build()?);
    global.get_or_init(|| pool.take().expect("called once"));
    // Somebody was faster.
    if let Some(late) = pool {
        late.close();
        return Ok(false);
    }
    Ok(true)
}

/// Whether `pool` is the global one, which is never freed.
pub fn is(pool: &Pool) -> bool {
    GLOBAL.get().get().is_some_and(|global| std::ptr::eq(&raw const **global, pool))
}

/// The pool of the calling thread, or else the global one.
pub fn current() -> Arc<Pool> {
    Arc::clone(Worker::current().map_or_else(pool, Worker::pool))
}

/// Runs `f` in the current pool, or else in the global one; see [`Pool::install`].
#[inline]
pub fn install<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    if Worker::current().is_some() { f() } else { pool().install(f) }
}
