//! The one clock of a trace.

use heist_sync::clock::Moment;
use heist_sync::process::PerProcess;
use std::sync::OnceLock;

/// Nanoseconds since this process first asked: monotonic, and the same for all threads. The first call takes a millisecond, in which the
/// processor's counter is compared with the system's clock; others read the counter.
///
/// ```
/// let a = heist::trace::now_ns();
/// assert!(heist::trace::now_ns() >= a);
/// ```
#[inline]
pub fn now_ns() -> u64 {
    static START: PerProcess<OnceLock<Moment>> = PerProcess::new(OnceLock::new(), OnceLock::new);
    Moment::now().ns_since(*START.get().get_or_init(Moment::settled))
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn it_never_runs_backwards_across_threads() {
        let mut last = now_ns();
        for _ in 0..100 {
            let there = std::thread::spawn(now_ns).join().unwrap();
            let here = now_ns();
            assert!(last <= there && there <= here);
            last = here;
        }
    }

    #[test]
    fn it_runs_as_fast_as_the_systems_clock() {
        now_ns();
        let (began, began_ns) = (Instant::now(), now_ns());
        while began.elapsed() < Duration::from_millis(50) {
            std::thread::yield_now();
        }
        // Read inside of the other interval: what comes between two reads can only make it shorter.
        let took_ns = (now_ns() - began_ns) as f64;
        let took = began.elapsed().as_nanos() as f64;
        assert!(took_ns < 1.001 * took, "{took_ns} of {took}");
        // And the other way round.
        let (began_ns, began) = (now_ns(), Instant::now());
        while began.elapsed() < Duration::from_millis(50) {
            std::thread::yield_now();
        }
        let took = began.elapsed().as_nanos() as f64;
        let took_ns = (now_ns() - began_ns) as f64;
        assert!(took_ns > 0.999 * took, "{took_ns} of {took}");
    }
}
