//! One value from a thread to a future.

use heist_pool::job::{Payload, halt_unwinding};
use heist_sync::{Mutex, StdArc as Arc, lock};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// What the two ends share.
#[derive(Debug)]
struct Shared<T> {
    state: Mutex<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    value: Option<Result<T, Payload>>,
    /// Of whoever awaits the value.
    receiver: Option<Waker>,
    /// Of the thread, if it wants to hear that nobody does any more.
    sender: Option<Waker>,
    receiver_is_gone: bool,
}

/// The thread's end.
#[derive(Debug)]
pub(super) struct Sender<T>(Arc<Shared<T>>);

/// The future's end. Resumes the panic if that is what came.
#[derive(Debug)]
#[must_use = "a value that is not awaited is dropped"]
pub(crate) struct Receiver<T>(Arc<Shared<T>>);

pub(super) fn handoff<T>() -> (Sender<T>, Receiver<T>) {
    let state = State { value: None, receiver: None, sender: None, receiver_is_gone: false };
    let shared = Arc::new(Shared { state: Mutex::new(state) });
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

    /// As `is_unwanted`; if not yet, the waker is woken when it is so.
    pub(super) fn poll_unwanted(&self, cx: &mut Context<'_>) -> bool {
        let mut state = lock(&self.0.state);
        if state.receiver_is_gone {
            return true;
        }
        let old = state.sender.replace(cx.waker().clone());
        drop(state);
        drop(old);
        false
    }
}

impl<T> Receiver<T> {
    /// Whether the value is there.
    pub(super) fn is_ready(&self) -> bool {
        lock(&self.0.state).value.is_some()
    }
}

impl<T> Future for Receiver<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let mut state = lock(&self.0.state);
        let old = match state.value.take() {
            Some(value) => {
                drop(state);
                return match value {
                    Ok(value) => Poll::Ready(value),
                    Err(payload) => std::panic::resume_unwind(payload),
                };
            }
            None if state.receiver.as_ref().is_some_and(|w| w.will_wake(cx.waker())) => None,
            None => state.receiver.replace(cx.waker().clone()),
        };
        drop(state);
        // Foreign code, so outside of the lock.
        drop(old);
        Poll::Pending
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
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
