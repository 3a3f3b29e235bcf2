//! Randomness for victim selection: fast, seeded, not for secrets.

/// A small generator, one per worker.
///
/// ```
/// let mut r = heist_sync::rand::Random::new(7);
/// assert!(r.below(3) < 3);
/// ```
#[derive(Debug)]
pub struct Random(#[cfg_attr(heist_shuttle, allow(dead_code))] fastrand::Rng);

impl Random {
    /// A generator whose whole sequence follows from `seed`.
    pub fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// A number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 {
            return 0;
        }
        // shuttle's own draws are part of the schedule, so that a replay makes them again.
        #[cfg(heist_shuttle)]
        return shuttle::rand::Rng::gen_range(&mut shuttle::rand::thread_rng(), 0..n);
        #[cfg(not(heist_shuttle))]
        self.0.usize(..n)
    }
}
