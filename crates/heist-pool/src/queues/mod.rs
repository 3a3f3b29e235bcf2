#![doc = include_str!("README.md")]

pub mod forks;
pub mod job;
pub mod load;
mod run_queue;
pub mod task;
pub mod ticks;

pub(crate) use run_queue::{HALF, RunQueue, SLOTS};

use crate::clock::Clock;
use crate::threads::Table;
use heist_deque::Injector;
use job::JobRef;
use task::TaskRef;
use ticks::Ticks;

/// The queues that all threads of a pool share. Those of one thread are in its `WorkerShared`.
pub struct Queues {
    /// Jobs from outside, and those that their thread will not get to.
    pub(crate) jobs: Injector<JobRef>,
    /// Tasks that became ready outside of the pool's threads, or that found no room.
    pub(crate) tasks: Injector<TaskRef>,
    /// Per index, jobs that only its holder may run.
    broadcasts: Box<[Injector<JobRef>]>,
    /// Jobs of `spawn_fifo`; the tickets for them are in the other queues.
    fifo: Injector<JobRef>,
    ticks: Ticks,
}

impl Queues {
    pub(crate) fn new(permits: usize, clock: Clock) -> Self {
        Self {
            jobs: Injector::new(),
            tasks: Injector::new(),
            broadcasts: (0..permits).map(|_| Injector::new()).collect(),
            fifo: Injector::new(),
            ticks: Ticks::new(permits, clock),
        }
    }

    /// Jobs that only the holder of `index` may run.
    pub(crate) fn broadcasts(&self, index: u16) -> &Injector<JobRef> {
        &self.broadcasts[usize::from(index)]
    }

    /// The indices for which there are such jobs.
    pub(crate) fn broadcast_indices(&self) -> impl Iterator<Item = u16> + '_ {
        (0..).zip(&self.broadcasts).filter(|(_, queue)| !queue.is_empty()).map(|(index, _)| index)
    }

    /// Jobs that are run oldest first by whoever takes a ticket for one.
    pub fn fifo(&self) -> &Injector<JobRef> {
        &self.fifo
    }

    /// Ticks that wait until they are due.
    pub fn ticks(&self) -> &Ticks {
        &self.ticks
    }

    /// Whether there is something that any holder of a permit may run.
    pub(crate) fn has_work_for_anyone(&self, table: &Table) -> bool {
        !self.jobs.is_empty() || !self.tasks.is_empty() || table.iter().any(|worker| worker.has_work())
    }

    /// What a thread that is about to sleep can still find.
    pub(crate) fn has_visible_work(&self, table: &Table) -> bool {
        self.has_work_for_anyone(table) || self.broadcast_indices().next().is_some()
    }

    /// How many jobs and tasks wait in the queues that all threads share.
    pub(crate) fn injected(&self) -> usize {
        self.jobs.len() + self.tasks.len()
    }

    /// Whether jobs are queued.
    pub(crate) fn has_jobs(&self, table: &Table) -> bool {
        !self.jobs.is_empty() || table.iter().any(|worker| worker.has_jobs())
    }

    /// Whether tasks are queued, those that only wait for a poll to end included.
    pub(crate) fn has_tasks(&self, table: &Table) -> bool {
        !self.tasks.is_empty() || table.iter().any(|worker| worker.has_tasks())
    }
}
