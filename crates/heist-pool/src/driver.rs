//! What the pool asks of whoever watches sockets and timers for it.

/// How long a turn of the driver may wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Patience {
    /// Not at all.
    None,
    /// Until something is ready, a timer is due, or it is interrupted.
    Forever,
}

/// Readiness and timers. One thread at a time takes a turn; the pool sees to that.
pub trait Driver: Send + Sync {
    /// Wakes the tasks whose socket is ready or whose timer is due. With patience it first waits for one of those, or for
    /// [`interrupt`](Self::interrupt). An interrupt that came before the turn began makes it return at once.
    fn turn(&self, patience: Patience);

    /// Makes the turn that waits, or else the next one with patience, return.
    fn interrupt(&self);

    /// Whether somebody has to attend: a socket is registered or a timer is set.
    fn is_used(&self) -> bool;
}
