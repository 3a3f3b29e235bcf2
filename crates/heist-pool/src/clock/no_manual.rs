//! In place of the clock that is moved by hand where a checker runs: there is none.

use crate::pool::Pool;
use heist_sync::StdArc as Arc;

#[derive(Clone, Debug)]
enum Never {}

/// There is none.
#[derive(Clone, Debug)]
pub struct ManualClock(Never);

/// There is none.
#[derive(Debug)]
pub struct Held(Never);

impl Held {
    /// Of nothing.
    pub fn while_called<R>(&self, _: impl FnOnce() -> R) -> R {
        match self.0 {}
    }
}

impl ManualClock {
    /// Nobody has made one.
    pub fn is_used() -> bool {
        false
    }

    /// Whatever is asked for: nobody asks.
    pub fn epoch<T>(&self) -> T {
        match self.0 {}
    }

    /// Nobody asks.
    pub fn now_ns(&self) -> u64 {
        match self.0 {}
    }

    /// Nobody tells.
    pub fn fall_asleep(&self) {
        match self.0 {}
    }

    /// Nobody tells.
    pub fn tend(&self) {
        match self.0 {}
    }

    /// Nobody calls.
    pub fn hold(&self) -> Held {
        match self.0 {}
    }

    pub(crate) fn drive(&self, _: &Arc<Pool>) {
        match self.0 {}
    }
}
