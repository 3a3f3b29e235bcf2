//! What time it is.

use super::ManualClock;
use crate::task::turn;
use std::time::Instant;

/// Now, by the clock that timers go by here: that of the pool whose task or tick the calling thread runs, or else of the global one. It is
/// [`Instant::now`] unless the pool was built with a [`ManualClock`].
///
/// A program that asks this instead of the system can be tested in virtual time.
///
/// ```
/// use heist::time::{ManualClock, now, sleep};
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let pool = heist::ThreadPoolBuilder::new().num_threads(1).clock(&clock).build()?;
/// let task = pool.spawn_task(async {
///     let begin = now();
///     sleep(Duration::from_secs(60)).await;
///     now() - begin
/// });
/// clock.advance(Duration::from_secs(3600));
/// assert_eq!(heist::block_on(task).unwrap(), Duration::from_secs(60));
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[inline]
pub fn now() -> Instant {
    if ManualClock::is_used() { turn::now() } else { Instant::now() }
}
