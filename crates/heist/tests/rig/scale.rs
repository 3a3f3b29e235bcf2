//! How much a stress test does.

/// `HEIST_STRESS` multiplies the work of the stress tests; unoptimised builds do a twentieth.
pub fn scaled(optimised: usize) -> usize {
    let times: f64 =
        std::env::var("HEIST_STRESS").map_or(1.0, |text| text.parse().expect("HEIST_STRESS is a number"));
    let base = if cfg!(debug_assertions) { optimised / 20 } else { optimised };
    ((base as f64 * times) as usize).max(1)
}
