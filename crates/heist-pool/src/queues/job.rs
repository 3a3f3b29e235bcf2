//! Jobs that travel through queues: a pointer, what to call with it, and whose they are.

use crate::signal::Signal;
use heist_sync::{Parker, StdArc as Arc};
use std::any::Any;
use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a panic leaves behind.
pub type Payload = Box<dyn Any + Send>;

/// Runs `f`; a panic becomes an `Err`.
pub fn halt_unwinding<R>(f: impl FnOnce() -> R) -> Result<R, Payload> {
    catch_unwind(AssertUnwindSafe(f))
}

/// Drops a payload that nobody wants, even if its own drop panics.
pub fn discard(payload: Payload) {
    if let Err(second) = halt_unwinding(|| drop(payload)) {
        // A payload whose drop panics with a payload whose drop panics: leaking is the end of the line.
        std::mem::forget(second);
    }
}

/// A queued job. It is run exactly once; the queues never drop one.
#[derive(Clone, Copy, Debug)]
pub struct JobRef {
    call: unsafe fn(*const ()),
    data: *const (),
    owner: *const (),
}

// SAFETY: whoever makes a `JobRef` answers for what is behind it being `Send` (see `new`).
unsafe impl Send for JobRef {}

impl JobRef {
    /// A job that calls `call(data)` and belongs to `owner` (a scope's address, or null for a detached one).
    ///
    /// # Safety
    /// `call(data)` must be sound once, on any thread, until it has been run, and must not unwind.
    pub unsafe fn new(call: unsafe fn(*const ()), data: *const (), owner: *const ()) -> Self {
        Self { call, data, owner }
    }

    /// Whose it is.
    pub fn owner(&self) -> *const () {
        self.owner
    }

    /// Runs it.
    ///
    /// # Safety
    /// Once only.
    pub unsafe fn run(self) {
        // SAFETY: by the contracts of `new` and of this function.
        unsafe { (self.call)(self.data) }
    }
}

/// A job on the heap that frees itself.
pub struct HeapJob<F>(F);

impl<F: FnOnce() + Send> HeapJob<F> {
    /// Boxes `f` as a job of `owner`.
    ///
    /// # Safety
    /// `f` must not unwind, and everything it borrows must outlive its run.
    pub unsafe fn boxed(f: F, owner: *const ()) -> JobRef {
        unsafe fn call<F: FnOnce() + Send>(data: *const ()) {
            // SAFETY: made by `Box::into_raw` below, run once.
            let job = unsafe { Box::from_raw(data.cast_mut().cast::<HeapJob<F>>()) };
            (job.0)();
        }
        let data = Box::into_raw(Box::new(Self(f))).cast_const().cast();
        // SAFETY: by the caller, and `call` frees the box once.
        unsafe { JobRef::new(call::<F>, data, owner) }
    }
}

/// A job on the stack of a thread that waits for it.
pub struct StackJob<F, R> {
    f: UnsafeCell<ManuallyDrop<F>>,
    result: UnsafeCell<Option<Result<R, Payload>>>,
    signal: Signal,
}

impl<F: FnOnce() -> R + Send, R: Send> StackJob<F, R> {
    /// A job whose waiter sleeps on `parker`.
    pub fn new(f: F, parker: Arc<Parker>) -> Self {
        Self {
            f: UnsafeCell::new(ManuallyDrop::new(f)),
            result: UnsafeCell::new(None),
            signal: Signal::new(parker),
        }
    }

    /// A reference to queue. To be made once.
    ///
    /// # Safety
    /// The job must not move or die before its signal is set.
    pub unsafe fn as_job_ref(&self) -> JobRef {
        unsafe fn call<F: FnOnce() -> R + Send, R: Send>(data: *const ()) {
            let this = data.cast::<StackJob<F, R>>();
            // SAFETY: alive until the signal is set below; run once, so the closure is there.
            let f = unsafe { ManuallyDrop::take(&mut *(*this).f.get()) };
            let result = halt_unwinding(f);
            // SAFETY: the waiter looks only after the signal.
            unsafe { *(*this).result.get() = Some(result) };
            // SAFETY: alive until the signal is set; not touched after.
            unsafe { Signal::set(&raw const (*this).signal) };
        }
        // SAFETY: by the caller.
        unsafe { JobRef::new(call::<F, R>, std::ptr::from_ref(self).cast(), std::ptr::null()) }
    }

    /// What to wait for.
    pub fn signal(&self) -> &Signal {
        &self.signal
    }

    /// The result, after the signal was set; a panic goes on here.
    pub fn into_result(self) -> R {
        match self.result.into_inner() {
            Some(Ok(result)) => result,
            Some(Err(payload)) => std::panic::resume_unwind(payload),
            None => unreachable!("the signal is set after the result"),
        }
    }
}
