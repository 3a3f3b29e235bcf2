//! `spawn_pinned`.

use super::end_if_child;
use super::handoff::{Receiver, handoff};
use crate::block_on_in;
use crate::task::{self, JoinHandle, turn};
use heist_pool::raw::job::halt_unwinding;
use heist_sync::thread;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;

/// Runs a future on a thread of its own: it is made there, polled only there and dropped there, so it need not be `Send` and may
/// use what is bound to a thread (a window, a graphics context, a foreign library's state).
///
/// The thread does nothing else. It ends with the future. Tasks that the future spawns are ordinary tasks of the pool of
/// whoever called `spawn_pinned`: being pinned is not inherited.
///
/// ```
/// use std::rc::Rc;
///
/// let handle = heist::task::spawn_pinned(|| async {
///     let local = Rc::new(20);
///     heist::task::yield_now().await;
///     *local + 1
/// })?;
/// assert_eq!(heist::block_on(handle).unwrap(), 21);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// If the thread cannot be started.
///
/// # Panics
/// A panic of the future is the handle's result.
#[track_caller]
pub fn spawn_pinned<M, F>(make: M) -> io::Result<JoinHandle<F::Output>>
where
    M: FnOnce() -> F + Send + 'static,
    F: Future + 'static,
    F::Output: Send + 'static,
{
    Ok(task::spawn(begin_pinned(make)?))
}

/// The thread, and the future of what its future returns: all of a task.
pub(crate) fn begin_pinned<M, F>(make: M) -> io::Result<Receiver<F::Output>>
where
    M: FnOnce() -> F + Send + 'static,
    F: Future + 'static,
    F::Output: Send + 'static,
{
    let (sender, receiver) = handoff();
    let keeper = turn::pool();
    #[cfg(feature = "tracing")]
    let span = tracing::Span::current();
    thread::Builder::new().name("heist-pinned".into()).spawn(move || {
        let outcome = halt_unwinding(|| {
            let whole = async {
                let mut future = pin!(make());
                // Aborting the handle drops its end of the hand-over, and that ends the future here, at its next poll.
                poll_fn(|cx| {
                    if sender.poll_unwanted(cx) {
                        return Poll::Ready(None);
                    }
                    future.as_mut().poll(cx).map(Some)
                })
                .await
            };
            #[cfg(feature = "tracing")]
            let whole = tracing::Instrument::instrument(whole, span);
            block_on_in(&keeper, whole)
        });
        end_if_child(&keeper, outcome.is_err());
        let unheard = match outcome {
            Ok(None) => None,
            Ok(Some(output)) => sender.send(Ok(output)),
            Err(payload) => sender.send(Err(payload)),
        };
        if let Some(payload) = unheard {
            keeper.deliver_panic(payload);
        }
    })?;
    Ok(receiver)
}
