//! What stands for the reactor where the feature `net` is off: there are no sockets, so nobody ever opens one, and the thread that
//! waits for timers does so on its parker.

use super::board::Board;
use std::io;
use std::sync::Weak;
use std::time::Duration;

/// There is none.
#[derive(Debug)]
pub(crate) enum Reactor {}

impl Reactor {
    pub fn open(_board: Weak<Board>) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn turn(&self, _timeout: Option<Duration>, _woken: impl FnOnce()) {
        match *self {}
    }

    pub fn wake(&self) {
        match *self {}
    }

    pub fn is_used(&self) -> bool {
        match *self {}
    }

    pub fn close(&self) {
        match *self {}
    }
}
