//! Who looks after sockets, timers and ticks.
//!
//! A pool has at most one [`Driver`], made when it is first needed. The thread that looks at it, or waits in it, has the *driver
//! lock*: for a moment between two tasks, or asleep, when it has nothing else to do. The same thread waits for ticks: in the driver, or on its
//! parker as long as the pool has none. See the README of `queues` for why something that becomes ready or due is always seen.

use crate::driver::{Driver, Patience};
use crate::queues::ticks::NEVER;
use heist_sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use heist_sync::{Interrupt, StdArc as Arc};
use std::any::Any;
use std::sync::{OnceLock, Weak};

#[cfg(all(test, heist_loom))]
#[path = "driver_lock_loom.rs"]
mod loom;

const FREE: u32 = 0;
/// Somebody looks without waiting.
const POLLED: u32 = 1;
/// Somebody waits in the driver.
const WAITED_IN: u32 = 2;
/// Somebody waits for ticks on its parker, because there is no driver.
const WAITED_BESIDE: u32 = 3;

/// The pool's side of its driver.
#[derive(Default)]
pub struct DriverLock {
    driver: OnceLock<Arc<dyn Driver>>,
    /// The driver again, as its maker knows it.
    extension: OnceLock<Box<dyn Any + Send + Sync>>,
    state: AtomicU32,
    /// The thread that waits, and until when for ticks.
    waiter: AtomicU32,
    until_ns: AtomicU64,
    /// How many ticks are queued or run.
    ticks: AtomicUsize,
    /// Somebody has looked since the monitor asked.
    looked: AtomicBool,
    /// The monitor wants somebody to look at the next opportunity.
    called: AtomicBool,
    /// The pool's handle is gone.
    is_closing: AtomicBool,
}

/// The lock; given back when dropped.
pub struct Locked<'a> {
    lock: &'a DriverLock,
    driver: Option<&'a dyn Driver>,
}

/// What a new due time means for the thread that waits.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Told {
    /// It rises in time.
    InTime,
    /// This thread has to be woken.
    Wake(u16),
    /// Nobody waits.
    Nobody,
}

impl Locked<'_> {
    /// Whether there is a driver.
    pub fn has_driver(&self) -> bool {
        self.driver.is_some()
    }

    /// Takes a turn of the driver, if there is one.
    pub fn turn(&self, patience: Patience) {
        if let Some(driver) = self.driver {
            driver.turn(patience);
        }
    }

    /// Announces that `thread` waits for ticks, and returns until when: `next_ns` reads that, after the announcement.
    pub fn wait_for_ticks(&self, thread: u16, next_ns: impl FnOnce() -> u64) -> u64 {
        let DriverLock { waiter, until_ns, .. } = self.lock;
        waiter.store(thread.into(), Ordering::Relaxed);
        until_ns.store(NEVER, Ordering::Relaxed);
        // ORDERING(TICK-E1): our announcement, with the lock's state, before our look; partner: `DriverWaiter::hasten`. One of the two sees
        // the other. LIVENESS: an unpark that comes before the wait has begun keeps it from beginning.
        fence(Ordering::SeqCst);
        let next_ns = if self.lock.has_ticks() { next_ns() } else { NEVER };
        until_ns.store(next_ns, Ordering::Relaxed);
        next_ns
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // ORDERING: release, with the acquire of the next one: turns do not overlap.
        self.lock.state.store(FREE, Ordering::Release);
    }
}

impl DriverLock {
    /// Whether a socket is registered or a timer is set.
    pub(crate) fn is_driver_used(&self) -> bool {
        // ORDERING: acquire, with the release in `close`: what the pool did before it was closed.
        let is_closing = || self.is_closing.load(Ordering::Acquire);
        self.driver.get().is_some_and(|driver| driver.is_used(is_closing()))
    }

    /// Whether a thread sleeps in the driver, where time is virtual.
    pub(crate) fn is_asleep(&self) -> bool {
        self.driver.get().is_some_and(|driver| driver.is_asleep())
    }

    /// When the driver's first timer is due, where time is virtual.
    pub(crate) fn next_timer_ns(&self) -> u64 {
        self.driver.get().map_or(NEVER, |driver| driver.next_timer_ns())
    }

    /// The lock, if there is something to look after and nobody has it. `waits`: for a thread that is going to sleep.
    pub fn try_lock(&self, waits: bool) -> Option<Locked<'_>> {
        if !self.is_used() || self.state.load(Ordering::Relaxed) != FREE {
            return None;
        }
        let state = match waits {
            true if self.driver.get().is_some() => WAITED_IN,
            true => WAITED_BESIDE,
            false => POLLED,
        };
        // ORDERING: acquire, with the release in `drop`.
        self.state.compare_exchange(FREE, state, Ordering::Acquire, Ordering::Relaxed).ok()?;
        if !self.looked.load(Ordering::Relaxed) {
            self.looked.store(true, Ordering::Relaxed);
        }
        if self.called.load(Ordering::Relaxed) {
            self.called.store(false, Ordering::Relaxed);
        }
        if state == WAITED_BESIDE {
            // ORDERING(TICK-E2): our state before our look at the driver; partner: `DriverWaiter::attend`, where something was registered
            // before it looks at the state.
            fence(Ordering::SeqCst);
            if self.driver.get().is_some() {
                self.state.store(WAITED_IN, Ordering::Relaxed);
            }
        }
        Some(Locked { lock: self, driver: self.driver.get().map(|driver| &**driver) })
    }

    /// What ends the wait of a thread in the driver.
    pub fn interrupter(&self) -> Weak<dyn Interrupt> {
        let driver = self.driver.get().expect("a thread waits only in a driver that is there");
        let driver: Arc<dyn Interrupt> = Arc::clone(driver) as Arc<dyn Interrupt>;
        Arc::downgrade(&driver)
    }

    /// A tick is queued, which neither was queued nor ran before.
    pub fn add_tick(&self) {
        self.ticks.fetch_add(1, Ordering::Relaxed);
    }

    /// A tick is over, or paused.
    pub fn remove_tick(&self) {
        self.ticks.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether any tick is queued or runs.
    #[inline]
    pub fn has_ticks(&self) -> bool {
        self.ticks.load(Ordering::Relaxed) > 0
    }

    /// Something is due at `rise_ns`, for the thread that waits. Behind a fence: see [`DriverWaiter::hasten`](crate::driver_waiter::DriverWaiter::hasten).
    pub(crate) fn hasten(&self, rise_ns: u64) -> Told {
        if self.state.load(Ordering::Relaxed) < WAITED_IN {
            return Told::Nobody;
        }
        // LIVENESS: it rises before this is due, and looks at all queues again before it sleeps again.
        if rise_ns >= self.until_ns.load(Ordering::Relaxed) {
            return Told::InTime;
        }
        Told::Wake(self.waiter.load(Ordering::Relaxed) as u16)
    }

    /// The thread that waits for ticks beside a driver that has been made meanwhile.
    pub(crate) fn waiter_beside(&self) -> Option<u16> {
        (self.state.load(Ordering::Relaxed) == WAITED_BESIDE)
            .then(|| self.waiter.load(Ordering::Relaxed) as u16)
    }

    /// The pool's handle is gone.
    pub(crate) fn close(&self) {
        self.is_closing.store(true, Ordering::Release);
    }

    /// Whether the monitor has asked for a look.
    #[inline]
    pub fn is_called(&self) -> bool {
        self.called.load(Ordering::Relaxed)
    }

    /// Whether something is registered or a tick is active, and nobody waits for it.
    pub fn is_unattended(&self) -> bool {
        match self.state.load(Ordering::Relaxed) {
            WAITED_IN => false,
            WAITED_BESIDE => self.is_driver_used(),
            _ => self.is_used(),
        }
    }

    /// For the monitor: whether nobody looked since the last call although something is registered. Asks for a look.
    pub fn is_neglected(&self) -> bool {
        if !self.is_unattended() {
            return false;
        }
        self.called.store(true, Ordering::Relaxed);
        !self.looked.swap(false, Ordering::Relaxed)
    }

    /// Whether something is registered, or a tick is active.
    pub fn is_used(&self) -> bool {
        self.has_ticks() || self.is_driver_used()
    }

    /// Where the driver goes once it is made.
    pub fn slot(&self) -> &OnceLock<Arc<dyn Driver>> {
        &self.driver
    }

    /// A place for the driver's maker to keep it under its own type.
    pub fn extension(&self) -> &OnceLock<Box<dyn Any + Send + Sync>> {
        &self.extension
    }
}
