//! How many threads run the user's code at a time.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::shape::Around;

/// Counts the threads inside of leaves. A thread that has begun a leaf and lost its core to another counts, too: it
/// takes its share of the cores, and whatever the other needs from it comes late.
#[derive(Default)]
pub struct Running {
    now: AtomicUsize,
    peak: AtomicUsize,
}

impl Running {
    pub fn now(&self) -> usize {
        self.now.load(Ordering::Relaxed)
    }

    /// Of all times, not only of those that somebody looked at.
    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }
}

impl Around for Running {
    fn leaf(&self, work: impl FnOnce() -> u64) -> u64 {
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        // Mostly it is no new peak, and a read is cheaper.
        if now > self.peak() {
            self.peak.fetch_max(now, Ordering::Relaxed);
        }
        let result = work();
        self.now.fetch_sub(1, Ordering::Relaxed);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_are_counted_while_they_run() {
        let running = Running::default();
        running.leaf(|| {
            assert_eq!(running.now(), 1);
            running.leaf(|| 0)
        });
        assert_eq!((running.now(), running.peak()), (0, 2));
    }
}
