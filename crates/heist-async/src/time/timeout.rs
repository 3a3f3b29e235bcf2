//! A future with a deadline.

use super::{Sleep, sleep, sleep_until};
use crate::budget;
use crate::task::turn;
use std::error::Error;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// Gives `future` the time `duration`, counted from now. If it is not ready by then, the result is [`Elapsed`], and the future
/// is dropped with the [`Timeout`].
///
/// ```
/// use std::time::Duration;
/// use heist::time::timeout;
/// # heist::block_on(async {
/// assert_eq!(timeout(Duration::from_secs(1), async { 7 }).await, Ok(7));
/// assert!(timeout(Duration::from_millis(1), std::future::pending::<()>()).await.is_err());
/// # });
/// ```
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Timeout<F::IntoFuture> {
    Timeout { future: future.into_future(), sleep: sleep(duration) }
}

/// Gives `future` time until `deadline`.
///
/// ```
/// use std::time::{Duration, Instant};
/// # heist::block_on(async {
/// let deadline = Instant::now() + Duration::from_millis(1);
/// assert!(heist::time::timeout_at(deadline, std::future::pending::<()>()).await.is_err());
/// # });
/// ```
pub fn timeout_at<F: IntoFuture>(deadline: Instant, future: F) -> Timeout<F::IntoFuture> {
    Timeout { future: future.into_future(), sleep: sleep_until(deadline) }
}

/// The future of [`timeout`] and [`timeout_at`].
///
/// ```
/// let timeout = heist::time::timeout(std::time::Duration::from_secs(1), async { 7 });
/// assert_eq!(heist::block_on(timeout), Ok(7));
/// ```
#[derive(Debug)]
#[must_use = "a future does nothing unless it is awaited"]
pub struct Timeout<F> {
    /// Pinned with the whole.
    future: F,
    sleep: Sleep,
}

impl<F> Timeout<F> {
    /// The future.
    ///
    /// ```
    /// use std::future::ready;
    /// let timeout = heist::time::timeout(std::time::Duration::from_secs(1), ready(7));
    /// let _: &std::future::Ready<i32> = timeout.get_ref();
    /// ```
    pub fn get_ref(&self) -> &F {
        &self.future
    }

    /// The future.
    ///
    /// ```
    /// use std::future::ready;
    /// let mut timeout = heist::time::timeout(std::time::Duration::from_secs(1), ready(7));
    /// *timeout.get_mut() = ready(8);
    /// assert_eq!(heist::block_on(timeout), Ok(8));
    /// ```
    pub fn get_mut(&mut self) -> &mut F {
        &mut self.future
    }

    /// The future, without its deadline.
    ///
    /// ```
    /// let timeout = heist::time::timeout(std::time::Duration::ZERO, async { 7 });
    /// assert_eq!(heist::block_on(timeout.into_inner()), 7);
    /// ```
    pub fn into_inner(self) -> F {
        self.future
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: `future` is not moved out of the pinned value, and `sleep` does not care about pinning.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: it is pinned with the whole.
        let future = unsafe { Pin::new_unchecked(&mut this.future) };
        let had_budget = turn::has_budget();
        if let Poll::Ready(value) = future.poll(cx) {
            return Poll::Ready(Ok(value));
        }
        ready!(this.sleep.poll_deadline(cx));
        // A future that uses up the whole budget in each of its polls must time out, too.
        if !had_budget || turn::has_budget() {
            ready!(budget::poll_proceed(cx));
        }
        Poll::Ready(Err(Elapsed(())))
    }
}

/// A [`timeout`] was reached.
///
/// ```
/// # heist::block_on(async {
/// let elapsed = heist::time::timeout(std::time::Duration::ZERO, std::future::pending::<()>()).await.unwrap_err();
/// assert_eq!(std::io::Error::from(elapsed).kind(), std::io::ErrorKind::TimedOut);
/// # });
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Elapsed(());

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the deadline passed before the future was ready")
    }
}

impl Error for Elapsed {}

impl From<Elapsed> for io::Error {
    fn from(elapsed: Elapsed) -> Self {
        io::Error::new(io::ErrorKind::TimedOut, elapsed)
    }
}
