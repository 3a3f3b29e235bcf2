//! Who looks after sockets and timers.
//!
//! A pool has at most one [`Driver`], made when it is first needed. The thread that looks at it, or waits in it, has the *driver
//! lock*: for a moment between two tasks, or asleep, when it has nothing else to do. See the README of `queues` for why something
//! that becomes ready is always seen.

use crate::driver::{Driver, Patience};
use heist_sync::atomic::{AtomicBool, AtomicU32, Ordering};
use heist_sync::{Interrupt, StdArc as Arc};
use std::any::Any;
use std::sync::{OnceLock, Weak};

#[cfg(all(test, heist_loom))]
#[path = "driver_lock_loom.rs"]
mod loom;

const FREE: u32 = 0;
/// Somebody looks without waiting.
const POLLED: u32 = 1;
/// Somebody waits.
const WAITED_IN: u32 = 2;

/// The pool's side of its driver.
#[derive(Default)]
pub struct DriverLock {
    driver: OnceLock<Arc<dyn Driver>>,
    /// The driver again, as its maker knows it.
    extension: OnceLock<Box<dyn Any + Send + Sync>>,
    state: AtomicU32,
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
    driver: &'a dyn Driver,
    patience: Patience,
}

impl Locked<'_> {
    /// Takes a turn of the driver.
    pub fn turn(&self) {
        self.driver.turn(self.patience);
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // ORDERING: release, with the acquire of the next one: turns do not overlap.
        self.lock.state.store(FREE, Ordering::Release);
    }
}

impl DriverLock {
    fn used(&self) -> Option<&dyn Driver> {
        let driver = self.driver.get().map(|driver| &**driver)?;
        // ORDERING: acquire, with the release in `close`: what the pool did before it was closed.
        driver.is_used(self.is_closing.load(Ordering::Acquire)).then_some(driver)
    }

    /// The lock, for a turn with that patience, if there is something to look after and nobody has it.
    pub fn try_lock(&self, patience: Patience) -> Option<Locked<'_>> {
        let driver = self.used()?;
        if self.state.load(Ordering::Relaxed) != FREE {
            return None;
        }
        let state = if patience == Patience::Forever { WAITED_IN } else { POLLED };
        // ORDERING: acquire, with the release in `drop`.
        self.state.compare_exchange(FREE, state, Ordering::Acquire, Ordering::Relaxed).ok()?;
        if !self.looked.load(Ordering::Relaxed) {
            self.looked.store(true, Ordering::Relaxed);
        }
        if self.called.load(Ordering::Relaxed) {
            self.called.store(false, Ordering::Relaxed);
        }
        Some(Locked { lock: self, driver, patience })
    }

    /// What ends the wait of a thread in the driver.
    pub fn interrupter(&self) -> Weak<dyn Interrupt> {
        let driver = self.driver.get().expect("a thread waits only in a driver that is there");
        let driver: Arc<dyn Interrupt> = Arc::clone(driver) as Arc<dyn Interrupt>;
        Arc::downgrade(&driver)
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

    /// Whether something is registered and nobody waits in the driver.
    pub fn is_unattended(&self) -> bool {
        self.used().is_some() && self.state.load(Ordering::Relaxed) != WAITED_IN
    }

    /// For the monitor: whether nobody looked since the last call although something is registered. Asks for a look.
    pub fn is_neglected(&self) -> bool {
        if !self.is_unattended() {
            return false;
        }
        self.called.store(true, Ordering::Relaxed);
        !self.looked.swap(false, Ordering::Relaxed)
    }

    /// Whether something is registered.
    pub fn is_used(&self) -> bool {
        self.used().is_some()
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
