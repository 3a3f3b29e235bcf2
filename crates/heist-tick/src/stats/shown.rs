//! Statistics as users see them.

use super::Histogram;
use super::window::Window;
use crate::cell::schedule::Ledger;
use std::fmt;
use std::time::Duration;

/// How a tick, or all ticks of a pool, are doing: since the beginning, and over the last seconds and minutes.
///
/// Printed, it is one line.
///
/// ```
/// use heist::tick::{Stats, Window};
///
/// fn is_slow(stats: &Stats) -> bool {
///     stats.window(Window::Secs15).tps < 19.5 || stats.ledger.skipped > 0
/// }
///
/// let stats = Stats::default();
/// println!("{stats}");
/// assert!(is_slow(&stats));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// What became of its runs.
    pub ledger: Ledger,
    /// What has happened since the beginning.
    pub totals: Totals,
    /// In the order of [`Window::ALL`].
    pub(super) windows: [WindowStats; Window::ALL.len()],
}

impl Stats {
    /// What has happened in the last seconds or minutes.
    ///
    /// ```
    /// use heist::tick::{Stats, Window};
    /// assert_eq!(Stats::default().window(Window::Min1).runs, 0);
    /// ```
    #[must_use]
    pub const fn window(&self, window: Window) -> &WindowStats {
        &self.windows[window as usize]
    }
}

/// What has happened since the beginning, besides what the [`Ledger`] says.
///
/// ```
/// let totals = heist::tick::Stats::default().totals;
/// assert_eq!((totals.runs, totals.steals), (0, 0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Totals {
    /// Runs that have ended.
    pub runs: u64,
    /// Runs that ended after the next one was due.
    pub overruns: u64,
    /// How often a worker took the tick from another one.
    pub steals: u64,
    /// Submitted closures that have ended.
    pub closures: u64,
    /// Runs that have panicked.
    pub panics: u64,
}

impl Totals {
    pub(super) const fn add(&mut self, other: &Self) {
        let Self { runs, overruns, steals, closures, panics } = self;
        *runs += other.runs;
        *overruns += other.overruns;
        *steals += other.steals;
        *closures += other.closures;
        *panics += other.panics;
    }
}

/// What has happened in one [`Window`].
///
/// ```
/// use heist::tick::{Stats, Window};
/// let stats = Stats::default();
/// let minute = stats.window(Window::Min1);
/// assert_eq!((minute.tps, minute.mspt.max.as_millis()), (0.0, 0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct WindowStats {
    /// How long the time is that these figures are about: at least the window and at most half as much again, and no longer than the
    /// tick exists. The percentiles of the windows of 5 s and 5 min may cover up to twice the window.
    pub covered: Duration,
    /// Runs that have ended.
    pub runs: u64,
    /// Runs per second (ticks per second).
    pub tps: f64,
    /// How long runs took (milliseconds per tick). Without submitted closures.
    pub mspt: Distribution,
    /// How long after they were due runs started.
    pub lateness: Distribution,
    /// The part of one worker's time that runs and submitted closures took: 1.0 is a whole worker, and the ticks of a pool may take several.
    pub utilisation: f64,
    /// Runs that ended after the next one was due.
    pub overruns: u64,
    /// Periods that were skipped, because a run stood for several.
    pub skipped: u64,
    /// How often a worker took the tick from another one.
    pub steals: u64,
    /// How long submitted closures took.
    pub closure_time: Duration,
}

/// How long something took: the mean and the maximum, and percentiles: always in the statistics of a pool, and in those of a tick
/// that asked for them by [`percentiles`](crate::Builder::percentiles). Elsewhere they are `None`.
///
/// Mean and maximum are exact, percentiles at most 12.5 % too large.
///
/// ```
/// use heist::tick::{Stats, Window};
/// let stats = Stats::default();
/// let mspt = stats.window(Window::Secs5).mspt;
/// assert!(mspt.max >= mspt.mean);
/// assert_eq!(mspt.p99, None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Distribution {
    /// The sum of all, divided by their number.
    pub mean: Duration,
    /// Half of them took at most this.
    pub median: Option<Duration>,
    /// 95 in 100 took at most this.
    pub p95: Option<Duration>,
    /// 99 in 100 took at most this.
    pub p99: Option<Duration>,
    /// The longest.
    pub max: Duration,
}

impl Distribution {
    /// That of the recorded values, which are nanoseconds.
    pub(super) fn of(histogram: Option<&Histogram>) -> Self {
        let Some(histogram) = histogram else { return Self::default() };
        let quantile = |q| Some(Duration::from_nanos(histogram.quantile(q)));
        Self {
            mean: Duration::from_nanos(histogram.mean()),
            median: quantile(0.5),
            p95: quantile(0.95),
            p99: quantile(0.99),
            max: Duration::from_nanos(histogram.max()),
        }
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// In milliseconds, the mean first.
impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}", ms(self.mean))?;
        for (name, value) in [("p50", self.median), ("p95", self.p95), ("p99", self.p99)] {
            if let Some(value) = value {
                write!(f, " {name} {:.2}", ms(value))?;
            }
        }
        write!(f, " max {:.2}", ms(self.max))
    }
}

/// One line, times in milliseconds.
impl fmt::Display for WindowStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "TPS {:.1}, MSPT {}, late {}, busy {:.1}%, closures {:.2}, overruns {}, skipped {}, steals {}",
            self.tps,
            self.mspt,
            self.lateness,
            self.utilisation * 100.0,
            ms(self.closure_time),
            self.overruns,
            self.skipped,
            self.steals,
        )
    }
}

/// One line: TPS over all windows, times (in milliseconds) over the last minute, the rest since the beginning.
impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TPS")?;
        for window in Window::ALL {
            write!(f, " {:.1} ({window})", self.window(window).tps)?;
        }
        let Totals { runs, overruns, steals, closures, panics } = self.totals;
        let Ledger { skipped, cancelled, .. } = self.ledger;
        let minute = self.window(Window::Min1);
        write!(
            f,
            ", MSPT {}, late {}, busy {:.1}%; runs {runs}, overruns {overruns}, skipped {skipped}, cancelled {cancelled}, \
             steals {steals}, closures {closures}, panics {panics}",
            minute.mspt,
            minute.lateness,
            minute.utilisation * 100.0,
        )
    }
}
