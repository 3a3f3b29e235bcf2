//! Work and span of a computation, and how fast it would be with more workers. The measuring is described in the README of
//! `heist-pool/src/profile`.

mod figures;
#[cfg(feature = "output")]
mod svg;
#[cfg(feature = "output")]
mod table;

pub use figures::{Figures, NotAProfile, Part, Runs, Site, Waited};

use heist_policy::tuning;
use std::time::Duration;

/// What a computation consists of: its work T1, the time of one worker for all of it, and its span T_inf, the time of its longest path, which
/// no number of workers can save.
///
/// `heist::profile` takes one. It is shown as a table (`Display`) and drawn ([`write_svg`](Self::write_svg)), both with the feature
/// `trace-output`.
///
/// ```
/// let (sum, profile) = heist::profile(|| heist::join(|| 1, || 2));
/// assert_eq!(sum, (1, 2));
/// assert_eq!(profile.forks(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    figures: Figures,
}

impl From<Figures> for Profile {
    fn from(figures: Figures) -> Self {
        Self { figures }
    }
}

/// How much faster than one worker a number of them would be.
///
/// ```
/// let profile = heist::profile::Profile::from(heist::profile::Figures {
///     work_ns: 8_000_000, span_ns: 1_000_000, burdened_ns: 1_000_000, pieces: 100, ..Default::default()
/// });
/// let eight = profile.predict(8).unwrap();
/// assert_eq!(eight.upper, 8.0);
/// assert!(eight.lower <= eight.expected && eight.expected <= eight.upper);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// The number of workers.
    pub workers: usize,
    /// At least so much faster: T1 / (T1/P + c (1 - 1/P) T_inf), with the burdened span.
    pub lower: f64,
    /// Graham's bound for a scheduler that never idles while there is work, with the burdened span: the same with c = 1.
    pub expected: f64,
    /// At most: P, and the parallelism.
    pub upper: f64,
}

fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / b.max(1) as f64
}

impl Profile {
    /// The numbers behind it.
    ///
    /// ```
    /// let (_, profile) = heist::profile(|| ());
    /// assert_eq!(profile.figures().forks, 0);
    /// ```
    pub fn figures(&self) -> &Figures {
        &self.figures
    }

    fn work_ns(&self) -> u64 {
        self.figures.work_ns + self.figures.outside_ns
    }

    /// T1: how long one worker computes.
    ///
    /// ```
    /// let (_, profile) = heist::profile(|| ());
    /// assert!(profile.work() < std::time::Duration::from_secs(60));
    /// ```
    pub fn work(&self) -> Duration {
        Duration::from_nanos(self.work_ns())
    }

    fn told(&self, ns: u64) -> Option<Duration> {
        (!self.is_too_fine()).then(|| Duration::from_nanos(ns + self.figures.outside_ns))
    }

    /// T_inf: how long the longest path is. `None` if that is [too fine](Self::is_too_fine) to tell.
    ///
    /// ```
    /// let fine = heist::profile::Figures { work_ns: 900, pieces: 1, ..Default::default() };
    /// assert_eq!(heist::profile::Profile::from(fine).span(), None);
    /// ```
    pub fn span(&self) -> Option<Duration> {
        self.told(self.figures.span_ns)
    }

    /// The longest path, if every half on it that can run on another thread does, and that costs what it costs on this machine; a fork whose
    /// halves are too short for that is run by one thread. As in Cilkview (He, Leiserson and Leiserson, SPAA 2010).
    ///
    /// ```
    /// let fine = heist::profile::Figures { work_ns: 900, pieces: 1, ..Default::default() };
    /// assert_eq!(heist::profile::Profile::from(fine).burdened_span(), None);
    /// ```
    pub fn burdened_span(&self) -> Option<Duration> {
        self.told(self.figures.burdened_ns)
    }

    /// T1 / T_inf: how many workers could be busy on average.
    ///
    /// ```
    /// let (_, profile) = heist::profile(|| std::thread::sleep(std::time::Duration::from_millis(1)));
    /// assert_eq!(profile.parallelism(), Some(1.0));
    /// ```
    pub fn parallelism(&self) -> Option<f64> {
        self.span().map(|span| ratio(self.work_ns(), span.as_nanos() as u64))
    }

    /// The same for the [burdened span](Self::burdened_span): more workers than this are of no use on this machine.
    ///
    /// ```
    /// let (_, profile) = heist::profile(|| std::thread::sleep(std::time::Duration::from_millis(1)));
    /// assert_eq!(profile.burdened_parallelism(), Some(1.0));
    /// ```
    pub fn burdened_parallelism(&self) -> Option<f64> {
        self.burdened_span().map(|span| ratio(self.work_ns(), span.as_nanos() as u64))
    }

    /// How long a piece is on average: a half of a fork, a spawned job, a block of a loop.
    ///
    /// ```
    /// let (_, profile) = heist::profile(|| std::thread::sleep(std::time::Duration::from_millis(1)));
    /// assert!(profile.mean_piece() >= std::time::Duration::from_millis(1));
    /// ```
    pub fn mean_piece(&self) -> Duration {
        Duration::from_nanos(self.figures.work_ns / self.figures.pieces.max(1))
    }

    /// Whether the pieces are shorter than a microsecond on average. Then what was measured is the measuring, and nothing is said about
    /// paths.
    ///
    /// ```
    /// let fine = heist::profile::Figures { work_ns: 900, pieces: 1, ..Default::default() };
    /// assert!(heist::profile::Profile::from(fine).is_too_fine());
    /// ```
    pub fn is_too_fine(&self) -> bool {
        self.mean_piece() < Duration::from_nanos(tuning::PROFILE_FINE_NS)
    }

    /// How long it took, with the workers that there were. Slower than without a profile, if there are many forks.
    ///
    /// ```
    /// let (_, profile) = heist::profile(|| ());
    /// assert!(profile.elapsed() < std::time::Duration::from_secs(60));
    /// ```
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.figures.elapsed_ns)
    }

    /// How many workers there were.
    ///
    /// ```
    /// let (_, profile) = heist::profile(|| heist::join(|| 1, || 2));
    /// assert_eq!(profile.workers(), heist::current_num_threads());
    /// ```
    pub fn workers(&self) -> usize {
        self.figures.workers.max(1)
    }

    /// How many forks there were.
    ///
    /// ```
    /// let (_, profile) = heist::profile(|| heist::join(|| 1, || 2));
    /// assert_eq!(profile.forks(), 1);
    /// ```
    pub fn forks(&self) -> u64 {
        self.figures.forks
    }

    /// The time of all workers while it ran.
    fn capacity_ns(&self) -> u64 {
        self.figures.elapsed_ns.saturating_sub(self.figures.outside_ns) * self.workers() as u64
    }

    /// The share of the workers' time that was work, from 0 to 1.
    ///
    /// ```
    /// let (_, profile) = heist::profile(|| heist::join(|| 1, || 2));
    /// assert!((0.0..=1.0).contains(&profile.utilisation()));
    /// ```
    pub fn utilisation(&self) -> f64 {
        ratio(self.figures.work_ns, self.capacity_ns()).min(1.0)
    }

    /// Workers' time that was neither work, nor search, nor a wait: they slept because there was nothing to do, ran something else, or had no
    /// processor. What forks and the profile itself cost is in there, too.
    ///
    /// ```
    /// let (_, profile) = heist::profile(|| ());
    /// assert!(profile.asleep() < std::time::Duration::from_secs(600));
    /// ```
    pub fn asleep(&self) -> Duration {
        let Figures { work_ns, searching_ns, waiting_ns, .. } = self.figures;
        Duration::from_nanos(self.capacity_ns().saturating_sub(work_ns + searching_ns + waiting_ns))
    }

    /// How many steals would fit into P * T_inf, which theory says is about as many as are tried (Blumofe and Leiserson, JACM 1999). `None`
    /// if it is too fine to tell.
    ///
    /// ```
    /// let (_, profile) = heist::profile(|| ());
    /// assert!(profile.steals_in_span().is_none_or(|steals| steals >= 0.0));
    /// ```
    pub fn steals_in_span(&self) -> Option<f64> {
        let in_all = self.workers() as u64 * self.figures.span_ns;
        (!self.is_too_fine()).then(|| ratio(in_all, self.figures.steal_ns))
    }

    /// How much faster `workers` would be than one. `None` if it is too fine to tell, or there are none.
    ///
    /// ```
    /// let (_, profile) = heist::profile(|| std::thread::sleep(std::time::Duration::from_millis(1)));
    /// assert_eq!(profile.predict(100).unwrap().upper, 1.0);
    /// ```
    pub fn predict(&self, workers: usize) -> Option<Prediction> {
        let (span, burdened) = (self.span()?.as_nanos() as f64, self.burdened_span()?.as_nanos() as f64);
        if workers == 0 {
            return None;
        }
        let (work, n) = (self.work_ns().max(1) as f64, workers as f64);
        let upper = n.min(work / span.max(1.0));
        // More workers do not make it slower, whatever the bound allows.
        let with =
            |factor: f64| (work / (work / n + factor * (1.0 - 1.0 / n) * burdened)).max(1.0).min(upper);
        Some(Prediction { workers, lower: with(tuning::PROFILE_SPAN_FACTOR), expected: with(1.0), upper })
    }

    /// For 1 to 256 workers, twice as many each time. Empty if it is too fine to tell.
    ///
    /// ```
    /// let (_, profile) = heist::profile(|| std::thread::sleep(std::time::Duration::from_millis(1)));
    /// assert!(profile.predictions().map(|p| p.workers).eq([1, 2, 4, 8, 16, 32, 64, 128, 256]));
    /// ```
    pub fn predictions(&self) -> impl Iterator<Item = Prediction> {
        (0..=8).filter_map(|bits| self.predict(1 << bits))
    }

    /// Gives each site the name that `name` finds for its code and file.
    ///
    /// ```
    /// let (_, mut profile) = heist::profile(|| heist::join(|| 1, || 2));
    /// profile.name_sites(|_| Some("a constant".into()));
    /// assert_eq!(profile.figures().sites[0].name.as_deref(), Some("a constant"));
    /// ```
    pub fn name_sites(&mut self, mut name: impl FnMut(&Site) -> Option<String>) {
        for site in &mut self.figures.sites {
            site.name = name(site);
        }
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    fn profile(work_us: u64, span_us: u64, burdened_us: u64) -> Profile {
        Profile::from(Figures {
            work_ns: work_us * 1_000,
            span_ns: span_us * 1_000,
            burdened_ns: burdened_us * 1_000,
            pieces: 10,
            workers: 2,
            elapsed_ns: work_us * 1_000,
            ..Figures::default()
        })
    }

    #[test]
    fn bounds_are_in_order_and_end_at_the_parallelism() {
        let profile = profile(64_000, 1_000, 2_000);
        let mut last = 0.0;
        for p in profile.predictions() {
            assert!(p.lower <= p.expected && p.expected <= p.upper, "{p:?}");
            assert!(p.upper >= last && p.upper <= 64.0 && p.upper <= p.workers as f64, "{p:?}");
            last = p.upper;
        }
        assert_eq!(last, 64.0);
        let one = profile.predict(1).unwrap();
        assert_eq!((one.lower, one.expected, one.upper), (1.0, 1.0, 1.0));
        assert_eq!(profile.predict(0), None);
        assert_eq!((profile.parallelism(), profile.burdened_parallelism()), (Some(64.0), Some(32.0)));
        assert_eq!(profile.utilisation(), 0.5);
    }

    #[test]
    fn short_pieces_are_too_fine_to_tell() {
        let fine = profile(9, 1, 1);
        assert_eq!(fine.mean_piece(), Duration::from_nanos(900));
        assert!(fine.is_too_fine());
        assert_eq!((fine.span(), fine.parallelism(), fine.predict(4)), (None, None, None));
        assert!(!profile(10, 1, 1).is_too_fine());
    }

    #[test]
    fn what_is_outside_is_serial() {
        let figures = Figures { outside_ns: 64_000_000, ..profile(64_000, 1_000, 1_000).figures };
        let profile = Profile::from(figures);
        assert!(profile.predict(256).unwrap().upper < 2.0);
    }
}
