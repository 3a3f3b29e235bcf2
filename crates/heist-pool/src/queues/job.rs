//! Jobs that travel through queues: a pointer, what to call with it, and whose they are.

use crate::process::{Caller, OnBehalf};
use crate::profile::{self, Outcome};
use crate::signal::Signal;
use heist_sync::{Parker, StdArc as Arc};
use std::any::Any;
use std::cell::UnsafeCell;
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

    /// The address of what waits for it: its scope, or the call itself, if it is one.
    #[inline]
    pub(crate) fn awaited(&self) -> usize {
        if self.owner.is_null() { self.data.addr() } else { self.owner.addr() }
    }

    /// Its number in traces.
    pub fn number(&self) -> u32 {
        crate::recorder::number_of(self.data)
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

/// A job of `owner` on the heap that calls `f` and frees itself.
///
/// # Safety
/// `f` must not unwind, and everything it borrows must outlive its run.
pub unsafe fn heap_job<F: FnOnce() + Send>(f: F, owner: *const ()) -> JobRef {
    unsafe fn call<F: FnOnce()>(data: *const ()) {
        // SAFETY: made by `Box::into_raw` below, run once.
        let f = unsafe { Box::from_raw(data.cast_mut().cast::<F>()) };
        f();
    }
    let data = Box::into_raw(Box::new(f)).cast_const().cast();
    // SAFETY: by the caller, and `call` frees the box once.
    unsafe { JobRef::new(call::<F>, data, owner) }
}

/// A closure that is called once, at most, on whatever thread it is handed to. Behind a reference to it, what happens around a call is
/// compiled once and not for each closure.
pub type Callee<'a> = dyn FnMut() + Send + 'a;

/// Calls `run` with a closure that calls `f`, and returns what `f` returned.
///
/// # Panics
/// If `run` returns without having called the closure.
#[inline]
pub fn erased<R: Send>(f: impl FnOnce() -> R + Send, run: impl FnOnce(&mut Callee<'_>)) -> R {
    let (mut f, mut result) = (Some(f), None);
    let caller = Caller::here();
    run(&mut || {
        if let Some(f) = f.take() {
            let on_behalf = OnBehalf::of(caller);
            let value = f();
            on_behalf.end(false);
            result = Some(value);
        }
    });
    match result {
        Some(result) => result,
        None => never_called(),
    }
}

#[cold]
fn never_called() -> ! {
    unreachable!("a closure was to be called and was not")
}

/// A call on the stack of a thread that waits for it.
pub struct StackJob<'a> {
    callee: UnsafeCell<&'a mut Callee<'a>>,
    panic: UnsafeCell<Option<Payload>>,
    /// What the call came to, if it was measured.
    outcome: UnsafeCell<Option<Outcome>>,
    signal: Signal,
}

impl<'a> StackJob<'a> {
    /// A job whose waiter sleeps on `parker`.
    pub fn new(callee: &'a mut Callee<'a>, parker: Arc<Parker>) -> Self {
        Self {
            callee: UnsafeCell::new(callee),
            panic: UnsafeCell::new(None),
            outcome: UnsafeCell::new(None),
            signal: Signal::new(parker),
        }
    }

    /// A reference to queue. To be made once.
    ///
    /// # Safety
    /// The job must not move or die before its signal is set.
    pub unsafe fn as_job_ref(&self) -> JobRef {
        unsafe fn call(data: *const ()) {
            let this = data.cast::<StackJob<'_>>();
            // SAFETY: alive until the signal is set below; run once, so nobody else has the closure.
            let callee = unsafe { &mut *(*this).callee.get() };
            let on_behalf = OnBehalf::elsewhere();
            let mut result = Ok(());
            if profile::is_on() {
                let outcome = profile::measured(0, || result = halt_unwinding(callee));
                // SAFETY: the waiter looks only after the signal.
                unsafe { *(*this).outcome.get() = Some(outcome) };
            } else {
                result = halt_unwinding(callee);
            }
            on_behalf.end(result.is_err());
            if let Err(payload) = result {
                // SAFETY: the waiter looks only after the signal.
                unsafe { *(*this).panic.get() = Some(payload) };
            }
            // SAFETY: alive until the signal is set; not touched after.
            unsafe { Signal::set(&raw const (*this).signal) };
        }
        // SAFETY: by the caller.
        unsafe { JobRef::new(call, std::ptr::from_ref(self).cast(), std::ptr::null()) }
    }

    /// What to wait for.
    pub fn signal(&self) -> &Signal {
        &self.signal
    }

    /// After the signal was set: a panic of the call goes on here.
    pub fn finish(self) {
        if let Some(outcome) = self.outcome.into_inner() {
            profile::append(&outcome);
        }
        if let Some(payload) = self.panic.into_inner() {
            std::panic::resume_unwind(payload);
        }
    }
}
