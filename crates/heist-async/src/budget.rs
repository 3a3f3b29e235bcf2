//! The cooperative budget: a leaf future that is always ready gives way to other tasks now and then.

use crate::task::turn;
use std::task::{Context, Poll};

/// Takes one step of the budget that the current poll has. When it is used up the task is woken, to go on behind the others,
/// and the leaf must return `Pending`. Outside of a task there is no limit.
#[inline]
pub(crate) fn poll_proceed(cx: &mut Context<'_>) -> Poll<()> {
    if turn::spend() {
        Poll::Ready(())
    } else {
        // LIVENESS: woken before we return, so the task is queued again at the end of this poll.
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
