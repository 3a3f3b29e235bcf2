//! Going to sleep: announce, ask everybody, fence, look again, sleep.

use super::{Errand, Given, Local};
use crate::driver::Patience;
use heist_policy::tuning;
use heist_sync::atomic::{Ordering, fence};
use heist_sync::barrier;
use heist_sync::planted::is_planted;
use heist_trace::Kind;
use std::time::Duration;

#[must_use]
pub(super) enum Slept {
    /// There may be work; the thread has an index.
    Resumed,
    /// The thread is not needed any more.
    Leave,
}

impl Local {
    /// Gives the index up and sleeps until somebody gives one.
    pub(super) fn sleep(&self) -> Slept {
        self.trace(Kind::Park, 0);
        // S1: from here on an announcement of work finds a free index and no searcher, and wakes a sleeper: us.
        let was_searching = self.searching.replace(false);
        if is_planted("idle_arm_before_count") {
            for other in self.pool.table().iter().filter(|w| w.id() != self.worker.id) {
                let _ = other.stack.arm();
            }
        }
        let mut desk = self.pool.idle().open();
        let gift = self.index.get().and_then(|i| {
            let gift = desk.release(self.worker.id, i);
            desk.mark(i);
            gift
        });
        self.set_index(None);
        desk.park(self.worker.id);
        let alone = desk.parked().len() == self.pool.live();
        drop(desk);
        if was_searching {
            self.pool.idle().end_search();
        }
        if let Some(gift) = gift {
            self.pool.tell(gift);
        }
        // S2: whoever is running is asked to look for sleepers at its next push.
        if self.pool.ask_and_look(&self.worker, alone) {
            // S3: something came before the request. Take an index and look for it, unless somebody has just given one.
            let mut desk = self.pool.idle().open();
            let free = self.pool.index_for_visible_work(&desk);
            if free.is_some() && desk.unpark(self.worker.id) {
                let index = desk.acquire(self.worker.id, free);
                desk.count_search();
                drop(desk);
                self.searching.set(true);
                self.set_index(index);
                self.trace(Kind::Wake, u32::from(self.worker.id));
                return Slept::Resumed;
            }
        }
        if self.pool.is_closing() {
            self.pool.leave_if_done();
        }
        self.lie_down();
        self.sleep_in_bed()
    }

    /// S4.
    fn sleep_in_bed(&self) -> Slept {
        loop {
            match self.worker.take_given() {
                Some(Given::Index(index)) => {
                    self.searching.set(true);
                    self.set_index(Some(index));
                    self.trace(Kind::Wake, u32::from(self.worker.id));
                    // Whoever leaves the driver for work that may be long leaves it to the monitor.
                    if self.pool.attendance().is_unattended() {
                        self.pool.watch_tasks();
                    }
                    return Slept::Resumed;
                }
                Some(Given::Tasks) => {
                    self.start_errand(Errand::Overtake);
                    return Slept::Resumed;
                }
                Some(Given::Leave) => return Slept::Leave,
                None => {}
            }
            if let Some(seat) = self.driver_seat() {
                // LIVENESS(S4): as below, but whoever gives something interrupts the driver (E11). It may have come before
                // we sat down.
                if !self.worker.was_given() {
                    seat.turn(Patience::Forever);
                }
                drop(seat);
                if self.has_own_tasks() && self.rise_with_tasks() {
                    return Slept::Resumed;
                }
                if self.pool.is_closing() {
                    self.pool.leave_if_done();
                }
                continue;
            }
            // LIVENESS(S4): whoever gives an index, or dismisses us, unparks us after it has written so.
            // A thread that somebody else has started cannot be started again.
            if self.pool.config().foreign_threads || self.pool.live() <= self.pool.parallelism() {
                self.worker.parker.park();
            } else if !self.worker.parker.park_timeout(Duration::from_nanos(tuning::SPARE_KEPT_NS))
                && self.pool.live() > self.pool.parallelism()
                && self.pool.idle().open().unpark(self.worker.id)
            {
                return Slept::Leave;
            }
        }
    }

    /// The seat in the driver, if sleeping there makes sense: this thread could run what it finds.
    fn driver_seat(&self) -> Option<crate::attend::Seated<'_>> {
        if self.pool.idle().counters().free() == 0 && !self.pool.is_overtaking() {
            return None;
        }
        self.pool.attendance().lie_in(self.worker.id)
    }

    /// A parked thread has found tasks in the driver. True if it may run them.
    fn rise_with_tasks(&self) -> bool {
        let mut desk = self.pool.idle().open();
        if !desk.unpark(self.worker.id) {
            // Somebody has just woken us: what we were given is on its way.
            return false;
        }
        let home = self.worker.home();
        let index = desk.acquire(self.worker.id, Some(home)).or_else(|| desk.acquire(self.worker.id, None));
        if index.is_some() {
            drop(desk);
            self.set_index(index);
            self.trace(Kind::Wake, u32::from(self.worker.id));
        } else if self.pool.is_overtaking() {
            drop(desk);
            self.start_errand(Errand::Overtake);
        } else {
            desk.park(self.worker.id);
            drop(desk);
            self.hand_in_tasks();
            return false;
        }
        // Nobody has been told of these tasks.
        if !self.worker.tasks.is_empty() {
            self.pool.announce_task();
        }
        self.pool.watch_tasks();
        true
    }
}

impl crate::pool::Pool {
    /// A free index that some visible work can be done with.
    fn index_for_visible_work(&self, desk: &crate::idle::Desk) -> Option<u16> {
        let broadcast = |&i: &u16| !self.broadcasts(i).is_empty();
        match desk.free_indices().iter().copied().find(broadcast) {
            Some(index) => Some(index),
            None if self.has_work_for_anyone() => desk.free_indices().last().copied(),
            None => None,
        }
    }

    /// Asks every thread to look for sleepers at its next push, and looks whether there is work already. `alone`: all
    /// threads sleep, so there is nobody to ask.
    pub(crate) fn ask_and_look(&self, me: &super::Worker, alone: bool) -> bool {
        // ORDERING(E9): our announcement before our look; partner: who injects a job fences before it reads the counters.
        fence(Ordering::SeqCst);
        if self.idle().counters().searching() > 0 {
            // LIVENESS(S2): that searcher finds work and wakes the next, or comes here after us.
            return false;
        }
        if !alone && !is_planted("idle_arm_before_count") {
            let mut asked = false;
            for other in self.table().iter().filter(|w| w.id() != me.id()) {
                asked |= other.stack.arm();
            }
            // ORDERING(E6): our requests before our look at the heads; partner: `is_slow_push`. Dear while others run, and
            // not needed where threads come and go without forking.
            if asked {
                barrier::heavy();
            }
        }
        !is_planted("idle_no_last_look") && self.has_visible_work()
    }
}
