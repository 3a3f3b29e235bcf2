//! A deadline that recurs.

use super::{Sleep, after, now, sleep_until};
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// A tick that is later than this, or than half a period, counts as missed.
const LATE: Duration = Duration::from_millis(5);

/// Ticks every `period`; the first tick is at once.
///
/// # Panics
/// If `period` is zero.
///
/// ```
/// use std::time::{Duration, Instant};
/// # heist::block_on(async {
/// let begin = Instant::now();
/// let mut interval = heist::time::interval(Duration::from_millis(1));
/// for _ in 0..4 {
///     interval.tick().await;
/// }
/// assert!(begin.elapsed() >= Duration::from_millis(3));
/// # });
/// ```
pub fn interval(period: Duration) -> Interval {
    interval_at(now(), period)
}

/// Ticks every `period`; the first tick is at `start`.
///
/// # Panics
/// If `period` is zero.
///
/// ```
/// use std::time::{Duration, Instant};
/// # heist::block_on(async {
/// let start = Instant::now() + Duration::from_millis(2);
/// let mut interval = heist::time::interval_at(start, Duration::from_millis(1));
/// assert_eq!(interval.tick().await, start);
/// # });
/// ```
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    assert!(!period.is_zero(), "an interval's period must not be zero");
    Interval { sleep: sleep_until(start), period, missed: MissedTickBehavior::default() }
}

/// What an [`Interval`] does about ticks that nobody waited for in time. A tick counts as missed if it is asked for more
/// than 5 ms, or half a period, after it was due.
///
/// ```
/// use heist::time::{MissedTickBehavior, interval};
/// let mut interval = interval(std::time::Duration::from_secs(1));
/// interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
/// assert_eq!(interval.missed_tick_behavior(), MissedTickBehavior::Skip);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MissedTickBehavior {
    /// Makes up for them: ticks follow without a pause until none is left.
    #[default]
    Burst,
    /// Counts the next period from the late tick on.
    Delay,
    /// Goes on with the next tick that the original schedule has.
    Skip,
}

impl MissedTickBehavior {
    /// When the next tick is, after one that was due at `due` and was seen at `now`.
    fn next(self, due: Instant, now: Instant, period: Duration) -> Instant {
        let late = now.saturating_duration_since(due);
        if late <= LATE.min(period / 2) {
            return after(due, period);
        }
        match self {
            Self::Burst => after(due, period),
            Self::Delay => after(now, period),
            Self::Skip => {
                let since_scheduled = late.as_nanos() % period.as_nanos();
                // Below the period's nanoseconds, and a duration holds more of those than a u64 can.
                let secs = since_scheduled / 1_000_000_000;
                let nanos = since_scheduled % 1_000_000_000;
                after(now, period - Duration::new(secs as u64, nanos as u32))
            }
        }
    }
}

/// What [`interval`] and [`interval_at`] return.
///
/// ```
/// let interval = heist::time::interval(std::time::Duration::from_secs(1));
/// assert_eq!(interval.period(), std::time::Duration::from_secs(1));
/// ```
#[derive(Debug)]
pub struct Interval {
    sleep: Sleep,
    period: Duration,
    missed: MissedTickBehavior,
}

impl Interval {
    /// Waits for the next tick and returns when it was due. Dropping the future loses no tick.
    ///
    /// ```
    /// # heist::block_on(async {
    /// let mut interval = heist::time::interval(std::time::Duration::from_millis(1));
    /// let first = interval.tick().await;
    /// assert!(interval.tick().await > first);
    /// # });
    /// ```
    pub async fn tick(&mut self) -> Instant {
        poll_fn(|cx| self.poll_tick(cx)).await
    }

    /// As [`tick`](Self::tick), for use in a poll function.
    ///
    /// ```
    /// # heist::block_on(async {
    /// let mut interval = heist::time::interval(std::time::Duration::from_secs(1));
    /// std::future::poll_fn(|cx| interval.poll_tick(cx)).await;
    /// # });
    /// ```
    pub fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Instant> {
        ready!(Pin::new(&mut self.sleep).poll(cx));
        let due = self.sleep.deadline();
        self.sleep.reset(self.missed.next(due, self.sleep.now(), self.period));
        Poll::Ready(due)
    }

    /// The next tick comes one period from now.
    ///
    /// ```
    /// # use std::time::{Duration, Instant};
    /// # heist::block_on(async {
    /// let mut interval = heist::time::interval(Duration::from_millis(1));
    /// let begin = Instant::now();
    /// interval.reset();
    /// assert!(interval.tick().await >= begin + Duration::from_millis(1));
    /// # });
    /// ```
    pub fn reset(&mut self) {
        self.reset_after(self.period);
    }

    /// The next tick comes at once.
    ///
    /// ```
    /// # heist::block_on(async {
    /// let mut interval = heist::time::interval(std::time::Duration::from_secs(3600));
    /// interval.tick().await;
    /// interval.reset_immediately();
    /// interval.tick().await;
    /// # });
    /// ```
    pub fn reset_immediately(&mut self) {
        self.reset_at(self.sleep.now());
    }

    /// The next tick comes after `duration`.
    ///
    /// ```
    /// # use std::time::{Duration, Instant};
    /// # heist::block_on(async {
    /// let mut interval = heist::time::interval(Duration::from_secs(3600));
    /// let begin = Instant::now();
    /// interval.reset_after(Duration::from_millis(1));
    /// assert!(interval.tick().await >= begin + Duration::from_millis(1));
    /// # });
    /// ```
    pub fn reset_after(&mut self, duration: Duration) {
        self.reset_at(after(self.sleep.now(), duration));
    }

    /// The next tick comes at `deadline`.
    ///
    /// ```
    /// # heist::block_on(async {
    /// let mut interval = heist::time::interval(std::time::Duration::from_secs(3600));
    /// let soon = std::time::Instant::now();
    /// interval.reset_at(soon);
    /// assert_eq!(interval.tick().await, soon);
    /// # });
    /// ```
    pub fn reset_at(&mut self, deadline: Instant) {
        self.sleep.reset(deadline);
    }

    /// The time between ticks.
    ///
    /// ```
    /// let second = std::time::Duration::from_secs(1);
    /// assert_eq!(heist::time::interval(second).period(), second);
    /// ```
    pub fn period(&self) -> Duration {
        self.period
    }

    /// What it does about missed ticks.
    ///
    /// ```
    /// use heist::time::{MissedTickBehavior, interval};
    /// assert_eq!(interval(std::time::Duration::from_secs(1)).missed_tick_behavior(), MissedTickBehavior::Burst);
    /// ```
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        self.missed
    }

    /// Decides what it does about missed ticks.
    ///
    /// ```
    /// use heist::time::{MissedTickBehavior, interval};
    /// interval(std::time::Duration::from_secs(1)).set_missed_tick_behavior(MissedTickBehavior::Delay);
    /// ```
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.missed = behavior;
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    #[test]
    fn the_next_tick() {
        use MissedTickBehavior::{Burst, Delay, Skip};
        let ms = Duration::from_millis;
        let due = Instant::now();
        // Behaviour, how late the tick was seen, the next one, both counted from when it was due; the period is 50 ms.
        for (behaviour, late, next) in [
            (Burst, 0, 50),
            (Delay, 0, 50),
            (Skip, 0, 50),
            // Not worth correcting.
            (Delay, 5, 50),
            (Skip, 5, 50),
            (Burst, 30, 50),
            (Delay, 30, 80),
            (Skip, 30, 50),
            (Burst, 120, 50),
            (Delay, 120, 170),
            (Skip, 120, 150),
            (Skip, 150, 200),
        ] {
            assert_eq!(
                behaviour.next(due, due + ms(late), ms(50)) - due,
                ms(next),
                "{behaviour:?}, {late} ms late"
            );
        }
    }

    #[test]
    fn a_short_period_skips_too() {
        let us = Duration::from_micros;
        let due = Instant::now();
        assert_eq!(MissedTickBehavior::Skip.next(due, due + us(3100), us(1000)) - due, us(4000));
        assert_eq!(MissedTickBehavior::Skip.next(due, due + us(400), us(1000)) - due, us(1000));
    }

    #[test]
    fn an_endless_period_does_not_overflow() {
        let now = Instant::now();
        for behaviour in [MissedTickBehavior::Burst, MissedTickBehavior::Delay, MissedTickBehavior::Skip] {
            assert!(behaviour.next(now, now + Duration::from_secs(10), Duration::MAX) > now);
        }
    }
}
