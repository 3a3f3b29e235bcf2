//! One socket as the reactor knows it: what is known about it, and who waits for more.

use super::batch::Batch;
use super::readiness::{Direction, Facts, Readiness};
pub(crate) use super::waiters::Ticket;
use super::waiters::Waiters;
use heist_sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use heist_sync::planted::is_planted;
use heist_sync::{Mutex, lock};
use std::task::{Context, Poll};

#[derive(Debug)]
pub(crate) struct Source {
    readiness: AtomicU32,
    waiters: Mutex<[Waiters; 2]>,
    /// Where the reactor keeps it; touched under the reactor's lock only.
    pub(super) index: AtomicUsize,
}

impl Source {
    /// A socket about which nothing is known but `facts`.
    pub fn new(facts: Facts) -> Self {
        Self {
            readiness: AtomicU32::new(Readiness::new(facts).0),
            waiters: Mutex::new(Default::default()),
            index: AtomicUsize::new(usize::MAX),
        }
    }

    /// What is known now.
    #[inline]
    pub fn readiness(&self) -> Readiness {
        // ORDERING(DRIVER-E5): acquire, with `tell`. What the system knows about the socket is ordered by the system.
        Readiness(self.readiness.load(Ordering::Acquire))
    }

    /// An event: writes down what is new, then wakes those who wait for it.
    pub fn tell(&self, facts: Facts) {
        let mut now = self.readiness();
        // ORDERING(DRIVER-E5): release, with the loads of those who wait.
        while let Err(other) = self.readiness.compare_exchange_weak(
            now.0,
            now.with(facts).0,
            Ordering::AcqRel,
            Ordering::Acquire,
        ) {
            now = Readiness(other);
        }
        let mut batch = Batch::new();
        let mut is_left = true;
        while is_left {
            is_left = false;
            // LIVENESS(DRIVER-E6): the facts were written before we take the lock. Who waits looks again under the lock: either it
            // sees them, or we find it here.
            let mut waiters = lock(&self.waiters);
            for direction in [Direction::Read, Direction::Write] {
                if facts.intersects(Facts::for_direction(direction)) {
                    is_left |= waiters[direction as usize].drain(&mut batch);
                }
            }
            drop(waiters);
            batch.wake();
        }
    }

    /// Waits until an operation in this direction may be tried. A future with a `ticket` takes it back with
    /// [`forget`](Self::forget); it is made when it is first needed.
    #[inline]
    pub fn poll_ready(
        &self,
        direction: Direction,
        cx: &mut Context<'_>,
        ticket: Option<&mut Option<Ticket>>,
    ) -> Poll<Readiness> {
        let now = self.readiness();
        if now.allows(direction) { Poll::Ready(now) } else { self.wait(direction, cx, ticket) }
    }

    fn wait(
        &self,
        direction: Direction,
        cx: &mut Context<'_>,
        ticket: Option<&mut Option<Ticket>>,
    ) -> Poll<Readiness> {
        // Before the lock: a waker's clone is user code.
        let waker = cx.waker().clone();
        let mut waiters = lock(&self.waiters);
        // LIVENESS(DRIVER-E6): see `tell`.
        if !is_planted("driver_source_one_look") {
            let now = self.readiness();
            if now.allows(direction) {
                drop(waiters);
                return Poll::Ready(now);
            }
        }
        let waiters_here = &mut waiters[direction as usize];
        let ticket = ticket.map(|ticket| *ticket.get_or_insert_with(|| waiters_here.ticket()));
        let replaced = waiters_here.add(ticket, waker);
        drop(waiters);
        drop(replaced);
        Poll::Pending
    }

    /// Nobody waits any more, because the socket is gone. Only wakers that came without a ticket are left by then.
    pub fn forget_all(&self) {
        let waiters = std::mem::take(&mut *lock(&self.waiters));
        drop(waiters);
    }

    /// The future with this ticket waits no longer.
    pub fn forget(&self, direction: Direction, ticket: Ticket) {
        let waker = lock(&self.waiters)[direction as usize].remove(ticket);
        drop(waker);
    }

    /// An operation that had seen `seen` has found these not to hold.
    #[inline]
    pub fn clear(&self, facts: Facts, seen: Readiness) {
        let mut now = self.readiness();
        while let Some(cleared) = now.without(facts, seen) {
            // ORDERING: as in `tell`. The operation was a system call and is not moved behind this.
            match self.readiness.compare_exchange_weak(now.0, cleared.0, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => return,
                Err(other) => now = Readiness(other),
            }
        }
    }
}
