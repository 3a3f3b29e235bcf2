//! heist's scope, and its ways in.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use heist::ThreadPool;

use super::SPAWNS;
use crate::peers::heist::guests;
use crate::race::Race;
use crate::visit::repeat;

/// Returns how many of the spawned closures have run.
fn spawns(count: u64) -> u64 {
    let ran = AtomicU64::new(0);
    heist::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|_| {
                ran.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    ran.into_inner()
}

pub fn enter_scope<'a>(race: &mut Race<'a, u64>, pool: &'a ThreadPool) {
    race.enter("heist", || pool.install(|| repeat(3, 1, || spawns(black_box(SPAWNS)))).per(SPAWNS));
}

pub fn enter_install<'a>(race: &mut Race<'a, i32>, pool: &'a ThreadPool) {
    race.enter("heist install", || repeat(20, 10, || pool.install(|| black_box(7))));
    race.enter("heist fork", || repeat(20, 10, || guests().fork(|_| black_box(7))));
}
