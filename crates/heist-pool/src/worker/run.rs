//! The loop at the bottom of every thread of the pool.

use super::Worker;
use super::find::{Found, What};
use super::park::Slept;
use super::shared::{Doing, Role};
use heist_os::WokenFor;
#[cfg(not(any(heist_loom, heist_shuttle)))]
use heist_policy::tuning;
#[cfg(not(any(heist_loom, heist_shuttle)))]
use heist_sync::clock::Instant;
use heist_trace::Kind;

impl Worker {
    /// Runs jobs and tasks until the pool has no use for this thread any more.
    pub(crate) fn run(&self) {
        loop {
            self.reach_bottom();
            if self.permit.index().is_some() {
                if let Some(found) = self.search() {
                    self.end_search(&found);
                    self.run_found(found);
                    continue;
                }
            } else if let Some(found) = self.find_without_permit() {
                self.run_found(found);
                continue;
            }
            match self.sleep() {
                Slept::Resumed => {}
                Slept::Leave => return,
            }
        }
    }

    /// What a thread without a permit runs. `None` if it has nothing to do.
    pub(super) fn find_without_permit(&self) -> Option<Found<'_>> {
        match self.permit.role() {
            Role::Overtaker => {
                let found = self.find_task();
                if found.is_none() {
                    self.hand_in_tasks();
                }
                found
            }
            Role::Rescuer => {
                self.pool.threads().table().force_all();
                self.find_job_near().map(Found::Job).or_else(|| self.steal_round(What::Jobs))
            }
            Role::Holder | Role::Resumed | Role::Guest => None,
        }
    }

    /// Runs what an exit handler has spawned on this thread.
    pub(crate) fn run_own(&self) {
        while let Some(found) =
            self.spawned.pop().map(Found::Job).or_else(|| self.take_own_task().map(Found::Task))
        {
            self.run_found(found);
        }
    }

    /// Runs one job or task on top of whatever is on this thread's stack.
    pub(super) fn run_found(&self, found: Found<'_>) {
        match found {
            Found::Task(task) => {
                self.last.set(WokenFor::Task);
                let outer = self.shared.begin(Doing::Poll);
                self.trace(Kind::JobStart, 0);
                let was_polling = self.tasks.is_polling.replace(true);
                task.run();
                self.tasks.is_polling.set(was_polling);
                self.trace(Kind::JobEnd, 0);
                self.shared.end(outer);
            }
            Found::Job(job) => {
                self.last.set(WokenFor::Job);
                let outer = self.shared.begin(Doing::Job);
                self.trace(Kind::JobStart, 0);
                // SAFETY: taken out of a queue, so once.
                unsafe { job.run() };
                self.trace(Kind::JobEnd, 0);
                self.shared.end(outer);
            }
            Found::Fork { job, victim } => {
                self.last.set(WokenFor::Job);
                let outer = self.shared.begin(Doing::Job);
                self.leave_cpu_of(victim);
                let floor = self.shared.stack.floor(self.hot);
                self.trace(Kind::JobStart, u32::from(victim.id()) + 1);
                let sleeps = job.run(self.shared.id(), floor);
                if sleeps {
                    // LIVENESS(W1): the owner announced its wait before our swap.
                    victim.parker().unpark();
                }
                self.trace(Kind::JobEnd, u32::from(victim.id()) + 1);
                self.shared.end(outer);
            }
        }
    }

    /// As `run_found`, for something that whatever is on this thread's stack does not need. What it forks is not for those who
    /// wait for a job below.
    pub(super) fn run_stranger(&self, found: Found<'_>) {
        let stack = &self.shared.stack;
        stack.begin_stranger();
        self.run_found(found);
        stack.end_stranger();
    }

    /// This thread is about to run a job of `victim`'s. If the two share a CPU, it goes to another: the kernel would let them
    /// alternate, even if another CPU is idle.
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    fn leave_cpu_of(&self, victim: &super::WorkerShared) {
        let system = self.pool.system();
        let Some(cpu) = system.cpu() else { return };
        if !victim.has_shared_on(cpu) || victim.id() == self.shared.id() {
            return;
        }
        let lately = |at: Instant| at.elapsed().as_nanos() < u128::from(tuning::PART_EVERY_NS);
        if self.left_cpu.get().is_some_and(lately) {
            return;
        }
        self.left_cpu.set(Some(Instant::now()));
        // It may have gone elsewhere since it said where it is.
        if victim.number().and_then(|number| system.cpu_of_runnable(number)) == Some(cpu) {
            heist_os::leave_cpu(system, cpu);
        }
    }

    #[cfg(any(heist_loom, heist_shuttle))]
    fn leave_cpu_of(&self, _: &super::WorkerShared) {}
}
