//! The spans of time that statistics are about.

use std::fmt;
use std::time::Duration;

/// The last how many seconds or minutes a figure is about.
///
/// ```
/// use std::time::Duration;
/// use heist::tick::Window;
///
/// assert_eq!(Window::Min5.length(), Duration::from_secs(300));
/// assert_eq!(Window::ALL.map(|window| window.to_string()), ["5s", "15s", "1m", "5m", "15m"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Window {
    /// The last 5 seconds.
    Secs5,
    /// The last 15 seconds.
    Secs15,
    /// The last minute.
    Min1,
    /// The last 5 minutes.
    Min5,
    /// The last 15 minutes.
    Min15,
}

impl Window {
    /// All of them, the shortest first.
    ///
    /// ```
    /// assert!(heist::tick::Window::ALL.is_sorted_by_key(|window| window.length()));
    /// ```
    pub const ALL: [Self; 5] = [Self::Secs5, Self::Secs15, Self::Min1, Self::Min5, Self::Min15];

    /// How long it is.
    ///
    /// ```
    /// assert_eq!(heist::tick::Window::Min1.length().as_secs(), 60);
    /// ```
    #[must_use]
    pub const fn length(self) -> Duration {
        Duration::from_nanos(self.length_ns())
    }

    pub(super) const fn length_ns(self) -> u64 {
        const SECOND: u64 = 1_000_000_000;
        match self {
            Self::Secs5 => 5 * SECOND,
            Self::Secs15 => 15 * SECOND,
            Self::Min1 => 60 * SECOND,
            Self::Min5 => 300 * SECOND,
            Self::Min15 => 900 * SECOND,
        }
    }
}

/// Its length, as short as it can be said.
impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Secs5 => "5s",
            Self::Secs15 => "15s",
            Self::Min1 => "1m",
            Self::Min5 => "5m",
            Self::Min15 => "15m",
        })
    }
}
