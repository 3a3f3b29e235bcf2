//! Whom to tell of what becomes due or is registered: the thread that waits in the driver, or for ticks beside it. If nobody waits, somebody is
//! woken, or the monitor is asked. What is due, and for whom, [`Due`] finds.

use crate::driver_lock::{DriverLock, Told};
use crate::due::Due;
use crate::monitor::Watched;
use crate::pool::Pool;
use crate::queues::ticks::Ticks;
use crate::threads::Threads;
use crate::worker::Worker;
use heist_os::WokenFor;
use heist_policy::tick as policy;
use heist_sync::atomic::{Ordering, fence};
use heist_sync::planted::is_planted;

/// The thread that waits in a pool's driver, or beside it, as those see it who have something for it. There may be none.
#[derive(Clone, Copy)]
pub struct DriverWaiter<'a> {
    driver: &'a DriverLock,
    ticks: &'a Ticks,
    threads: &'a Threads,
    watched: &'a Watched,
    due: Due<'a>,
    /// Where another thread is woken, or started, if none waits.
    pool: &'a Pool,
}

impl<'a> DriverWaiter<'a> {
    /// That of this pool.
    #[inline]
    pub(crate) fn of(pool: &'a Pool) -> Self {
        Self {
            driver: pool.driver(),
            ticks: pool.queues().ticks(),
            threads: pool.threads(),
            watched: pool.watched(),
            due: pool.due(),
            pool,
        }
    }

    /// A thread begins a run of a tick that it took `late_ns` after it was due, and that should take `run_ns`. If that is long, or the thread
    /// is behind, and another tick is due before the end, then somebody else should be there for it.
    pub fn relieve(self, late_ns: u64, begun_ns: u64, run_ns: u64) {
        let until_ns = begun_ns.saturating_add(run_ns);
        let is_due = || self.due.is_any_by(until_ns);
        if policy::needs_relief(late_ns, run_ns) && is_due() && self.driver.is_unattended() {
            self.pool.permits().announce(self.pool, WokenFor::Task);
        }
    }

    /// Tells the thread that waits, behind a fence, that something is due at `rise_ns`.
    fn tell_waiter(self, rise_ns: u64) -> Told {
        // LIVENESS: whoever moves the clock looks what is due then.
        if self.ticks.clock().is_still_before(rise_ns) { Told::InTime } else { self.driver.hasten(rise_ns) }
    }

    /// A tick was queued at `index`, or its permit was given up: if that is news to the thread that waits, it is told. `comes_back`: the
    /// calling thread looks at its ticks in a moment, and sleeps where they wake it.
    pub fn hasten(self, index: u16, comes_back: bool) {
        // ORDERING(TICK-E1): the queue, or the word of the permit, before the look at who waits; partner: `wait_for_ticks`, which
        // announces itself, fences, and then looks at queues and words.
        if !is_planted("tick_hasten_unfenced") {
            fence(Ordering::SeqCst);
        }
        let rise_ns = self.due.rise_view(index).stealable_ns;
        match self.tell_waiter(rise_ns) {
            Told::InTime => {}
            Told::Wake(thread) => self.wake(thread),
            // LIVENESS: it gets to them itself, and the monitor sees if it does not.
            Told::Nobody if comes_back => self.watched.watch_from(rise_ns),
            Told::Nobody => self.attend(),
        }
    }

    /// The permit of `index` was given up: the thread that waits may have to rise earlier for its ticks. If nobody waits, the caller or the
    /// monitor sees to it.
    pub(crate) fn hasten_given_up(self, index: u16) {
        if !self.driver.has_ticks() {
            return;
        }
        // ORDERING(TICK-E1): as in `hasten`.
        fence(Ordering::SeqCst);
        if let Told::Wake(thread) = self.tell_waiter(self.due.rise_view(index).stealable_ns) {
            self.wake(thread);
        }
    }

    /// Which permits are active has changed: the thread that waits may have to rise earlier.
    pub(crate) fn hasten_all(self) {
        for index in self.due.indices() {
            self.hasten_given_up(index);
        }
    }

    /// The watchdog of a tick has become more strict: the thread that waits may have to rise earlier for it.
    pub fn hasten_watchdog(self, watchdog_ns: u64) {
        let look_ns = self.ticks.watch_more(watchdog_ns);
        // ORDERING(TICK-E1): as in `hasten`.
        fence(Ordering::SeqCst);
        match self.tell_waiter(look_ns) {
            Told::InTime => {}
            Told::Wake(thread) => self.wake(thread),
            Told::Nobody => self.watched.watch_from(look_ns),
        }
    }

    /// Ends the wait of the thread that waits for ticks.
    pub(crate) fn wake(self, thread: u16) {
        if let Some(worker) = self.threads.table().get(thread.into()) {
            worker.parker().unpark();
        }
    }

    /// The calling thread sat in the driver, or could have, and begins something that may be long. If nobody sits there, that is left to the monitor.
    pub(crate) fn leave(self) {
        if self.driver.is_unattended() {
            // ORDERING(MONITOR-E2): see `is_planned_by`.
            fence(Ordering::SeqCst);
            self.watched.watch_driver(|| self.ticks.now_ns());
        }
    }

    /// Something was registered with the driver. If nobody waits in it, somebody will look.
    pub fn attend(self) {
        if self.pool.is_foreign() {
            return;
        }
        // ORDERING(PERMIT-E3, TICK-E2): the registration before the look at lock and counters; partner: a thread that parks announces
        // itself, fences, and then asks whether the driver is used.
        fence(Ordering::SeqCst);
        if self.driver.is_unattended() && !is_planted("driver_unannounced") {
            if let Some(thread) = self.driver.waiter_beside() {
                // LIVENESS(TICK-E2): it sees the driver when it looks again, and waits there.
                return self.wake(thread);
            }
            // A thread that is woken finds nothing to run, and sleeps in the driver. If all are busy, they look between two
            // tasks, and the monitor sees to it that they do. So does one that registers in the middle of a poll, as most do: it
            // comes back to the driver itself.
            if !Worker::current_in(self.pool).is_some_and(Worker::is_polling) {
                self.pool.permits().announce_fenced(self.pool, WokenFor::Task);
            }
            self.watched.watch_driver(|| self.ticks.now_ns());
        }
    }

    /// Something is due, and all sleep: wakes the thread that waits for it, or any.
    pub(crate) fn wake_for(self, now_ns: u64) {
        match self.driver.hasten(now_ns) {
            Told::Wake(thread) => self.wake(thread),
            _ => self.pool.permits().announce(self.pool, WokenFor::Task),
        }
    }
}
