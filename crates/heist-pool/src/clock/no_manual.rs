//! In place of the clock that is moved by hand where a checker runs: there is none.

use crate::pool::Pool;
use heist_sync::StdArc as Arc;

/// There is none.
#[derive(Clone, Debug)]
pub enum ManualClock {}

/// There is none.
#[derive(Debug)]
pub enum Held {}

impl Held {
    /// Of nothing.
    pub fn while_called<R>(&self, _: impl FnOnce() -> R) -> R {
        match *self {}
    }
}

impl ManualClock {
    /// Nobody has made one.
    pub fn is_used() -> bool {
        false
    }

    /// Whatever is asked for: nobody asks.
    pub fn epoch<T>(&self) -> T {
        match *self {}
    }

    /// Nobody asks.
    pub fn now_ns(&self) -> u64 {
        match *self {}
    }

    /// Nobody tells.
    pub fn fall_asleep(&self) {
        match *self {}
    }

    /// Nobody tells.
    pub fn tend(&self) {
        match *self {}
    }

    /// Nobody calls.
    pub fn hold(&self) -> Held {
        match *self {}
    }

    pub(crate) fn drive(&self, _: &Arc<Pool>) {
        match *self {}
    }
}
