//! One deadline.

use super::{ManualClock, Set, Shard, after, now};
use crate::time::wheel::Key;
use crate::{budget, driver};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

/// Waits for `duration`, counted from now. Durations too long for the clock last for decades.
///
/// ```
/// # heist::block_on(async {
/// heist::time::sleep(std::time::Duration::from_millis(1)).await;
/// # });
/// ```
pub fn sleep(duration: Duration) -> Sleep {
    let mut sleep = sleep_until(after(now(), duration));
    sleep.is_new = duration >= WORTH_A_TIMER;
    sleep
}

/// A sleep that is to last this long is set without another look at the clock when it is first polled. If it was polled so late
/// that it is over, the next turn finds out.
const WORTH_A_TIMER: Duration = Duration::from_millis(1);

/// Waits until `deadline`; one that has passed is ready at once.
///
/// ```
/// use std::time::{Duration, Instant};
/// # heist::block_on(async {
/// let deadline = Instant::now() + Duration::from_millis(1);
/// heist::time::sleep_until(deadline).await;
/// assert!(Instant::now() >= deadline);
/// # });
/// ```
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep { deadline, timer: None, is_elapsed: false, is_new: false }
}

/// The future of [`sleep`] and [`sleep_until`]. It costs nothing before its first poll, and cancels its timer when dropped.
///
/// ```
/// use std::time::{Duration, Instant};
/// # heist::block_on(async {
/// let mut sleep = heist::time::sleep(Duration::from_secs(3600));
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
    /// Not polled yet, and was some time away when it was made.
    is_new: bool,
}

/// A timer that was set, and perhaps has fired.
#[derive(Debug)]
struct Timer {
    shard: &'static Shard,
    key: Key,
    wakes: WakerId,
}

/// Which waker the shard has, so that a poll by the same task need not ask it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct WakerId {
    data: usize,
    vtable: usize,
}

impl WakerId {
    #[inline]
    fn of(waker: &Waker) -> Self {
        Self { data: waker.data().addr(), vtable: std::ptr::from_ref(waker.vtable()).addr() }
    }
}

impl Sleep {
    /// When it is over.
    ///
    /// ```
    /// let deadline = std::time::Instant::now();
    /// assert_eq!(heist::time::sleep_until(deadline).deadline(), deadline);
    /// ```
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether it has been seen to be over: a poll was ready, and there was no [`reset`](Self::reset) since.
    ///
    /// ```
    /// assert!(!heist::time::sleep(std::time::Duration::ZERO).is_elapsed());
    /// ```
    pub fn is_elapsed(&self) -> bool {
        self.is_elapsed
    }

    /// Sets another deadline, earlier or later. A task that waits already need not poll again.
    ///
    /// ```
    /// # use std::time::{Duration, Instant};
    /// let mut sleep = heist::time::sleep(Duration::ZERO);
    /// let later = Instant::now() + Duration::from_secs(1);
    /// sleep.reset(later);
    /// assert_eq!(sleep.deadline(), later);
    /// ```
    pub fn reset(&mut self, deadline: Instant) {
        self.deadline = deadline;
        self.is_elapsed = false;
        self.is_new = false;
        if let Some(timer) = &self.timer
            && !timer.shard.reset(&timer.key, deadline)
        {
            // LIVENESS: it has woken its task, which polls again and sets a new timer.
            self.cancel();
        }
    }

    /// Now, by the clock of its timer, or else by the one that it would be set by.
    #[inline]
    pub(super) fn now(&self) -> Instant {
        match &self.timer {
            Some(timer) if ManualClock::is_used() => timer.shard.now().unwrap_or_else(now),
            _ => now(),
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
        if !std::mem::take(&mut self.is_new) && self.now() >= self.deadline {
            return self.finish();
        }
        if let Some(timer) = &mut self.timer {
            if !timer.shard.is_closed() {
                // LIVENESS: if the timer has not fired, the shard has this very waker. If it has, after the clock was read
                // above, it wakes this task, which polls again. It cannot have fired before, and its waker's address be
                // another task's by now: the deadline had passed then, and the clock would have said so.
                if timer.wakes == WakerId::of(cx.waker()) {
                    return Poll::Pending;
                }
                if timer.shard.replace(&timer.key, cx.waker().clone()) {
                    timer.wakes = WakerId::of(cx.waker());
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
        let wakes = WakerId::of(cx.waker());
        let (shard, set) = driver::register(|driver, before: Option<(&'static Shard, Set)>| {
            if let Some((shard, Set::Waits(key))) = before {
                shard.remove(key);
            }
            let shard = driver.shard();
            (shard, shard.insert(self.deadline, cx.waker().clone()))
        });
        match set {
            Set::Waits(key) => {
                self.timer = Some(Timer { shard, key, wakes });
                Poll::Pending
            }
            Set::Due => self.finish(),
            Set::Closed => {
                // Whoever polls keeps the pool, and that its driver, so this does not come. The next poll may be elsewhere.
                cx.waker().wake_by_ref();
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
