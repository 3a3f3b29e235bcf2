//! Tasks that borrow, for a scope that waits for them.

use super::cell::{Tail, Task};
use super::handle::AbortHandle;
use super::home::Home;
use super::state::Word;
use heist_pool::raw::job::Payload;
use heist_pool::raw::pool::Pool;
use heist_pool::raw::task::Place;
use heist_sync::StdArc as Arc;
use std::future::Future;
use std::panic::Location;

struct OnDone {
    call: unsafe fn(*const (), Option<Payload>),
    data: *const (),
}

// SAFETY: whoever calls `spawn_scoped_raw` answers for it.
unsafe impl Send for OnDone {}

impl Tail for OnDone {
    const TELLS: bool = true;

    fn done(&self, _: Home, orphan: Option<Payload>) {
        // SAFETY: once, after the future and its output are gone, as promised to whoever made it.
        unsafe { (self.call)(self.data, orphan) };
    }
}

/// Runs a future that may borrow as a task in `pool`, and calls `on_done(data, panic)` when it has ended: when the future and its
/// output have been dropped. That comes exactly once, also if the task is aborted or could never run again, on a thread of the
/// pool, and it is the last that the task does with anything borrowed. Without a panic, or if it was cancelled, there is no
/// payload.
///
/// # Safety
/// - Everything that the future and its output borrow lives until `on_done` is called.
/// - `on_done(data, _)` is sound on any thread, and does not unwind.
#[doc(hidden)]
#[track_caller]
pub unsafe fn spawn_scoped_raw<F>(
    pool: &Arc<Pool>,
    future: F,
    on_done: unsafe fn(*const (), Option<Payload>),
    data: *const (),
) -> AbortHandle
where
    F: Future + Send,
    F::Output: Send,
{
    let tail = OnDone { call: on_done, data };
    // As for every task.
    #[cfg(feature = "tracing")]
    let future = tracing::Instrument::in_current_span(future);
    let task = Task::make(future, tail, Home::of(pool), Location::caller(), Word::spawned(false, 1));
    // SAFETY: this is the hold that the word counts.
    let handle = unsafe { AbortHandle::new(task) };
    // SAFETY: a new task's `TaskRef` is ours; the caller keeps the pool.
    unsafe { task.schedule(Place::Next) };
    handle
}
