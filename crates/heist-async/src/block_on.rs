//! Waiting for a future on a thread.

use crate::stall;
use crate::task::turn;
use heist_pool::raw::pool::outside_parker;
use heist_pool::raw::signal::{Awaited, Waits};
use heist_pool::raw::worker::Worker;
use heist_sync::atomic::{AtomicU32, Ordering};
use heist_sync::planted::is_planted;
use heist_sync::process::Origin;
use heist_sync::{Parker, StdArc as Arc};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Wake, Waker};

#[cfg(all(test, heist_loom))]
#[path = "block_on_loom.rs"]
mod loom;

const ASLEEP: u32 = 1;
const WOKEN: u32 = 2;

/// The news for one `block_on`. The parker alone would not do: whatever else the thread waits for in a poll takes its tokens.
struct News {
    /// 0, `ASLEEP` or `WOKEN`.
    state: AtomicU32,
    parker: Arc<Parker>,
}

impl News {
    /// Before a poll: later wakes count.
    fn clear(&self) {
        // ORDERING: acquire, with the release in `wake_by_ref`: the poll sees what led to the wake. A swap, not a store: it must
        // not overwrite a wake whose writes it has not acquired.
        self.state.swap(0, Ordering::Acquire);
    }
}

impl Awaited for News {
    fn is_over(&self) -> bool {
        self.state.load(Ordering::Acquire) == WOKEN
    }

    fn announce_wait(&self) -> bool {
        // LIVENESS: the announcement finds the wake, or the wake finds the announcement; one word, so not neither.
        match self.state.compare_exchange(0, ASLEEP, Ordering::Acquire, Ordering::Acquire) {
            Ok(_) | Err(ASLEEP) => true,
            Err(_) => false,
        }
    }

    fn what(&self) -> Waits {
        Waits::FUTURE
    }

    fn may_end_in_child(&self) -> bool {
        // What the future waits for there may be of the child's own pools.
        true
    }
}

impl Wake for News {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // ORDERING: release for what led to the wake; partner: `clear`.
        if self.state.swap(WOKEN, Ordering::AcqRel) == ASLEEP {
            self.parker.unpark();
        }
    }
}

/// Runs a future on the calling thread until it is ready. In `heist` it needs the feature `async`, which is on by default.
///
/// Works on every thread. The future is polled here and nowhere else, so it need not be `Send`; tasks that it spawns run in the
/// pool. On a thread of a pool, inside a job or a task, it runs nothing but its own future, and while that is not ready it
/// lends the thread's permit to another thread.
///
/// # Blocking
/// The calling thread sleeps until the future is ready, for ever if nothing wakes it.
///
/// ```
/// let text = heist::block_on(async {
///     heist::task::spawn(async { "done" }).await.unwrap()
/// });
/// assert_eq!(text, "done");
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    match Worker::current() {
        Some(worker) => {
            let news =
                Arc::new(News { state: AtomicU32::new(0), parker: Arc::clone(worker.shared().parker()) });
            drive(&news, || worker.wait(&*news, &()), |cx| future.as_mut().poll(cx))
        }
        None => {
            let news = Arc::new(News { state: AtomicU32::new(0), parker: outside_parker() });
            drive(
                &news,
                || stall::wait_outside(&*news, &news.parker),
                |cx| {
                    let _polling = stall::Polling::new();
                    future.as_mut().poll(cx)
                },
            )
        }
    }
}

fn drive<T>(news: &Arc<News>, wait: impl Fn(), mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
    let waker = Waker::from(Arc::clone(news));
    let mut cx = Context::from_waker(&waker);
    loop {
        if !is_planted("task_block_on_forgets_a_wake") {
            news.clear();
        }
        let origin = Origin::here();
        let guard = turn::of_future(None);
        let polled = poll(&mut cx);
        drop(guard);
        if is_planted("task_block_on_forgets_a_wake") {
            news.clear();
        }
        match polled {
            Poll::Ready(output) => return output,
            // The future has forked the process. In the child it is polled once more: what it has waited for may be the parent's, and
            // says so when it is asked.
            Poll::Pending if origin.is_foreign() => {}
            Poll::Pending => wait(),
        }
    }
}
