//! One value from a thread to a future.

use heist_pool::raw::job::{Payload, halt_unwinding};
use heist_pool::raw::process::refuse_wait;
use heist_sync::process::Origin;
use heist_sync::{Mutex, StdArc as Arc, lock};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// The value on its way, which the two ends share.
#[derive(Debug)]
struct Shared<T> {
    state: Mutex<State<T>>,
    origin: Origin,
}

#[derive(Debug)]
struct State<T> {
    value: Option<Result<T, Payload>>,
    /// The waker of whoever awaits the value.
    receiver: Option<Waker>,
    /// The waker of the thread, if it wants to hear that nobody awaits the value any more.
    sender: Option<Waker>,
    receiver_is_gone: bool,
}

/// The end of the thread that makes the value.
#[derive(Debug)]
pub(super) struct Sender<T>(Arc<Shared<T>>);

/// The end of the task that awaits the value. If the thread has panicked instead, the panic goes on here.
#[derive(Debug)]
#[must_use = "a value that is not awaited is dropped"]
pub(crate) struct Receiver<T>(Arc<Shared<T>>);

pub(super) fn handoff<T>() -> (Sender<T>, Receiver<T>) {
    let state = State { value: None, receiver: None, sender: None, receiver_is_gone: false };
    let shared = Arc::new(Shared { state: Mutex::new(state), origin: Origin::here() });
    (Sender(Arc::clone(&shared)), Receiver(shared))
}

impl<T> Sender<T> {
    /// Hands the value over. If nobody waits for it any more it is dropped here. Does not unwind: a payload that nobody else
    /// can get is given back, of the value or of what its drop or the waker did.
    pub(super) fn send(self, value: Result<T, Payload>) -> Option<Payload> {
        let mut state = lock(&self.0.state);
        if state.receiver_is_gone {
            drop(state);
            return match value {
                Ok(value) => halt_unwinding(|| drop(value)).err(),
                Err(payload) => Some(payload),
            };
        }
        state.value = Some(value);
        let waker = state.receiver.take();
        drop(state);
        waker.and_then(|waker| halt_unwinding(|| waker.wake()).err())
    }

    /// Whether nobody waits for the value any more.
    pub(super) fn is_unwanted(&self) -> bool {
        lock(&self.0.state).receiver_is_gone
    }

    /// Says the same as `is_unwanted`; if somebody still waits, the waker is woken when nobody does any more.
    pub(super) fn poll_unwanted(&self, cx: &mut Context<'_>) -> bool {
        // Before the lock: a waker's clone is user code.
        let waker = cx.waker().clone();
        let mut state = lock(&self.0.state);
        let is_gone = state.receiver_is_gone;
        let unused = if is_gone { Some(waker) } else { state.sender.replace(waker) };
        drop(state);
        drop(unused);
        is_gone
    }
}

impl<T> Receiver<T> {
    fn refuse_if_foreign(&self) {
        if self.0.origin.is_foreign() {
            refuse_wait();
        }
    }

    /// Whether the value is there.
    ///
    /// # Panics
    /// In a child process: the value would come from a thread that is not there.
    pub(super) fn is_ready(&self) -> bool {
        self.refuse_if_foreign();
        lock(&self.0.state).value.is_some()
    }
}

impl<T> Future for Receiver<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        self.refuse_if_foreign();
        let mut waker = None;
        loop {
            let mut state = lock(&self.0.state);
            if let Some(value) = state.value.take() {
                drop(state);
                return match value {
                    Ok(value) => Poll::Ready(value),
                    Err(payload) => std::panic::resume_unwind(payload),
                };
            }
            if state.receiver.as_ref().is_some_and(|w| w.will_wake(cx.waker())) {
                return Poll::Pending;
            }
            if let Some(waker) = waker.take() {
                let old = state.receiver.replace(waker);
                drop(state);
                drop(old);
                return Poll::Pending;
            }
            // Foreign code does not run under our lock. LIVENESS: the value may come meanwhile, so we look again.
            drop(state);
            waker = Some(cx.waker().clone());
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if self.0.origin.is_foreign() {
            // The thread at the other end may have had the lock. The value stays where it is.
            return std::mem::forget(Arc::clone(&self.0));
        }
        let mut state = lock(&self.0.state);
        state.receiver_is_gone = true;
        let (value, receiver, sender) = (state.value.take(), state.receiver.take(), state.sender.take());
        drop(state);
        drop(receiver);
        if let Some(sender) = sender {
            sender.wake();
        }
        drop(value);
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::task::{RawWaker, RawWakerVTable};
    use std::time::Duration;

    /// A waker whose clone does something first.
    struct OnClone(Mutex<Option<Box<dyn FnOnce() + Send>>>);

    static ON_CLONE: RawWakerVTable = RawWakerVTable::new(
        |data| {
            // SAFETY: `waker_of` says that it outlives its wakers.
            let this = unsafe { &*data.cast::<OnClone>() };
            let first = lock(&this.0).take();
            if let Some(first) = first {
                first();
            }
            RawWaker::new(data, &ON_CLONE)
        },
        |_| {},
        |_| {},
        |_| {},
    );

    /// # Safety
    /// `this` outlives the waker and its clones.
    unsafe fn waker_of(this: &OnClone) -> Waker {
        // SAFETY: the functions keep the contract: they only read, and `this` may be shared between threads.
        unsafe { Waker::from_raw(RawWaker::new(std::ptr::from_ref(this).cast(), &ON_CLONE)) }
    }

    /// Runs `f` on another thread. Whether it has come to its end.
    fn ends_elsewhere(f: impl FnOnce() + Send + 'static) -> bool {
        let (end, ended) = mpsc::channel();
        std::thread::spawn(move || {
            f();
            let _ = end.send(());
        });
        ended.recv_timeout(Duration::from_secs(10)).is_ok()
    }

    #[test]
    fn a_value_that_comes_while_the_waker_is_cloned() {
        let (sender, receiver) = handoff();
        let on_clone = OnClone(Mutex::new(Some(Box::new(|| {
            let sends = || assert!(sender.send(Ok(7)).is_none());
            assert!(ends_elsewhere(sends), "the lock is held while user code runs");
        }))));
        // SAFETY: it lives to the end of the test, and the receiver is gone before.
        let waker = unsafe { waker_of(&on_clone) };
        let mut receiver = receiver;
        let polled = Pin::new(&mut receiver).poll(&mut Context::from_waker(&waker));
        assert_eq!(polled, Poll::Ready(7));
    }

    #[test]
    fn a_receiver_that_goes_while_the_senders_waker_is_cloned() {
        let (sender, receiver) = handoff::<u32>();
        let on_clone = OnClone(Mutex::new(Some(Box::new(|| {
            assert!(ends_elsewhere(|| drop(receiver)), "the lock is held while user code runs");
        }))));
        // SAFETY: it lives to the end of the test, and the sender is gone before.
        let waker = unsafe { waker_of(&on_clone) };
        assert!(sender.poll_unwanted(&mut Context::from_waker(&waker)));
        drop(sender);
    }
}
