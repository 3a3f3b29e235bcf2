//! What the pool asks of whoever watches sockets and timers for it.

use heist_sync::Interrupt;
use std::time::Duration;

/// How long a turn of the driver may wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Patience {
    /// Not at all.
    None,
    /// Until something is ready, a timer is due, or it is interrupted.
    Forever,
    /// As `Forever`, but for this long at most.
    AtMost(Duration),
}

/// Readiness and timers. One thread at a time takes a turn; the pool sees to that. [`Interrupt::interrupt`] makes the turn that
/// waits, or else the next one that would, return.
pub trait Driver: Interrupt {
    /// Wakes the tasks whose socket is ready or whose timer is due. With patience it first waits for one of those, or for
    /// [`interrupt`](Interrupt::interrupt). An interrupt that came before the turn began makes it return at once.
    fn turn(&self, patience: Patience);

    /// Whether somebody has to attend: a socket is registered or a timer is set.
    /// `is_closing`: the pool ends as soon as nothing is; the answer must be exact then.
    fn is_used(&self, is_closing: bool) -> bool;

    /// Whether a thread waits in a turn, and nobody has interrupted it. Asked where time is virtual.
    fn is_asleep(&self) -> bool {
        false
    }

    /// When its first timer is due, in the pool's time. Asked where time is virtual.
    fn next_timer_ns(&self) -> u64 {
        u64::MAX
    }
}
