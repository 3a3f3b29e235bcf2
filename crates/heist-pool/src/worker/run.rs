//! The loop at the bottom of every thread of the pool.

use super::find::What;
use super::park::Slept;
use super::{Errand, Found, Local};
use crate::place::For;
use heist_sync::atomic::Ordering;
use heist_trace::Kind;

impl Local {
    /// Runs jobs until the pool has no use for this thread any more.
    pub(crate) fn run(&self) {
        loop {
            if self.index.get().is_some()
                && !self.is_recalled()
                && let Some(found) = self.search()
            {
                self.end_search(&found);
                self.run_found(found);
                continue;
            }
            if self.go_on_errand() {
                continue;
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

    /// What a thread without an index runs. False if it has nothing to do.
    fn go_on_errand(&self) -> bool {
        match self.errand.get() {
            Errand::None => return false,
            Errand::Rescue => {
                self.pool.force_all();
                if let Some(found) =
                    self.find_job_near().map(Found::Job).or_else(|| self.steal_round(What::Jobs))
                {
                    self.run_found(found);
                    return true;
                }
            }
            Errand::Overtake => {
                if self.index.get().is_none()
                    && self.pool.is_overtaking()
                    && let Some(found) = self.find_task()
                {
                    self.run_found(found);
                    return true;
                }
            }
        }
        self.end_errand();
        false
    }

    /// What an exit handler has spawned on this thread.
    pub(crate) fn run_own(&self) {
        while let Some(found) =
            self.spawned.pop().map(Found::Job).or_else(|| self.take_own_task().map(Found::Task))
        {
            self.run_found(found);
        }
    }

    /// Runs one job on top of whatever is on this thread's stack.
    pub(super) fn run_found(&self, found: Found<'_>) {
        self.get_up();
        let outer = self.begin();
        match found {
            Found::Task(task) => {
                self.last.set(For::Task);
                self.trace(Kind::JobStart, 0);
                let in_turn = self.in_turn.replace(true);
                task.run();
                self.in_turn.set(in_turn);
                self.trace(Kind::JobEnd, 0);
            }
            Found::Job(job) => {
                self.last.set(For::Job);
                self.trace(Kind::JobStart, 0);
                // SAFETY: taken out of a queue, so once.
                unsafe { job.run() };
                self.trace(Kind::JobEnd, 0);
            }
            Found::Fork { job, victim } => {
                self.last.set(For::Job);
                self.part_from(victim);
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
        self.end(outer);
    }

    /// Tells the monitor that somebody else's code begins. Returns what `end` needs.
    pub(crate) fn begin(&self) -> u32 {
        // Jobs nest: the count moves on, and the lowest bit says whether anything is on the stack.
        let pace = self.worker.pace.load(Ordering::Relaxed);
        self.worker.pace.store(pace.wrapping_add(2) | 1, Ordering::Relaxed);
        pace & 1
    }

    pub(crate) fn end(&self, outer: u32) {
        let pace = self.worker.pace.load(Ordering::Relaxed);
        self.worker.pace.store((pace.wrapping_add(2) & !1) | outer, Ordering::Relaxed);
    }
}
