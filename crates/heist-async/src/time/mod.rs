//! Timers: [`sleep`], [`timeout`] and [`interval`], with a resolution of some 16 us. In `heist` they need the feature `async`, which is on
//! by default.
//!
//! They work in any future, on any thread: the timer belongs to the pool of the thread that first polls it, or else to the
//! global pool. [`Duration`] and [`Instant`] are the standard library's; a pool may go by a [`ManualClock`] instead of the system's, for tests. A timer never fires early. Setting, cancelling and resetting one takes a lock that few threads share.
//!
//! ```
//! use heist::time::{Duration, Instant, sleep};
//!
//! let begin = Instant::now();
//! heist::block_on(sleep(Duration::from_millis(2)));
//! assert!(begin.elapsed() >= Duration::from_millis(2));
//! ```

mod clock;
// Models are about shards and turns; nobody sleeps there.
#[cfg(not(heist_model))]
mod interval;
#[cfg(not(heist_model))]
mod now;
mod shard;
#[cfg(not(heist_model))]
mod sleep;
#[cfg_attr(heist_model, path = "spare_model.rs")]
mod spare;
#[cfg(not(heist_model))]
mod timeout;
mod timers;
mod wheel;

#[cfg(not(heist_model))]
pub use self::{
    interval::{Interval, MissedTickBehavior, interval, interval_at},
    now::now,
    sleep::{Sleep, sleep, sleep_until},
    timeout::{Elapsed, Timeout, timeout, timeout_at},
};

pub(crate) use self::clock::Clock;
pub(crate) use self::shard::{Set, Shard};
pub(crate) use self::timers::Timers;

#[cfg(not(heist_model))]
pub use heist_pool::raw::clock::ManualClock;
pub use std::time::{Duration, Instant};

/// A deadline that nobody lives to see, for durations that would overflow.
const FAR: Duration = Duration::from_secs(30 * 365 * 86400);

/// `from + duration`, or else the far future.
fn after(from: Instant, duration: Duration) -> Instant {
    from.checked_add(duration).unwrap_or_else(|| from + FAR)
}
