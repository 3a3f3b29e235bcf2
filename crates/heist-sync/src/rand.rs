//! Randomness for victim selection: fast, seeded, not for secrets.

/// A small generator, one per worker.
///
/// ```
/// let mut r = heist_sync::rand::Random::new(7);
/// assert!(r.below(3) < 3);
/// ```
#[derive(Debug)]
pub struct Random(fastrand::Rng);

impl Random {
    /// A generator whose whole sequence follows from `seed`.
    pub fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// A number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { self.0.usize(..n) }
    }
}
