//! A task that stands for another one, which has a thread of its own and cannot have a name or a place in a set.

use super::handle::{self, JoinHandle};
use super::turn;
use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Ends as the other task does, and aborts that one if it goes first. It is to be all of a task's future.
pub(super) struct Relay<T>(pub JoinHandle<T>);

impl<T> Future for Relay<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        match ready!(Pin::new(&mut self.0).poll(cx)).map_err(|error| error.try_into_panic()) {
            Ok(output) => Poll::Ready(output),
            Err(Ok(payload)) => resume_unwind(payload),
            Err(Err(_)) => {
                // The pool of the other task ends. LIVENESS: this one is being polled, so it is cancelled after this.
                if let Some(task) = turn::task() {
                    handle::abort(task);
                }
                Poll::Pending
            }
        }
    }
}

impl<T> Drop for Relay<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{block_on, task};

    #[test]
    fn it_ends_as_the_other_does() {
        assert_eq!(block_on(task::spawn(Relay(task::spawn(async { 1 })))).unwrap(), 1);

        let panics = task::spawn(async { std::panic::panic_any(7) });
        let payload = block_on(task::spawn(Relay(panics))).unwrap_err().into_panic();
        assert_eq!(payload.downcast_ref(), Some(&7));

        let waits = task::spawn(std::future::pending::<()>());
        let abort = waits.abort_handle();
        let relay = task::spawn(Relay(waits));
        abort.abort();
        assert!(block_on(relay).unwrap_err().is_cancelled());
    }

    #[test]
    fn the_other_goes_with_it() {
        let waits = task::spawn(std::future::pending::<()>());
        let other = waits.abort_handle();
        let relay = task::spawn(Relay(waits));
        relay.abort();
        assert!(block_on(relay).unwrap_err().is_cancelled());
        while !other.is_finished() {
            std::thread::yield_now();
        }
    }
}
