//! What one who spawned a task has in hand.

use super::cell::{Head, Raw};
use super::state::{Loose, Outcome, Word};
use super::{Id, JoinError, turn};
use crate::budget;
use heist_pool::raw::job::Payload;
use heist_pool::raw::stall;
use heist_pool::raw::task::Place;
use heist_pool::raw::worker::Worker;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker, ready};

/// Awaits a task's output.
///
/// Dropping it detaches the task: it runs on, and nobody gets its output. [`abort`](Self::abort) cancels the task instead. A task that
/// nobody awaits and that panics has its panic delivered to the pool's panic handler.
///
/// A task that waits, whose last waker and handle are gone, could never run again: it is cancelled.
///
/// ```
/// let handle = heist::task::spawn(async { 6 * 7 });
/// assert_eq!(heist::block_on(handle).unwrap(), 42);
/// ```
pub struct JoinHandle<T> {
    /// The task's address; its lowest bit says that the output was taken.
    tagged: NonNull<Head>,
    output: PhantomData<fn() -> T>,
}

// SAFETY: the output may be taken and dropped on any thread; all else is the word's.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: a shared handle lends no output.
unsafe impl<T: Send> Sync for JoinHandle<T> {}
impl<T> UnwindSafe for JoinHandle<T> {}
impl<T> RefUnwindSafe for JoinHandle<T> {}
impl<T> Unpin for JoinHandle<T> {}

const TAKEN: usize = 1;

impl<T> JoinHandle<T> {
    /// # Safety
    /// The task's output is a `T`, its word has `HANDLE`, and this is the handle.
    #[inline]
    pub(super) unsafe fn new(task: Raw) -> Self {
        // SAFETY: a cell's address is not null.
        Self { tagged: unsafe { NonNull::new_unchecked(task.as_ptr()) }, output: PhantomData }
    }

    #[inline]
    pub(super) fn task(&self) -> Raw {
        let head = self.tagged.as_ptr().map_addr(|a| a & !TAKEN);
        // SAFETY: a cell's address is not null.
        Raw::new(unsafe { NonNull::new_unchecked(head) })
    }

    #[inline]
    fn is_taken(&self) -> bool {
        self.tagged.as_ptr().addr() & TAKEN != 0
    }

    /// Takes what the task left behind.
    ///
    /// # Safety
    /// The task is done, and this has not been called before.
    #[inline]
    unsafe fn take(&mut self, word: Word) -> Result<T, Option<Payload>> {
        let task = self.task();
        // SAFETY: a cell's address with the tag is not null.
        self.tagged = unsafe { NonNull::new_unchecked(task.as_ptr().map_addr(|a| a | TAKEN)) };
        task.touch_stage();
        let stage = task.stage();
        match word.outcome() {
            // SAFETY: done and not taken, so the output is there and ours (R2).
            Outcome::Output => Ok(unsafe { stage.cast::<T>().read() }),
            // SAFETY: the same for a payload.
            Outcome::Panicked => Err(Some(unsafe { stage.cast::<Payload>().read() })),
            Outcome::Cancelled => Err(None),
        }
    }

    /// The task's result, if it is done.
    #[inline]
    pub(super) fn try_take(&mut self) -> Option<Result<T, JoinError>> {
        let word = self.task().state.load();
        assert!(!self.is_taken(), "a JoinHandle was polled after it had given its result");
        if !word.is_done() {
            return None;
        }
        // SAFETY: done, and not taken.
        Some(unsafe { self.take(word) }.map_err(|payload| self.error(payload)))
    }

    /// The task is the parent process's, and does not end here.
    #[cold]
    pub(super) fn give_up(&mut self) -> JoinError {
        self.tagged = self.tagged.map_addr(|a| a | TAKEN);
        JoinError::foreign(self.id())
    }

    #[cold]
    fn error(&self, payload: Option<Payload>) -> JoinError {
        match payload {
            Some(payload) => JoinError::panicked(self.id(), payload),
            None => JoinError::cancelled(self.id()),
        }
    }

    /// Has `waker` woken at the end. False if that has come.
    fn offer(&mut self, waker: &Waker) -> bool {
        let task = self.task();
        let mut old = None;
        if task.state.load().has_awaiter() {
            // SAFETY: while `AWAITER` is set the place is only read, and looking at the waker does not need it to be ours (R3).
            if task.awaiter.with(|place| unsafe { (*place).assume_init_ref() }.will_wake(waker)) {
                return !task.state.load().is_done();
            }
            if !task.state.retract_awaiter() {
                return false;
            }
            // SAFETY: retracted, so it is ours.
            old = Some(task.awaiter.with(|place| unsafe { (*place).assume_init_read() }));
        }
        let waker = waker.clone();
        task.awaiter.with_mut(|place| {
            // SAFETY: `AWAITER` is clear, so the place is ours and empty.
            unsafe { (*place).write(waker) };
        });
        let offered = task.state.offer_awaiter();
        if !offered {
            // SAFETY: not offered, so it is still ours.
            drop(task.awaiter.with(|place| unsafe { (*place).assume_init_read() }));
        }
        // Foreign code, so last.
        drop(old);
        offered
    }

    /// Cancels the task: its future is dropped on a worker, as soon as it is not being polled. If it ends before that, it has
    /// ended.
    ///
    /// ```
    /// let handle = heist::task::spawn(std::future::pending::<()>());
    /// handle.abort();
    /// assert!(heist::block_on(handle).unwrap_err().is_cancelled());
    /// ```
    pub fn abort(&self) {
        abort(self.task());
    }

    /// A handle that can only abort.
    ///
    /// ```
    /// let handle = heist::task::spawn(std::future::pending::<()>());
    /// handle.abort_handle().abort();
    /// assert!(heist::block_on(handle).unwrap_err().is_cancelled());
    /// ```
    pub fn abort_handle(&self) -> AbortHandle {
        self.task().state.hold();
        AbortHandle { task: self.task() }
    }

    /// Whether the task has ended, in whatever way.
    ///
    /// ```
    /// let handle = heist::task::spawn(std::future::pending::<()>());
    /// assert!(!handle.is_finished());
    /// ```
    pub fn is_finished(&self) -> bool {
        self.task().state.load().is_done()
    }

    /// The task's id.
    ///
    /// ```
    /// let (a, b) = (heist::task::spawn(async {}), heist::task::spawn(async {}));
    /// assert_ne!(a.id(), b.id());
    /// ```
    pub fn id(&self) -> Id {
        self.task().id()
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            // Only then: a task may poll any number of handles whose tasks have not ended.
            if self.is_finished() {
                ready!(budget::poll_proceed(cx));
            }
            if let Some(result) = self.try_take() {
                return Poll::Ready(result);
            }
            if self.task().home().is_foreign() {
                return Poll::Ready(Err(self.give_up()));
            }
            if self.offer(cx.waker()) {
                if stall::is_watched() {
                    note_awaits(self.id());
                }
                return Poll::Pending;
            }
        }
    }
}

/// For reports: whatever the calling thread polls awaits that task.
#[cold]
fn note_awaits(task: Id) {
    match (turn::task(), Worker::current()) {
        (Some(here), _) => here.note_awaits(task),
        (None, Some(worker)) => worker.shared().note_awaits(task.as_u64()),
        (None, None) => {}
    }
}

impl<T> Drop for JoinHandle<T> {
    #[inline]
    fn drop(&mut self) {
        /// Lets go even if the output's drop panics.
        struct LetGo(Raw);
        impl Drop for LetGo {
            #[inline]
            fn drop(&mut self) {
                let keep = self.0.home().keep();
                // Only a done task comes here.
                if let Some(loose) = self.0.state.drop_handle(true) {
                    // SAFETY: `drop_handle` said so.
                    unsafe { self.0.settle(loose, &keep, Place::Last) };
                }
            }
        }
        let task = self.task();
        let word = task.state.load();
        if !word.is_done() {
            if task.home().is_foreign() {
                // The task and its waker are the parent's.
                return;
            }
            let waker = if word.has_awaiter() && task.state.retract_awaiter() {
                // SAFETY: retracted, so it is ours (R3).
                Some(task.awaiter.with(|place| unsafe { (*place).assume_init_read() }))
            } else {
                None
            };
            let keep = task.home().keep();
            if let Some(loose) = task.state.drop_handle(false) {
                // SAFETY: `drop_handle` said so.
                unsafe { task.settle(loose, &keep, Place::Last) };
                drop(waker);
                return;
            }
            // It has ended just now.
            drop(waker);
        }
        let _let_go = LetGo(task);
        if !self.is_taken() {
            // SAFETY: done, and not taken.
            if let Err(Some(payload)) = unsafe { self.take(task.state.load()) } {
                // SAFETY: we keep the task, and it its pool.
                unsafe { task.home().deliver_panic(payload) };
            }
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("id", &self.id()).finish_non_exhaustive()
    }
}

pub(super) fn abort(task: Raw) {
    if task.state.abort() {
        task.stamp();
        // SAFETY: `abort` gave us the `TaskRef`; the handle keeps the cell, and that its pool.
        unsafe { task.schedule(Place::Last) };
    }
}

/// Aborts a task without being able to await it.
///
/// It does not count as a way for the task to go on: a waiting task whose last waker and `JoinHandle` are gone is cancelled.
///
/// ```
/// let handle = heist::task::spawn(std::future::pending::<()>());
/// let abort = handle.abort_handle();
/// abort.abort();
/// assert!(heist::block_on(handle).is_err());
/// assert!(abort.is_finished());
/// ```
pub struct AbortHandle {
    task: Raw,
}

// SAFETY: it only touches the word, and schedules.
unsafe impl Send for AbortHandle {}
// SAFETY: as above.
unsafe impl Sync for AbortHandle {}
impl UnwindSafe for AbortHandle {}
impl RefUnwindSafe for AbortHandle {}

impl AbortHandle {
    /// # Safety
    /// The task's word counts this as a hold.
    pub(super) unsafe fn new(task: Raw) -> Self {
        Self { task }
    }

    /// As [`JoinHandle::abort`].
    ///
    /// ```
    /// let handle = heist::task::spawn(std::future::pending::<()>());
    /// handle.abort_handle().abort();
    /// assert!(heist::block_on(handle).is_err());
    /// ```
    pub fn abort(&self) {
        abort(self.task);
    }

    /// As [`JoinHandle::is_finished`].
    ///
    /// ```
    /// let handle = heist::task::spawn(std::future::pending::<()>());
    /// assert!(!handle.abort_handle().is_finished());
    /// ```
    pub fn is_finished(&self) -> bool {
        self.task.state.load().is_done()
    }

    /// As [`JoinHandle::id`].
    ///
    /// ```
    /// let handle = heist::task::spawn(async {});
    /// assert_eq!(handle.abort_handle().id(), handle.id());
    /// ```
    pub fn id(&self) -> Id {
        self.task.id()
    }
}

impl Clone for AbortHandle {
    fn clone(&self) -> Self {
        self.task.state.hold();
        Self { task: self.task }
    }
}

impl Drop for AbortHandle {
    fn drop(&mut self) {
        release(self.task);
    }
}

/// Gives up a hold.
pub(super) fn release(task: Raw) {
    let keep = task.home().keep();
    let loose: Loose = task.state.release();
    // SAFETY: `release` said so.
    unsafe { task.settle(loose, &keep, Place::Last) };
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle").field("id", &self.id()).finish_non_exhaustive()
    }
}
