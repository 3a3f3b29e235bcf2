//! A gate that is opened once. Threads block at it; in a task it is awaited.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Waker};

/// Cloned for everybody who waits or opens.
#[derive(Clone, Default)]
pub struct Gate(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    opened: Condvar,
}

#[derive(Default)]
struct State {
    is_open: bool,
    wakers: Vec<Waker>,
}

impl Gate {
    /// A shut one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets everybody pass, from now on. All tasks that wait are woken in one go by the calling thread.
    pub fn open(&self) {
        let mut state = self.0.state.lock().unwrap();
        state.is_open = true;
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        self.0.opened.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Blocks the calling thread, unannounced.
    pub fn block(&self) {
        let state = self.0.state.lock().unwrap();
        drop(self.0.opened.wait_while(state, |state| !state.is_open).unwrap());
    }
}

impl Future for Gate {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.state.lock().unwrap();
        if state.is_open {
            return Poll::Ready(());
        }
        state.wakers.push(cx.waker().clone());
        Poll::Pending
    }
}
