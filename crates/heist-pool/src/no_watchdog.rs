//! In place of the watchdog where a checker runs: it is not modelled.

use crate::pool::Pool;
use crate::queues::ticks::NEVER;

/// Nobody looks.
#[derive(Default)]
pub struct Watchdog;

impl Watchdog {
    pub fn watch(&self, _: u64, _: u64) {}

    pub fn watch_only(&self, _: u64, _: u64) {}

    pub fn next_ns(&self) -> u64 {
        NEVER
    }

    pub fn begin(&self, _: u64) -> bool {
        false
    }

    pub fn look(&self, _: &Pool) {}
}
