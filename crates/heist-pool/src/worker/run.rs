//! The loop at the bottom of every thread of the pool.

use super::park::Slept;
use super::{Found, Local};
use heist_trace::Kind;

impl Local {
    /// Runs jobs until the pool has no use for this thread any more.
    pub(crate) fn run(&self) {
        loop {
            if self.index.get().is_some() && !self.is_recalled() {
                if let Some(found) = self.search() {
                    self.end_search();
                    self.run_found(found);
                    continue;
                }
            }
            if self.rescuing.get() {
                self.pool.force_all();
                if let Some(found) = self.find_near().map(Found::Job).or_else(|| self.steal_round()) {
                    self.run_found(found);
                    continue;
                }
                self.rescuing.set(false);
                self.pool.rescuer_goes(self.worker.id);
            }
            match self.sleep() {
                Slept::Resumed => {}
                Slept::Leave => {
                    self.get_up();
                    return;
                }
            }
        }
    }

    /// What an exit handler has spawned on this thread.
    pub(crate) fn run_own(&self) {
        while let Some(job) = self.spawned.pop() {
            self.run_found(Found::Job(job));
        }
    }

    /// Runs one job on top of whatever is on this thread's stack.
    pub(super) fn run_found(&self, found: Found<'_>) {
        self.get_up();
        match found {
            Found::Job(job) => {
                self.trace(Kind::JobStart, 0);
                // SAFETY: taken out of a queue, so once.
                unsafe { job.run() };
                self.trace(Kind::JobEnd, 0);
            }
            Found::Fork { job, victim } => {
                let floor = self.worker.stack.position(self.hot.top());
                self.trace(Kind::JobStart, u32::from(victim.id) + 1);
                let sleeps = job.run(self.worker.id, floor);
                if sleeps {
                    // LIVENESS(W1): the owner announced its wait before our swap.
                    victim.parker.unpark();
                }
                self.trace(Kind::JobEnd, u32::from(victim.id) + 1);
            }
        }
    }
}
