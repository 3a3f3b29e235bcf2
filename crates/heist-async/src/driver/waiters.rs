//! Who waits for one direction of a socket.

use super::batch::{self, Batch};
use std::task::Waker;

/// Tells the futures that wait for one socket apart, so that each takes back only its own waker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ticket(u64);

#[derive(Debug)]
struct Waiting {
    /// `None` for a poll function, which cannot say when it does not wait any more.
    ticket: Option<Ticket>,
    waker: Waker,
}

/// Nearly always at most one, so that one has a place here.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    first: Option<Waiting>,
    rest: Vec<Waiting>,
    tickets: u64,
}

impl Waiters {
    pub fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(self.tickets)
    }

    /// Adds a waker, in place of the one that the ticket stands for or that wakes the same task. What comes back is to be
    /// dropped without the lock.
    #[must_use]
    pub fn add(&mut self, ticket: Option<Ticket>, waker: Waker) -> Option<Waker> {
        let same = |w: &&mut Waiting| match ticket {
            Some(_) => w.ticket == ticket,
            None => w.ticket.is_none() && w.waker.will_wake(&waker),
        };
        if let Some(waiting) = self.first.iter_mut().chain(&mut self.rest).find(same) {
            return Some(std::mem::replace(&mut waiting.waker, waker));
        }
        let waiting = Waiting { ticket, waker };
        if self.first.is_none() {
            self.first = Some(waiting);
        } else {
            self.rest.push(waiting);
        }
        None
    }

    #[must_use]
    pub fn remove(&mut self, ticket: Ticket) -> Option<Waker> {
        if self.first.as_ref().is_some_and(|w| w.ticket == Some(ticket)) {
            return self.first.take().map(|w| w.waker);
        }
        let at = self.rest.iter().position(|w| w.ticket == Some(ticket))?;
        Some(self.rest.remove(at).waker)
    }

    /// Moves wakers into the batch. True if it was too small.
    pub fn drain(&mut self, batch: &mut Batch) -> bool {
        if batch.room() > 0
            && let Some(waiting) = self.first.take()
        {
            batch.push(waiting.waker);
        }
        let count = self.rest.len().min(batch.room());
        self.rest.drain(..count).for_each(|w| batch.push(w.waker));
        self.first.is_some() || !self.rest.is_empty()
    }
}

impl Drop for Waiters {
    /// In a turn of the driver, which must not unwind if a waker's drop panics.
    fn drop(&mut self) {
        let left = self.first.take().into_iter().chain(self.rest.drain(..));
        left.for_each(|w| batch::let_go(w.waker));
    }
}
