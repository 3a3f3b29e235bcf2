//! Who looks after sockets and timers.
//!
//! A pool has at most one [`Driver`], made when it is first needed. Whoever takes a turn in it has the *seat*: for a moment
//! between two tasks, or asleep in it, when it has nothing else to do. See the README of `tasks` for why something that becomes
//! ready is always seen.

use crate::driver::{Driver, Patience};
use crate::place::For;
use crate::pool::Pool;
use heist_sync::StdArc as Arc;
use heist_sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
use heist_sync::planted::is_planted;
use std::any::Any;
use std::sync::OnceLock;

#[cfg(all(test, heist_loom))]
#[path = "attend_loom.rs"]
mod loom;

const EMPTY: u32 = 0;
/// Somebody takes a turn without waiting.
const PASSING: u32 = 1;
/// The thread with number `n` sleeps in the driver: `n + ASLEEP`.
const ASLEEP: u32 = 2;

/// The pool's side of its driver.
#[derive(Default)]
pub struct Attendance {
    driver: OnceLock<Arc<dyn Driver>>,
    /// The driver again, as its maker knows it.
    extension: OnceLock<Box<dyn Any + Send + Sync>>,
    seat: AtomicU32,
    /// Somebody has taken a turn since the monitor looked.
    looked: AtomicBool,
    /// The monitor wants a turn to be taken at the next opportunity.
    called: AtomicBool,
}

/// The seat; given up when dropped.
pub struct Seated<'a> {
    desk: &'a Attendance,
    driver: &'a dyn Driver,
}

impl Seated<'_> {
    /// Takes the turn.
    pub fn turn(&self, patience: Patience) {
        self.driver.turn(patience);
    }
}

impl Drop for Seated<'_> {
    fn drop(&mut self) {
        // ORDERING: release, with the acquire of the next one to sit: turns do not overlap.
        self.desk.seat.store(EMPTY, Ordering::Release);
    }
}

impl Attendance {
    fn used(&self) -> Option<&dyn Driver> {
        self.driver.get().map(|driver| &**driver).filter(|driver| driver.is_used())
    }

    fn sit(&self, how: u32) -> Option<Seated<'_>> {
        let driver = self.used()?;
        if self.seat.load(Ordering::Relaxed) != EMPTY {
            return None;
        }
        // ORDERING: acquire, with the release in `drop`.
        self.seat.compare_exchange(EMPTY, how, Ordering::Acquire, Ordering::Relaxed).ok()?;
        if !self.looked.load(Ordering::Relaxed) {
            self.looked.store(true, Ordering::Relaxed);
        }
        if self.called.load(Ordering::Relaxed) {
            self.called.store(false, Ordering::Relaxed);
        }
        Some(Seated { desk: self, driver })
    }

    /// A seat to take a turn without waiting, if there is something to look after and nobody has it.
    pub fn pass(&self) -> Option<Seated<'_>> {
        self.sit(PASSING)
    }

    /// A seat for thread `id` to sleep in. It must look once more for what would have woken it on its parker.
    pub fn lie_in(&self, id: u16) -> Option<Seated<'_>> {
        let seated = self.sit(u32::from(id) + ASLEEP)?;
        // ORDERING(E11): our seat before our look at what we were given; partner: `rouse`.
        if !is_planted("attend_unfenced") {
            fence(Ordering::SeqCst);
        }
        Some(seated)
    }

    /// Something was written for thread `id`, which may sleep in the driver rather than on its parker.
    pub fn rouse(&self, id: u16) {
        let Some(driver) = self.driver.get() else { return };
        // ORDERING(E11): what it is to see before our look at the seat; partner: `lie_in`.
        fence(Ordering::SeqCst);
        if self.seat.load(Ordering::Relaxed) == u32::from(id) + ASLEEP {
            driver.interrupt();
        }
    }

    /// Whether the monitor has asked for a turn.
    #[inline]
    pub fn is_called(&self) -> bool {
        self.called.load(Ordering::Relaxed)
    }

    /// Whether something is registered and nobody sleeps in the driver.
    pub fn is_unattended(&self) -> bool {
        self.used().is_some() && self.seat.load(Ordering::Relaxed) < ASLEEP
    }

    /// For the monitor: whether nobody looked since the last call although something is registered. Asks for a turn.
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
}

impl Pool {
    /// Where the driver goes once it is made.
    pub fn driver_slot(&self) -> &OnceLock<Arc<dyn Driver>> {
        &self.attendance().driver
    }

    /// A place for the driver's maker to keep it under its own type.
    pub fn extension(&self) -> &OnceLock<Box<dyn Any + Send + Sync>> {
        &self.attendance().extension
    }

    /// Something was registered with the driver. If nobody sleeps in it, somebody will look.
    pub fn attend(&self) {
        // ORDERING(E9): the registration before the look at seat and counters; partner: a thread that parks announces
        // itself, fences, and then asks whether the driver is used.
        fence(Ordering::SeqCst);
        if self.attendance().is_unattended() {
            // A thread that is woken finds nothing to run, and sleeps in the driver. If all are busy, they look between two
            // tasks, and the monitor sees to it that they do.
            if !is_planted("attend_unannounced") {
                self.announce_for(For::Task);
            }
            self.watch_tasks();
        }
    }
}
