//! A program that knows nothing of the view. Run it with `HEIST_LIVE=127.0.0.1:7878`, and open the address that it prints.

use heist::prelude::*;

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(60);
    let end = std::time::Instant::now() + std::time::Duration::from_secs(seconds);
    let mut rounds = 0;
    while std::time::Instant::now() < end {
        let sum: u64 = (0..2_000_000_u64).into_par_iter().map(|n| n.wrapping_mul(n) % 7).sum();
        assert!(sum > 0);
        rounds += 1;
    }
    println!("{rounds} rounds");
}
