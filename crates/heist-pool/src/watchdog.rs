//! Looks now and then whether a tick runs for too long, or is due and nobody gets to it.
//!
//! There is no thread for it: the thread that waits for ticks looks when it comes by, and the monitor while it watches the pool.

use crate::pool::Pool;
use crate::queues::ticks::Tick;

impl Pool {
    /// When somebody should look next.
    pub(crate) fn watch_ticks_at_ns(&self) -> u64 {
        self.queues().ticks().watch_next_ns()
    }

    /// A look, if it is time. What it finds is reported on a thread of its own, because the program's handler may block.
    pub(crate) fn watch_ticks(&self) {
        if !self.driver().has_ticks() {
            return;
        }
        let ticks = self.queues().ticks();
        let overdue = ticks.overdue(ticks.now_ns());
        if overdue.is_empty() {
            return;
        }
        let report = move || overdue.into_iter().for_each(Tick::report);
        // Without a thread to be had, what was seen at this look is not reported.
        let _ = std::thread::Builder::new().name("heist-report".into()).spawn(report);
    }
}
