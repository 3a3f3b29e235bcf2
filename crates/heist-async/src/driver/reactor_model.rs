//! In place of the reactor where a checker runs: its waker alone.

use heist_sync::Parker;

#[derive(Debug, Default)]
pub(crate) struct Reactor(Parker);

impl Reactor {
    pub fn park(&self) {
        self.0.park();
    }

    pub fn wake(&self) {
        self.0.unpark();
    }
}
