//! Work and span: how parallel a computation is, and how fast it would be with more workers.

use heist_pool::raw::profile as raw;

/// For [`profile_with_clock`].
///
/// ```
/// /// A clock that stands still.
/// struct Still;
/// impl heist::profile::Clock for Still {
///     fn now(&self) -> u64 {
///         7
///     }
/// }
/// let (_, profile) = heist::profile::profile_with_clock(&Still, || heist::join(|| 1, || 2));
/// assert_eq!(profile.work(), std::time::Duration::ZERO);
/// ```
pub use heist_pool::raw::profile::Clock;
pub use heist_trace::profile::{Figures, NotAProfile, Part, Prediction, Profile, Runs, Site, Waited};

/// Runs `f` on the calling thread and measures it, with everything that it forks, spawns in scopes, installs in pools and loops over.
///
/// ```
/// fn sum(v: &[u64]) -> u64 {
///     if v.len() <= 1000 {
///         return v.iter().sum();
///     }
///     let (left, right) = v.split_at(v.len() / 2);
///     let (a, b) = heist::join(|| sum(left), || sum(right));
///     a + b
/// }
/// let v: Vec<u64> = (0..100_000).collect();
/// let (total, profile) = heist::profile(|| sum(&v));
/// assert_eq!(total, 4_999_950_000);
/// assert_eq!(profile.forks(), 127);
/// # #[cfg(feature = "trace-output")]
/// println!("{profile}");
/// ```
///
/// While it runs, every fork of the computation takes a slow path with time-stamps, of some 60 ns; what that adds to each piece is
/// subtracted. Other work of the pool goes on as ever. Detached jobs, tasks and ticks are no part of the computation: nothing waits for
/// them. A profile that is taken inside of another is a part of that one. Which numbers are good for what is told in
/// `docs/profile.md`.
///
/// # Panics
/// A panic of `f` goes on here, and the profile is lost. While a profile with [another clock](profile_with_clock) is taken, this one is
/// refused.
pub fn profile<R>(f: impl FnOnce() -> R) -> (R, Profile) {
    accepted(raw::measure(f))
}

/// As [`profile`], with time-stamps from `clock`: for tests, in which work is what the test says it is.
///
/// ```
/// use std::cell::Cell;
/// thread_local!(static WORK: Cell<u64> = const { Cell::new(0) });
/// struct Counted;
/// impl heist::profile::Clock for Counted {
///     fn now(&self) -> u64 {
///         WORK.get()
///     }
/// }
/// fn work(ns: u64) {
///     WORK.set(WORK.get() + ns);
/// }
///
/// let both = || heist::join(|| work(30_000), || work(50_000));
/// let (_, profile) = heist::profile::profile_with_clock(&Counted, both);
/// assert_eq!(profile.figures().work_ns, 80_000);
/// assert_eq!(profile.figures().span_ns, 50_000);
/// ```
///
/// # Panics
/// As [`profile`].
pub fn profile_with_clock<R>(clock: &'static dyn Clock, f: impl FnOnce() -> R) -> (R, Profile) {
    accepted(raw::measure_with(clock, f))
}

fn accepted<R>(measured: Result<(R, Figures), raw::AnotherClock>) -> (R, Profile) {
    match measured {
        Ok((result, figures)) => (result, figures.into()),
        Err(raw::AnotherClock) => panic!(
            "a profile with another clock is being taken in this process, and there is only one clock at a time; take one after the other"
        ),
    }
}

/// A part of the program with a name, from the call of [`region`] until this is dropped.
///
/// ```
/// let sorting: heist::profile::Region = heist::profile::region("sort");
/// drop(sorting);
/// ```
#[derive(Debug)]
#[must_use = "the region ends when this is dropped"]
pub struct Region {
    _region: raw::Region,
}

/// Gives the code that follows a name in profiles, until what this returns is dropped: its work and span are shown apart.
///
/// A region contains those inside of it, and everything that is forked in it. If it is run several times, one run counts as coming after the
/// other. Costs a nanosecond while no profile is taken.
///
/// ```
/// let (_, profile) = heist::profile(|| {
///     let mut v: Vec<u64> = {
///         let _filling = heist::profile::region("fill");
///         (0..1000).rev().collect()
///     };
///     let _sorting = heist::profile::region("sort");
///     v.sort();
/// });
/// let names: Vec<_> = profile.figures().parts.iter().map(|part| part.name.as_str()).collect();
/// assert_eq!(names, ["fill", "sort"]);
/// ```
pub fn region(name: &'static str) -> Region {
    Region { _region: raw::Region::begin(name) }
}
