//! Durations by size, in fixed memory.

use heist_sync::std_atomic::{AtomicU32, AtomicU64, Ordering};
use std::fmt;

/// Each octave is divided into so many buckets of the same width.
const PER_OCTAVE: usize = 8;
/// `PER_OCTAVE` is two to the power of this.
const PER_OCTAVE_BITS: u32 = PER_OCTAVE.trailing_zeros();
/// Values from two to the power of this on share the last bucket: 9.7 hours, if they are nanoseconds.
const LARGEST_BITS: u32 = 45;
/// One for each of the least values, then eight for each octave, and the last.
const BUCKETS: usize = (LARGEST_BITS - PER_OCTAVE_BITS + 1) as usize * PER_OCTAVE + 1;

/// How many values of which size there were, with quantiles that are at most 12.5 % too large.
///
/// The buckets are log-linear: eight of the same width in each octave (and one for each value below 16). It takes 1.4 KiB, however many
/// values are recorded; recording one takes a few instructions and no memory. Values are any `u64`; heist's are nanoseconds. From
/// 2^45 on (9.7 hours, as nanoseconds) they are told apart by [`max`](Self::max) alone.
///
/// ```
/// let mut times = heist::metrics::Histogram::new();
/// for ns in 1..=1000 {
///     times.record(ns);
/// }
/// assert_eq!((times.count(), times.mean(), times.max()), (1000, 500, 1000));
/// assert!((950..950 + 950 / 8).contains(&times.quantile(0.95)));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: [u32; BUCKETS],
    sum: u64,
    max: u64,
}

impl Histogram {
    /// One without values.
    ///
    /// ```
    /// assert_eq!(heist::metrics::Histogram::new().count(), 0);
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        Self { counts: [0; BUCKETS], sum: 0, max: 0 }
    }

    /// Adds a value.
    ///
    /// A bucket holds up to `u32::MAX` of them, and then stays as it is.
    ///
    /// ```
    /// let mut times = heist::metrics::Histogram::new();
    /// times.record(1_500);
    /// assert_eq!(times.max(), 1_500);
    /// ```
    #[inline]
    pub fn record(&mut self, value: u64) {
        let count = &mut self.counts[bucket(value)];
        *count = count.saturating_add(1);
        self.sum = self.sum.saturating_add(value);
        self.max = self.max.max(value);
    }

    /// Adds all values of another one.
    ///
    /// ```
    /// let (mut all, mut more) = (heist::metrics::Histogram::new(), heist::metrics::Histogram::new());
    /// all.record(1);
    /// more.record(2);
    /// all.merge(&more);
    /// assert_eq!((all.count(), all.max()), (2, 2));
    /// ```
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count = count.saturating_add(*more);
        }
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
    }

    /// The values that have come since it was like `before`. The largest is that of all.
    pub(crate) fn since(&self, before: &Self) -> Self {
        let counts = std::array::from_fn(|at| self.counts[at].saturating_sub(before.counts[at]));
        Self { counts, sum: self.sum.saturating_sub(before.sum), max: self.max }
    }

    /// Forgets all values.
    ///
    /// ```
    /// let mut times = heist::metrics::Histogram::new();
    /// times.record(7);
    /// times.clear();
    /// assert_eq!(times, heist::metrics::Histogram::new());
    /// ```
    pub fn clear(&mut self) {
        *self = Self::new();
    }

    /// How many values there are.
    ///
    /// ```
    /// let mut times = heist::metrics::Histogram::new();
    /// times.record(7);
    /// assert_eq!(times.count(), 1);
    /// ```
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().map(|&count| u64::from(count)).sum()
    }

    /// The mean of all values, exactly, rounded down; 0 if there are none. Too small if their sum is more than `u64::MAX`.
    ///
    /// ```
    /// let mut times = heist::metrics::Histogram::new();
    /// times.record(10);
    /// times.record(21);
    /// assert_eq!(times.mean(), 15);
    /// ```
    #[must_use]
    pub fn mean(&self) -> u64 {
        self.sum.checked_div(self.count()).unwrap_or(0)
    }

    /// The largest value, exactly; 0 if there are none.
    ///
    /// ```
    /// let mut times = heist::metrics::Histogram::new();
    /// times.record(u64::MAX);
    /// assert_eq!(times.max(), u64::MAX);
    /// ```
    #[must_use]
    pub const fn max(&self) -> u64 {
        self.max
    }

    /// The value that a share of `q` of all values, from 0.0 to 1.0, does not exceed; 0 if there are none.
    ///
    /// At most 12.5 % more than the true one, never less and never more than [`max`](Self::max). A `q` below 0 counts as 0, which asks
    /// for the least value, and one above 1 as 1.
    ///
    /// ```
    /// let mut times = heist::metrics::Histogram::new();
    /// for ns in [3, 1, 100, 2] {
    ///     times.record(ns);
    /// }
    /// assert_eq!((times.quantile(0.5), times.quantile(0.99)), (2, 100));
    /// ```
    #[must_use]
    pub fn quantile(&self, q: f64) -> u64 {
        let wanted = (q.clamp(0.0, 1.0) * self.count() as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        for (bucket, &count) in self.counts.iter().enumerate() {
            below += u64::from(count);
            if below >= wanted {
                return largest_in(bucket).min(self.max);
            }
        }
        self.max
    }
}

/// Which bucket a value is in.
const fn bucket(value: u64) -> usize {
    if value < PER_OCTAVE as u64 {
        return value as usize;
    }
    let octave = value.ilog2();
    if octave >= LARGEST_BITS {
        return BUCKETS - 1;
    }
    let within = value >> (octave - PER_OCTAVE_BITS);
    // The first bit of `within` is its octave's, and adds the 8 buckets before the first octave.
    (octave - PER_OCTAVE_BITS) as usize * PER_OCTAVE + within as usize
}

/// The largest value that is in this bucket.
const fn largest_in(bucket: usize) -> u64 {
    if bucket < PER_OCTAVE {
        return bucket as u64;
    }
    if bucket == BUCKETS - 1 {
        return u64::MAX;
    }
    let shift = bucket / PER_OCTAVE - 1;
    let within = bucket % PER_OCTAVE + PER_OCTAVE;
    (((within + 1) as u64) << shift) - 1
}

/// A [`Histogram`] that one thread fills while others look at it.
pub(crate) struct Recorded {
    counts: [AtomicU32; BUCKETS],
    sum: AtomicU64,
    max: AtomicU64,
}

impl Recorded {
    pub const fn new() -> Self {
        let counts = [const { AtomicU32::new(0) }; BUCKETS];
        Self { counts, sum: AtomicU64::new(0), max: AtomicU64::new(0) }
    }

    /// Adds a value. For one thread only.
    pub fn record(&self, value: u64) {
        // ORDERING: relaxed, here and below: to be shown, and nothing depends on it.
        let (count, sum, max) = (&self.counts[bucket(value)], &self.sum, &self.max);
        count.store(count.load(Ordering::Relaxed).saturating_add(1), Ordering::Relaxed);
        sum.store(sum.load(Ordering::Relaxed).saturating_add(value), Ordering::Relaxed);
        max.store(max.load(Ordering::Relaxed).max(value), Ordering::Relaxed);
    }

    /// Adds a value, also while others do.
    pub fn record_shared(&self, value: u64) {
        self.counts[bucket(value)].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
        self.max.fetch_max(value, Ordering::Relaxed);
    }

    /// The largest value is that of those to come.
    pub fn forget_max(&self) {
        self.max.store(0, Ordering::Relaxed);
    }

    /// What was recorded so far.
    pub fn histogram(&self) -> Histogram {
        let (sum, max) = (self.sum.load(Ordering::Relaxed), self.max.load(Ordering::Relaxed));
        Histogram { counts: std::array::from_fn(|at| self.counts[at].load(Ordering::Relaxed)), sum, max }
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

/// Count, mean, median, 99th percentile and maximum.
impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count())
            .field("mean", &self.mean())
            .field("median", &self.quantile(0.5))
            .field("p99", &self.quantile(0.99))
            .field("max", &self.max)
            .finish()
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Values of all sizes: uniform ones would all be in the last octaves.
    fn any_value() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0..64_u32).prop_map(|(value, shift)| value >> shift)
    }

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        for &value in values {
            histogram.record(value);
        }
        histogram
    }

    #[test]
    fn buckets_follow_each_other_without_gaps() {
        let mut least = 0;
        for at in 0..BUCKETS {
            let largest = largest_in(at);
            assert_eq!((bucket(least), bucket(largest)), (at, at), "{least} to {largest}");
            let is_last = at == BUCKETS - 1;
            assert!(is_last || (largest - least) * 8 <= least, "{least} to {largest} is too wide");
            least = largest.wrapping_add(1);
        }
        assert_eq!(least, 0, "the last bucket has the largest value");
    }

    #[test]
    fn hours_are_told_apart() {
        const HOUR: u64 = 3_600_000_000_000;
        for hours in 1..=9 {
            let ns = hours * HOUR;
            let longer = of(&[ns, 20 * HOUR]).quantile(0.5);
            assert!((ns..=ns + ns / 8).contains(&longer), "{hours} h became {longer}");
        }
    }

    #[test]
    fn an_empty_one_is_all_zeros() {
        let empty = Histogram::new();
        assert_eq!((empty.count(), empty.mean(), empty.max()), (0, 0, 0));
        assert_eq!((empty.quantile(0.0), empty.quantile(0.5), empty.quantile(1.0)), (0, 0, 0));
    }

    #[test]
    fn one_value_is_every_quantile() {
        for value in [0, 1, 17, 1_000_003, u64::MAX] {
            let one = of(&[value]);
            assert_eq!((one.mean(), one.max()), (value, value));
            for q in [-1.0, 0.0, 0.5, 1.0, 2.0, f64::NAN] {
                assert_eq!(one.quantile(q), value, "{q}");
            }
        }
    }

    #[test]
    fn counts_and_sums_do_not_wrap() {
        let mut full = of(&[u64::MAX, u64::MAX]);
        assert_eq!((full.count(), full.mean(), full.max()), (2, u64::MAX / 2, u64::MAX));
        full.counts[0] = u32::MAX;
        full.record(0);
        assert_eq!(full.counts[0], u32::MAX);
        full.merge(&full.clone());
        assert_eq!((full.counts[0], full.counts[BUCKETS - 1]), (u32::MAX, 4));
    }

    #[test]
    fn what_is_recorded_beside_readers_is_the_same() {
        let values = [0, 7, 8, 1_000, 1_000, 1 << 50, u64::MAX];
        let recorded = Recorded::new();
        values.iter().for_each(|&value| recorded.record(value));
        assert_eq!(recorded.histogram(), of(&values));
    }

    proptest! {
        #[test]
        fn quantiles_are_those_of_the_sorted_values(
            mut values in prop::collection::vec(any_value(), 1..300),
            q in 0.0..=1.0_f64,
        ) {
            let histogram = of(&values);
            values.sort_unstable();
            let true_one = values[((q * values.len() as f64).ceil() as usize).max(1) - 1];
            let said = histogram.quantile(q);
            prop_assert!(said >= true_one, "{said} is less than {true_one}");
            let is_told_apart = true_one >> LARGEST_BITS == 0;
            prop_assert!(!is_told_apart || said - true_one <= true_one / 8, "{said} is far from {true_one}");
            prop_assert!(said <= histogram.max());
        }

        #[test]
        fn count_mean_and_max_are_exact(values in prop::collection::vec(0..1_u64 << 50, 0..300)) {
            let histogram = of(&values);
            let count = values.len() as u64;
            prop_assert_eq!(histogram.count(), count);
            prop_assert_eq!(histogram.max(), values.iter().copied().max().unwrap_or(0));
            prop_assert_eq!(histogram.mean(), values.iter().sum::<u64>().checked_div(count).unwrap_or(0));
        }

        #[test]
        fn merged_ones_are_as_if_recorded_together(
            ours in prop::collection::vec(any_value(), 0..100),
            theirs in prop::collection::vec(any_value(), 0..100),
        ) {
            let mut merged = of(&ours);
            merged.merge(&of(&theirs));
            prop_assert_eq!(merged, of(&[ours, theirs].concat()));
        }
    }
}
