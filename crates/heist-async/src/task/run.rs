//! A worker runs a task: polls the future, or drops it, and ends the task.

use super::cell::{Head, Raw, Tail, Task};
use super::state::{Finish, Outcome, Pend, Start};
use super::{turn, waker};
use heist_pool::raw::job::{Payload, halt_unwinding};
use heist_pool::raw::process;
use heist_pool::raw::task::{Header, Place};
use heist_sync::planted::is_planted;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

impl<F: Future, X: Tail> Task<F, X> {
    /// What the pool calls.
    ///
    /// # Safety
    /// The caller has the `TaskRef`, and the task is of these types.
    pub(super) unsafe fn run(header: NonNull<Header>) {
        let task = Raw::new(header.cast::<Head>());
        let start = task.state.start();
        let _turn = turn::of_task(task, task.home());
        if start == Start::Cancel {
            // SAFETY: `RUNNING` is ours.
            return unsafe { Self::cancel(task) };
        }
        task.stamp();
        let waker = waker::borrowed(task);
        // SAFETY: `RUNNING` is ours, so the future is (R1). It stays where it is until it is dropped there.
        let polled = halt_unwinding(|| unsafe { Self::poll(task, &mut Context::from_waker(&waker)) });
        if task.home().is_foreign() {
            // The poll has forked the process. The task goes on in the parent, and here nothing is left to do.
            process::end_child_after(polled.is_err());
        }
        match polled {
            Ok(Poll::Pending) => match task.state.pend() {
                Pend::Wait => {}
                // SAFETY: `pend` gave us the `TaskRef`; the pool whose thread we are outlives this.
                Pend::Again => unsafe { task.schedule(Place::Last) },
                // SAFETY: `RUNNING` is ours.
                Pend::Cancel => unsafe { Self::cancel(task) },
                Pend::Leaked => {
                    task.tell_leak();
                    // SAFETY: `RUNNING` is ours.
                    unsafe { Self::cancel(task) };
                }
            },
            Ok(Poll::Ready(output)) => {
                // SAFETY: `RUNNING` is ours, the future is dropped once, and its place is free after that.
                unsafe {
                    Self::drop_future_or_deliver(task);
                    (&raw mut (*Self::stage(task)).output).write(ManuallyDrop::new(output));
                    Self::end(task, Outcome::Output);
                }
            }
            // SAFETY: as above.
            Err(payload) => unsafe {
                Self::drop_future_or_deliver(task);
                Self::end_panicked(task, payload);
            },
        }
    }

    /// # Safety
    /// `RUNNING` is the caller's, and the future is there.
    #[inline]
    unsafe fn poll(task: Raw, cx: &mut Context<'_>) -> Poll<F::Output> {
        task.touch_stage();
        // SAFETY: by the caller.
        let future: &mut F = unsafe { &mut *(&raw mut (*Self::stage(task)).future).cast::<F>() };
        // SAFETY: it is never moved.
        unsafe { Pin::new_unchecked(future) }.poll(cx)
    }

    /// # Safety
    /// `RUNNING` is the caller's, and the future is there. It is gone afterwards, panic or not.
    #[inline]
    unsafe fn drop_future(task: Raw) -> Result<(), Payload> {
        task.touch_stage();
        if !std::mem::needs_drop::<F>() {
            return Ok(());
        }
        // SAFETY: by the caller.
        halt_unwinding(|| unsafe { ManuallyDrop::drop(&mut (*Self::stage(task)).future) })
    }

    /// # Safety
    /// As for [`drop_future`](Self::drop_future).
    #[inline]
    unsafe fn drop_future_or_deliver(task: Raw) {
        // SAFETY: by the caller, who is on a thread of the pool.
        if let Err(payload) = unsafe { Self::drop_future(task) } {
            // SAFETY: as above.
            unsafe { task.home().deliver_panic(payload) };
        }
    }

    /// # Safety
    /// As for [`drop_future`](Self::drop_future).
    #[cold]
    unsafe fn cancel(task: Raw) {
        // SAFETY: by the caller.
        match unsafe { Self::drop_future(task) } {
            // SAFETY: the future is gone.
            Ok(()) => unsafe { Self::end(task, Outcome::Cancelled) },
            // SAFETY: as above.
            Err(payload) => unsafe { Self::end_panicked(task, payload) },
        }
    }

    /// # Safety
    /// `RUNNING` is the caller's, and the future is gone.
    #[cold]
    unsafe fn end_panicked(task: Raw, payload: Payload) {
        // SAFETY: by the caller, the place is free.
        unsafe { (&raw mut (*Self::stage(task)).payload).write(ManuallyDrop::new(payload)) };
        // SAFETY: by the caller.
        unsafe { Self::end(task, Outcome::Panicked) };
    }

    /// # Safety
    /// `RUNNING` is the caller's, and what `outcome` says is in the stage.
    #[inline]
    unsafe fn end(task: Raw, outcome: Outcome) {
        task.touch_stage();
        let mut orphan = None;
        let mut finish = task.state.finish(outcome, true, X::TELLS);
        if finish == Finish::Orphan {
            // SAFETY: by the caller, and there is no handle that could ever get it (R2).
            orphan = unsafe { Self::drop_output(task, outcome) };
            finish = task.state.finish(outcome, false, X::TELLS);
        }
        match finish {
            Finish::Left | Finish::Orphan => {}
            // SAFETY: `finish` said so.
            Finish::Free => unsafe { task.free() },
            Finish::Tell { awaiter } => {
                let too_early = is_planted("task_leaves_before_it_tells").then(|| task.state.leave());
                // SAFETY: `RUNNING` is still ours; `finish` said whose the waker is.
                unsafe { Self::tell(task, awaiter, orphan) };
                if too_early.unwrap_or_else(|| task.state.leave()) {
                    // SAFETY: `leave` said so.
                    unsafe { task.free() };
                }
            }
        }
    }

    /// Drops what nobody will ever ask for. A payload is returned if the tail wants it.
    ///
    /// # Safety
    /// `RUNNING` is the caller's, there is no handle, and what `outcome` says is in the stage.
    #[cold]
    unsafe fn drop_output(task: Raw, outcome: Outcome) -> Option<Payload> {
        // SAFETY: by the caller.
        let stage = unsafe { Self::stage(task) };
        let payload = match outcome {
            Outcome::Cancelled => return None,
            // SAFETY: by the caller.
            Outcome::Panicked => unsafe { ManuallyDrop::take(&mut (*stage).payload) },
            // SAFETY: by the caller.
            Outcome::Output => match halt_unwinding(|| unsafe { ManuallyDrop::drop(&mut (*stage).output) }) {
                Ok(()) => return None,
                Err(payload) => payload,
            },
        };
        if X::TELLS {
            return Some(payload);
        }
        // SAFETY: we are on a thread of the pool.
        unsafe { task.home().deliver_panic(payload) };
        None
    }

    /// # Safety
    /// `RUNNING` is the caller's; `awaiter`: the waker in its place is, too.
    unsafe fn tell(task: Raw, awaiter: bool, orphan: Option<Payload>) {
        if awaiter {
            // SAFETY: by the caller (R3). The handle leaves the place alone from here on.
            let waker = task.awaiter.with(|place| unsafe { (*place).assume_init_read() });
            if let Err(payload) = halt_unwinding(|| waker.wake()) {
                // SAFETY: we are on a thread of the pool.
                unsafe { task.home().deliver_panic(payload) };
            }
        }
        if X::TELLS {
            // SAFETY: of these types, and kept by `RUNNING`.
            unsafe { Self::tail(task) }.done(task.home(), orphan);
        }
    }
}
