//! The pool that a task runs in, as one word of its cell.

use heist_pool::raw::job::Payload;
use heist_pool::raw::pool::Pool;
use heist_pool::raw::task::{Place, TaskRef};
use heist_pool::raw::{global, worker::Worker};
use heist_sync::StdArc as Arc;
use heist_sync::process;
use std::ptr;

/// A pool's address. Of the global pool, which is never freed, it is just that; of any other it is tagged and owns one of the
/// pool's counts, which whoever has the `Home` passes on or gives back with [`release`](Self::release).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Home(*const ());

// SAFETY: a `Pool` is `Sync`, and the address is never changed.
unsafe impl Send for Home {}
// SAFETY: as above.
unsafe impl Sync for Home {}

const COUNTED: usize = 1;

impl Home {
    /// No pool: outside of all polls.
    pub(crate) const NONE: Self = Self(ptr::null());

    /// A home in `pool`, with a count of its own if it needs one.
    ///
    /// # Panics
    /// If the pool is another process's.
    #[inline]
    #[track_caller]
    pub(crate) fn of(pool: &Arc<Pool>) -> Self {
        pool.refuse_if_foreign();
        if global::is(pool) {
            Self(Arc::as_ptr(pool).cast())
        } else {
            Self(Arc::into_raw(Arc::clone(pool)).cast::<()>().map_addr(|a| a | COUNTED))
        }
    }

    /// The home of what the calling thread spawns, by the pool it belongs to.
    #[inline]
    pub(crate) fn of_thread() -> Self {
        match Worker::current() {
            Some(worker) => Self::of(worker.pool()),
            None => Self::of(global::pool()),
        }
    }

    pub(crate) fn is_none(self) -> bool {
        self.0.is_null()
    }

    /// Whether its pool is another process's. The pool outlives the call.
    #[inline]
    pub(crate) fn is_foreign(self) -> bool {
        // SAFETY: whoever has the home keeps the pool.
        process::is_child() && unsafe { &*self.pool_ptr() }.is_foreign()
    }

    fn is_counted(self) -> bool {
        self.0.addr() & COUNTED != 0
    }

    pub(crate) fn is_in(self, pool: &Pool) -> bool {
        self.pool_ptr() == ptr::from_ref(pool)
    }

    fn pool_ptr(self) -> *const Pool {
        self.0.map_addr(|a| a & !COUNTED).cast()
    }

    /// One more.
    #[inline]
    pub(crate) fn duplicate(self) -> Self {
        if self.is_counted() {
            // SAFETY: from `Arc::into_raw` in `of`, and our own count keeps it.
            unsafe { Arc::increment_strong_count(self.pool_ptr()) };
        }
        self
    }

    /// The pool, with a count of the caller's own.
    pub(crate) fn to_arc(self) -> Arc<Pool> {
        let pool = self.pool_ptr();
        // SAFETY: from an `Arc`, and whoever has the home keeps one of its counts, or it is the global pool's.
        unsafe { Arc::increment_strong_count(pool) };
        // SAFETY: the count is the one from just above.
        unsafe { Arc::from_raw(pool) }
    }

    /// Gives the count back.
    ///
    /// # Safety
    /// Once for each `of` and `duplicate`; the home is not used afterwards.
    #[inline]
    pub(crate) unsafe fn release(self) {
        if self.is_counted() {
            // SAFETY: as the caller says.
            unsafe { Arc::decrement_strong_count(self.pool_ptr()) };
        }
    }

    /// Keeps the pool for as long as the result lives: the task that this home was read from may be gone as soon as it is
    /// queued, while its pool is still busy with queueing it.
    #[inline]
    pub(crate) fn keep(self) -> Keep {
        Keep(self.duplicate())
    }

    /// Queues a task.
    ///
    /// # Safety
    /// The pool outlives the call.
    #[inline]
    pub(crate) unsafe fn schedule(self, task: TaskRef, place: Place) {
        // SAFETY: as the caller says.
        unsafe { &*self.pool_ptr() }.schedule(task, place);
    }

    /// Hands over a panic that nobody else can get.
    ///
    /// # Safety
    /// The pool outlives the call.
    #[cold]
    pub(crate) unsafe fn deliver_panic(self, payload: Payload) {
        // SAFETY: as the caller says.
        unsafe { &*self.pool_ptr() }.deliver_panic(payload);
    }
}

/// See [`Home::keep`].
pub(crate) struct Keep(Home);

impl Keep {
    #[inline]
    pub(crate) fn schedule(&self, task: TaskRef, place: Place) {
        // SAFETY: kept.
        unsafe { self.0.schedule(task, place) };
    }
}

impl Drop for Keep {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: duplicated in `keep`, and nobody uses it from here on.
        unsafe { self.0.release() };
    }
}
