//! Giving way.

use std::future::poll_fn;
use std::task::Poll;

/// Lets other tasks run: the calling task goes on behind everything that its thread has queued.
///
/// ```
/// heist::block_on(heist::task::yield_now());
/// ```
pub async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        // LIVENESS: woken before we return, so the task is queued again at the end of this poll.
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
