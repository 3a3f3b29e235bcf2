//! Randomness for victim selection: fast, seeded, not for secrets.

/// A small generator, one per worker: Steele, Lea and Flood's SplitMix64.
///
/// ```
/// let mut r = heist_sync::rand::Random::new(7);
/// assert!(r.below(3) < 3);
/// ```
#[derive(Debug)]
pub struct Random(#[cfg_attr(heist_shuttle, allow(dead_code))] u64);

impl Random {
    /// A generator whose whole sequence follows from `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 {
            return 0;
        }
        // shuttle's own draws are part of the schedule, so that a replay makes them again.
        #[cfg(heist_shuttle)]
        return shuttle::rand::Rng::gen_range(&mut shuttle::rand::thread_rng(), 0..n);
        // The upper half of the product: each number comes up as often as any other, but for one draw in 2^64 / n.
        #[cfg(not(heist_shuttle))]
        return ((u128::from(self.next()) * n as u128) >> u64::BITS) as usize;
    }

    #[cfg(not(heist_shuttle))]
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::Random;

    #[test]
    fn the_sequence_is_that_of_the_paper() {
        let mut random = Random::new(1_234_567);
        let drawn: Vec<u64> = (0..3).map(|_| random.next()).collect();
        assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn all_numbers_below_come_up_about_equally_often() {
        let (mut random, mut seen) = (Random::new(1), [0; 7]);
        for _ in 0..7_000 {
            seen[random.below(7)] += 1;
        }
        assert!(seen.iter().all(|times| (850..1150).contains(times)), "{seen:?}");
        assert_eq!(random.below(0), 0);
    }
}
