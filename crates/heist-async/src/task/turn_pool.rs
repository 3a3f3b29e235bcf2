//! Which pool a poll means. The models of tasks for loom have no pools.

use super::super::home::Home;
use super::{CURRENT, Guard, of_future};
use heist_pool::raw::global;
use heist_pool::raw::pool::Pool;
use heist_pool::raw::worker::Worker;
use heist_sync::StdArc as Arc;
use heist_sync::clock::Instant;

/// Runs `f`, which is no task of its own; what it spawns, and the timers and sockets that it makes, go to `pool`.
#[track_caller]
pub(crate) fn inside<R>(pool: &Arc<Pool>, f: impl FnOnce() -> R) -> R {
    struct In {
        home: Home,
        guard: Option<Guard>,
    }
    impl Drop for In {
        fn drop(&mut self) {
            self.guard = None;
            // SAFETY: our own count, and the thread has just forgotten it.
            unsafe { self.home.release() };
        }
    }
    let home = Home::of(pool);
    // Also on the way out of a panic, the thread forgets the pool before its count is given back.
    let _in_pool = In { home, guard: Some(of_future(Some(home))) };
    f()
}

/// That of the current poll. A poll that goes on in a child process is no pool's.
#[inline]
fn own() -> Option<Home> {
    let home = CURRENT.with(|current| current.home.get());
    (!home.is_none() && !home.is_foreign()).then_some(home)
}

/// The home of what is spawned here, with a count of its own if it needs one.
#[inline]
pub(crate) fn home() -> Home {
    match own() {
        Some(home) => home.duplicate(),
        None => Home::of_thread(),
    }
}

/// The pool of the current poll; outside of polls, of the thread, or else the global one.
pub(crate) fn pool() -> Arc<Pool> {
    own().map_or_else(global::current, Home::to_arc)
}

/// What time it is by the clock of that pool. A thread outside of pools does not start the global one to ask it.
pub(crate) fn now() -> Instant {
    if let Some(home) = own() {
        return home.to_arc().queues().ticks().clock().now();
    }
    match Worker::current() {
        Some(worker) => worker.pool().queues().ticks().clock().now(),
        None => global::started().map_or_else(Instant::now, |pool| pool.queues().ticks().clock().now()),
    }
}

/// Whether the current poll is another pool's than `pool`.
#[inline]
pub(crate) fn is_elsewhere(pool: &Pool) -> bool {
    own().is_some_and(|home| !home.is_in(pool))
}
