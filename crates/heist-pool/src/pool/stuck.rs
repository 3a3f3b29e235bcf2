//! What the monitor, and a thread that waits for an index, can do about threads that do not get on.

use super::Pool;
use crate::kernel;
#[cfg(not(any(heist_loom, heist_shuttle)))]
use crate::worker::Errand;
#[cfg(not(any(heist_loom, heist_shuttle)))]
use heist_sync::StdArc as Arc;
#[cfg(not(any(heist_loom, heist_shuttle)))]
use heist_sync::atomic::Ordering;
use heist_sync::lock;

impl Pool {
    /// If every index is in use, and all who have one sleep in the kernel: who they are, and their CPU times.
    pub(crate) fn sleeping_holders(&self) -> Option<Vec<(u16, u64)>> {
        let desk = self.idle.open();
        let holders: Vec<u16> = (0..self.parallelism() as u16).filter_map(|i| desk.holder(i)).collect();
        drop(desk);
        let sleeping = |id: u16| {
            let tid = self.table.get(id.into())?.tid();
            kernel::is_asleep(tid).then(|| (id, kernel::cpu_ns(tid)))
        };
        if holders.len() == self.parallelism() { holders.into_iter().map(sleeping).collect() } else { None }
    }

    /// The kernel's numbers of all threads that run jobs now, or are stuck in one, by thread number.
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    pub(crate) fn running_threads(&self) -> Vec<(u16, u32)> {
        let desk = self.idle.open();
        let mut ids: Vec<u16> = (0..self.parallelism() as u16).filter_map(|i| desk.holder(i)).collect();
        drop(desk);
        ids.extend(lock(&self.rescuers).iter());
        let tid = |id: u16| self.table.get(id.into()).map(|worker| (id, worker.tid()));
        ids.into_iter().filter_map(tid).collect()
    }

    /// Lets one more thread run the queued jobs, without an index.
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    pub(crate) fn rescue(self: &Arc<Self>) {
        if !self.may_start() {
            return;
        }
        if !self.warned_stuck.swap(true, Ordering::Relaxed) {
            eprintln!(
                "heist: every worker of a pool has been asleep for a second while jobs are queued; spare threads run \
                 those. Wrap calls that block in heist::blocking(|| ...)"
            );
        }
        self.start_errand(Errand::Rescue);
    }

    #[cfg(not(any(heist_loom, heist_shuttle)))]
    fn start_errand(self: &Arc<Self>, errand: Errand) {
        let started = self.take_seat(None, false).and_then(|mut seat| {
            seat.errand = errand;
            let name = self.spare_name(&seat);
            self.start(seat, name)
        });
        if let Err(error) = started {
            self.warn_start(&error);
        }
    }

    /// Every holder of an index is inside of one long turn, and tasks wait: one more thread runs them, without an index.
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    pub(crate) fn overtake(self: &Arc<Self>) {
        let mut desk = self.idle.open();
        let parked = desk.parked().last().copied();
        if let Some(id) = parked {
            desk.unpark(id);
        }
        drop(desk);
        match parked.and_then(|id| self.table.get(id.into())) {
            Some(worker) => {
                // It does so itself, but first it needs a core, and whoever has one computes.
                let tid = worker.own_tid();
                if tid != 0 {
                    kernel::set_slice(tid, kernel::Slice::Short);
                }
                worker.give_tasks(&self.attendance);
            }
            None if self.may_start() => self.start_errand(Errand::Overtake),
            None => {}
        }
    }

    #[cfg(not(any(heist_loom, heist_shuttle)))]
    pub(crate) fn set_overtaking(&self, overtaking: bool) {
        if self.is_overtaking() != overtaking {
            self.overtaking.store(overtaking, Ordering::Relaxed);
        }
    }

    /// Opens the stacks of owners that are stuck.
    pub(crate) fn force_all(&self) {
        for worker in self.table.iter() {
            if worker.stack.has_jobs() {
                worker.stack.force();
            }
            if !worker.spawned.is_empty() {
                worker.spawned.force();
            }
        }
    }

    pub(crate) fn rescuer_comes(&self, id: u16) {
        lock(&self.rescuers).push(id);
    }

    pub(crate) fn rescuer_goes(&self, id: u16) {
        lock(&self.rescuers).retain(|&r| r != id);
    }
}
