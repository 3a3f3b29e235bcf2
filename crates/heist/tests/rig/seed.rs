//! Where the randomness of a test comes from: a printed seed, so that a failure can be run again.

use heist_sync::rand::Random;
use std::time::{SystemTime, UNIX_EPOCH};

/// `HEIST_SEED` if it is set, otherwise a fresh seed. Printed, so that it is in the output of a failed test.
pub fn base_seed(test: &str) -> u64 {
    let seed = match std::env::var("HEIST_SEED") {
        Ok(text) => text.parse().expect("HEIST_SEED is a number"),
        Err(_) => SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos() as u64,
    };
    println!("{test}: run again with HEIST_SEED={seed}");
    seed
}

/// The generator of round `round`.
pub fn generator(seed: u64, round: u64) -> Random {
    Random::new(seed ^ round.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}
