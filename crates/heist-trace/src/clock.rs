//! The one clock of a trace.

use heist_sync::process::PerProcess;
use std::sync::OnceLock;
use std::time::Instant;

/// Nanoseconds since this process first asked: monotonic, and the same for all threads.
///
/// ```
/// let a = heist::trace::now_ns();
/// assert!(heist::trace::now_ns() >= a);
/// ```
pub fn now_ns() -> u64 {
    static START: PerProcess<OnceLock<Instant>> = PerProcess::new(OnceLock::new(), OnceLock::new);
    let elapsed = START.get().get_or_init(Instant::now).elapsed();
    // Not `as_nanos`: its 128-bit product costs more than the rest.
    elapsed.as_secs() * 1_000_000_000 + u64::from(elapsed.subsec_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
