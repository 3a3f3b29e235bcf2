//! In place of the watchdog where a checker runs: it is not modelled.

use crate::pool::Pool;
use crate::queues::ticks::NEVER;

/// What is to be reported: nothing.
#[derive(Default)]
pub struct Reports;

impl Pool {
    pub(crate) fn watch_ticks_at_ns(&self) -> u64 {
        NEVER
    }

    pub(crate) fn watch_ticks(&self) {}
}
