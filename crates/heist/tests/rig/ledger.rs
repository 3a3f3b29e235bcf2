//! A count per job id: what ran, and how often.

use heist_sync::atomic::{AtomicU8, Ordering};

/// One counter for each id.
pub struct Ledger {
    counts: Vec<AtomicU8>,
}

impl Ledger {
    /// Counters for the ids below `jobs`.
    pub fn new(jobs: usize) -> Self {
        Self { counts: (0..jobs).map(|_| AtomicU8::new(0)).collect() }
    }

    /// The job `id` runs.
    pub fn mark(&self, id: usize) {
        self.counts[id].fetch_add(1, Ordering::Relaxed);
    }

    /// Every job has run exactly once.
    pub fn check_all_once(&self, what: &str) {
        let wrong: Vec<_> = self
            .counts
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .enumerate()
            .filter(|&(_, count)| count != 1)
            .take(10)
            .collect();
        assert!(wrong.is_empty(), "{what}: of {} jobs, (id, runs) {wrong:?} ...", self.counts.len());
    }
}
