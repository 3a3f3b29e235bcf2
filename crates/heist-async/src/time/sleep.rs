//! One deadline.

use super::{Set, Shard, after};
use crate::time::wheel::Key;
use crate::{budget, driver};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

/// Waits for `duration`, counted from now. Durations too long for the clock last for decades.
///
/// ```
/// # heist_async::block_on(async {
/// heist_async::time::sleep(std::time::Duration::from_millis(1)).await;
/// # });
/// ```
pub fn sleep(duration: Duration) -> Sleep {
    sleep_until(after(Instant::now(), duration))
}

/// Waits until `deadline`; one that has passed is ready at once.
///
/// ```
/// use std::time::{Duration, Instant};
/// # heist_async::block_on(async {
/// let deadline = Instant::now() + Duration::from_millis(1);
/// heist_async::time::sleep_until(deadline).await;
/// assert!(Instant::now() >= deadline);
/// # });
/// ```
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep { deadline, timer: None, is_elapsed: false }
}

/// The future of [`sleep`] and [`sleep_until`]. It costs nothing before its first poll, and cancels its timer when dropped.
///
/// ```
/// use std::time::{Duration, Instant};
/// # heist_async::block_on(async {
/// let mut sleep = heist_async::time::sleep(Duration::from_secs(3600));
/// sleep.reset(Instant::now() + Duration::from_millis(1));
/// (&mut sleep).await;
/// assert!(sleep.is_elapsed());
/// # });
/// ```
#[derive(Debug)]
#[must_use = "a future does nothing unless it is awaited"]
pub struct Sleep {
    deadline: Instant,
    timer: Option<Timer>,
    is_elapsed: bool,
}

/// A timer that was set, and perhaps has fired.
#[derive(Debug)]
struct Timer {
    shard: Arc<Shard>,
    key: Key,
    /// What it wakes. Kept here too, so that a poll by the same task need not ask the shard.
    waker: Waker,
}

impl Sleep {
    /// When it is over.
    ///
    /// ```
    /// let deadline = std::time::Instant::now();
    /// assert_eq!(heist_async::time::sleep_until(deadline).deadline(), deadline);
    /// ```
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether it has been seen to be over: a poll was ready, and there was no [`reset`](Self::reset) since.
    ///
    /// ```
    /// assert!(!heist_async::time::sleep(std::time::Duration::ZERO).is_elapsed());
    /// ```
    pub fn is_elapsed(&self) -> bool {
        self.is_elapsed
    }

    /// Sets another deadline, earlier or later. A task that waits already need not poll again.
    ///
    /// ```
    /// # use std::time::{Duration, Instant};
    /// let mut sleep = heist_async::time::sleep(Duration::ZERO);
    /// let later = Instant::now() + Duration::from_secs(1);
    /// sleep.reset(later);
    /// assert_eq!(sleep.deadline(), later);
    /// ```
    pub fn reset(&mut self, deadline: Instant) {
        self.deadline = deadline;
        self.is_elapsed = false;
        if let Some(timer) = &self.timer {
            if !timer.shard.reset(&timer.key, deadline) {
                // LIVENESS: it has woken its task, which polls again and sets a new timer.
                self.cancel();
            }
        }
    }

    fn cancel(&mut self) {
        if let Some(timer) = self.timer.take() {
            timer.shard.remove(timer.key);
        }
    }

    fn finish(&mut self) -> Poll<()> {
        self.cancel();
        self.is_elapsed = true;
        Poll::Ready(())
    }

    /// `poll` without regard to the task's budget.
    pub(super) fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_elapsed {
            return Poll::Ready(());
        }
        if Instant::now() >= self.deadline {
            return self.finish();
        }
        if let Some(timer) = &mut self.timer {
            if !timer.shard.is_closed() {
                // LIVENESS: a timer that has fired meanwhile wakes, or has woken, this very task: it polls again.
                if timer.waker.will_wake(cx.waker()) {
                    return Poll::Pending;
                }
                let waker = cx.waker().clone();
                if timer.shard.replace(&timer.key, waker.clone()) {
                    timer.waker = waker;
                    return Poll::Pending;
                }
                if !timer.shard.is_closed() {
                    // It has fired, so the deadline passed after we looked at the clock.
                    return self.finish();
                }
            }
            // The pool that looked after it is gone, and has woken us without regard to time.
            self.cancel();
        }
        self.set(cx)
    }

    fn set(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let waker = cx.waker().clone();
        let (shard, set) = driver::with(|driver| {
            let shard = driver.shard();
            (Arc::clone(shard), shard.insert(self.deadline, waker.clone()))
        });
        match set {
            Set::Waits(key) => {
                self.timer = Some(Timer { shard, key, waker });
                Poll::Pending
            }
            Set::Due => self.finish(),
            Set::Closed => {
                // The calling thread's pool is about to end. The next poll may be elsewhere.
                waker.wake();
                Poll::Pending
            }
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        ready!(self.poll_deadline(cx));
        // Only now: a task may poll any number of sleeps that are not over.
        budget::poll_proceed(cx)
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.cancel();
    }
}
