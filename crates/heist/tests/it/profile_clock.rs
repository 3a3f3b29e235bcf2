//! A clock for profiles that counts what the test says is work, each thread for itself.

use heist::profile::{Clock, Profile};
use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

thread_local!(static WORK: Cell<u64> = const { Cell::new(0) });

struct Counted {
    burden: u64,
}

impl Clock for Counted {
    fn now(&self) -> u64 {
        WORK.get()
    }

    fn burden(&self) -> u64 {
        self.burden
    }
}

/// The calling thread works for so long.
pub fn work(ns: u64) {
    WORK.set(WORK.get() + ns);
}

/// No other test of this process takes a profile meanwhile: there is one clock.
pub struct Alone(#[allow(dead_code, reason = "held")] MutexGuard<'static, ()>);

impl Alone {
    pub fn here() -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        Self(ALONE.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A profile by this clock, where no half costs anything.
pub fn profiled<R>(f: impl FnOnce() -> R) -> (R, Profile) {
    heist::profile::profile_with_clock(&Counted { burden: 0 }, f)
}

/// A profile by this clock, where each half that another thread takes costs 1,000.
pub fn burdened<R>(f: impl FnOnce() -> R) -> (R, Profile) {
    heist::profile::profile_with_clock(&Counted { burden: 1_000 }, f)
}
