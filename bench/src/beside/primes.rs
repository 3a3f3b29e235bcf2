//! The loop that everyone writes first: count the primes by trial division.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Out of line, so that every contestant runs the same machine code.
#[inline(never)]
pub fn is_prime(number: u64) -> bool {
    number > 1
        && (2..)
            .take_while(|divisor| divisor * divisor <= number)
            .all(|divisor| !number.is_multiple_of(divisor))
}

/// Below which number the primes take so long to count on one core, on the machine as it is now.
pub fn below_for(time: Duration) -> u64 {
    const BELOW: u64 = 200_000;
    let fastest = (0..3)
        .map(|_| {
            let start = Instant::now();
            black_box((0..black_box(BELOW)).filter(|&number| is_prime(number)).count());
            start.elapsed()
        })
        .min()
        .expect("there are three");
    // Most of the time goes into the primes: each takes as many steps as its root, and they get rarer.
    let cost = |below: f64| below.powf(1.5) / below.ln();
    let wanted = cost(BELOW as f64) * time.as_secs_f64() / fastest.as_secs_f64();
    let (mut low, mut high) = (2.0, 1e12);
    while high - low > 1.0 {
        let middle = (low + high) / 2.0;
        // Small numbers have no logarithm to speak of.
        if middle < 10.0 || cost(middle) < wanted { low = middle } else { high = middle }
    }
    high as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_are_told_from_others() {
        let primes: Vec<u64> = (0..30).filter(|&number| is_prime(number)).collect();
        assert_eq!(primes, [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]);
    }

    #[test]
    fn more_time_is_for_more_numbers() {
        let [short, long] = [1, 100].map(|ms| below_for(Duration::from_millis(ms)));
        assert!(1_000 < short && 5 * short < long, "{short} in 1 ms, {long} in 100 ms");
    }
}
