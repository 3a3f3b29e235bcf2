//! rayon's scope.

use std::sync::atomic::{AtomicU64, Ordering};

/// Returns how many of the spawned closures have run.
pub fn spawns(count: u64) -> u64 {
    let ran = AtomicU64::new(0);
    rayon::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|_| {
                ran.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    ran.into_inner()
}
