//! Tasks as the pool sees them: a header behind a pointer, and one function that gives the task a turn.
//!
//! What a task is, when it is finished and who frees it is its maker's business. The pool promises that each [`TaskRef`]
//! handed to it is run exactly once, on one of its threads.

// To be shown, so it is not for the checkers.
use heist_sync::std_atomic::AtomicU64;
use std::ptr::NonNull;

/// What the pool calls.
#[repr(C)]
#[derive(Debug)]
pub struct Vtable {
    /// Gives the task a turn. It must not unwind.
    pub run: unsafe fn(NonNull<Header>),
    /// What the task is called, as a [number of a name](heist_trace::name); 0 if it has none. Called between two turns.
    pub name: unsafe fn(NonNull<Header>) -> u32,
    /// Where the pool may keep since when the task is ready, if anywhere.
    pub ready_ns: unsafe fn(NonNull<Header>) -> Option<&'static AtomicU64>,
}

/// The first field of every task.
#[repr(C)]
#[derive(Debug)]
pub struct Header {
    /// With the right to all that lies behind it: it may be the beginning of a larger table.
    vtable: NonNull<Vtable>,
}

impl Header {
    /// A header.
    pub const fn new(vtable: &'static Vtable) -> Self {
        Self { vtable: NonNull::from_ref(vtable) }
    }

    /// A header whose table is the beginning of a larger one.
    ///
    /// # Safety
    /// The table is valid for ever.
    pub const unsafe fn with_table(vtable: NonNull<Vtable>) -> Self {
        Self { vtable }
    }

    /// The table it was made with.
    #[inline]
    pub fn table(&self) -> NonNull<Vtable> {
        self.vtable
    }
}

/// The right to run a task once: what travels through the queues.
#[must_use = "a task that is not run is lost"]
#[derive(Debug)]
pub struct TaskRef(NonNull<Header>);

// SAFETY: whoever makes one answers for the task being `Send` (see `from_raw`).
unsafe impl Send for TaskRef {}

impl TaskRef {
    /// # Safety
    /// `header` is the first field of a task, stays valid until the turn that this gives it is over, and
    /// `(vtable.run)(header)` is sound once, on any thread, and `(vtable.ready_ns)(header)` before that. There is at most one `TaskRef` of a task at a time.
    #[inline]
    pub unsafe fn from_raw(header: NonNull<Header>) -> Self {
        Self(header)
    }

    /// The header.
    #[inline]
    pub fn as_ptr(&self) -> NonNull<Header> {
        self.0
    }

    /// Without the right: it is now the caller's to restore with [`from_raw`](Self::from_raw).
    #[inline]
    pub fn into_raw(self) -> NonNull<Header> {
        self.0
    }

    /// Its number in traces.
    #[inline]
    pub fn number(&self) -> u32 {
        crate::recorder::number_of(self.0.as_ptr())
    }

    /// What it is called in traces.
    pub fn name(&self) -> u32 {
        // SAFETY: by the contract of `from_raw`.
        unsafe { (self.0.as_ref().vtable.as_ref().name)(self.0) }
    }

    /// Gives the task its turn.
    #[inline]
    pub fn run(self) {
        // SAFETY: by the contract of `from_raw`; `self` is gone, so once.
        unsafe { (self.0.as_ref().vtable.as_ref().run)(self.0) }
    }
}

/// Where since when a task is ready is kept, in a pool that asks for it; 0 if it was not.
///
/// # Safety
/// The caller has its `TaskRef`.
pub(crate) unsafe fn ready_ns(task: NonNull<Header>) -> Option<&'static AtomicU64> {
    // SAFETY: by the contract of `from_raw`; the task is there until its turn is over.
    unsafe { (task.as_ref().vtable.as_ref().ready_ns)(task) }
}

/// Where a task that became ready goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Spawned or woken: it runs next on the calling thread if that is one of the pool's, else it goes to the injector.
    Next,
    /// It gave way to others: behind everything that the calling thread has queued.
    Last,
}
