//! Work that cannot be taken for a sleep.

use std::time::{Duration, Instant};

/// Keeps a core busy for so many microseconds.
pub fn compute(for_us: u64) {
    let until = Instant::now() + Duration::from_micros(for_us);
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}
