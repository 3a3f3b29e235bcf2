//! What an attempt to steal came to.

/// The outcome of an attempt to steal.
///
/// ```
/// use heist_deque::Steal;
///
/// let attempts = [Steal::Empty, Steal::Retry, Steal::Success(7)];
/// // The first success wins; without one, a single `Retry` is worth another round.
/// assert_eq!(attempts.into_iter().collect::<Steal<i32>>(), Steal::Success(7));
/// assert!([Steal::<i32>::Empty, Steal::Retry].into_iter().collect::<Steal<_>>().is_retry());
/// ```
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steal<T> {
    /// There was nothing to take.
    Empty,
    /// One item, now the caller's.
    Success(T),
    /// There may be something, but this attempt did not get it: another was faster, or the owner was asked to share and has
    /// not answered yet.
    Retry,
}

impl<T> Steal<T> {
    /// Whether there was nothing to take.
    ///
    /// ```
    /// assert!(heist_deque::Steal::<u8>::Empty.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        matches!(self, Steal::Empty)
    }

    /// Whether an item was taken.
    ///
    /// ```
    /// assert!(heist_deque::Steal::Success(1).is_success());
    /// ```
    pub fn is_success(&self) -> bool {
        matches!(self, Steal::Success(_))
    }

    /// Whether another attempt may succeed at once.
    ///
    /// ```
    /// assert!(heist_deque::Steal::<u8>::Retry.is_retry());
    /// ```
    pub fn is_retry(&self) -> bool {
        matches!(self, Steal::Retry)
    }

    /// The item, if one was taken.
    ///
    /// ```
    /// assert_eq!(heist_deque::Steal::Success(1).success(), Some(1));
    /// assert_eq!(heist_deque::Steal::<u8>::Retry.success(), None);
    /// ```
    pub fn success(self) -> Option<T> {
        match self {
            Steal::Success(item) => Some(item),
            Steal::Empty | Steal::Retry => None,
        }
    }

    /// This outcome if it is a success, else that of `next`; `Retry` if neither took anything and either may on another try.
    ///
    /// ```
    /// use heist_deque::Steal;
    /// assert_eq!(Steal::Retry.or_else(|| Steal::Success(2)), Steal::Success(2));
    /// assert_eq!(Steal::<u8>::Retry.or_else(|| Steal::Empty), Steal::Retry);
    /// ```
    pub fn or_else(self, next: impl FnOnce() -> Steal<T>) -> Steal<T> {
        match self {
            Steal::Success(_) => self,
            Steal::Empty => next(),
            Steal::Retry => match next() {
                Steal::Empty => Steal::Retry,
                other => other,
            },
        }
    }
}

/// Tries one source after another and stops at the first success.
impl<T> FromIterator<Steal<T>> for Steal<T> {
    fn from_iter<I: IntoIterator<Item = Steal<T>>>(attempts: I) -> Self {
        let mut seen = Steal::Empty;
        for attempt in attempts {
            seen = seen.or_else(|| attempt);
            if seen.is_success() {
                break;
            }
        }
        seen
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    #[test]
    fn collecting_stops_at_the_first_success() {
        let mut asked = 0;
        let got: Steal<u8> = [Steal::Retry, Steal::Success(1), Steal::Success(2)]
            .into_iter()
            .inspect(|_| asked += 1)
            .collect();
        assert_eq!((got, asked), (Steal::Success(1), 2));
    }

    #[test]
    fn or_else_prefers_success_then_retry() {
        let all = [Steal::Empty, Steal::Retry, Steal::Success(1)];
        for a in all {
            for b in all {
                let want = match (a, b) {
                    (Steal::Success(_), _) => a,
                    (_, Steal::Success(_)) => b,
                    (Steal::Empty, Steal::Empty) => Steal::Empty,
                    _ => Steal::Retry,
                };
                assert_eq!(a.or_else(|| b), want, "{a:?} {b:?}");
            }
        }
    }
}
