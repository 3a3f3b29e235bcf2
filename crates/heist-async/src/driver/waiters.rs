//! Who waits for one direction of a socket.

use super::batch::{self, Batch};
use std::task::Waker;

/// Tells the futures that wait for one socket apart, so that each takes back only its own waker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ticket(u64);

#[derive(Debug)]
struct Waiting {
    ticket: Ticket,
    waker: Waker,
}

/// The wakers of those who wait. Nearly always at most one future waits, so one has a place here.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    /// The waker of whoever called a poll function last. Such a function cannot say who it is, nor when it waits no longer, so with more than
    /// one place they would be filled with wakers of tasks that are long gone.
    polled: Option<Waker>,
    first: Option<Waiting>,
    rest: Vec<Waiting>,
    tickets: u64,
}

impl Waiters {
    pub fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(self.tickets)
    }

    /// Adds a waker, in place of the one that the ticket stands for, or, without a ticket, of the last one that came without. What
    /// comes back is to be dropped without the lock.
    #[must_use]
    pub fn add(&mut self, ticket: Option<Ticket>, waker: Waker) -> Option<Waker> {
        let Some(ticket) = ticket else { return self.polled.replace(waker) };
        if let Some(waiting) = self.first.iter_mut().chain(&mut self.rest).find(|w| w.ticket == ticket) {
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
        if self.first.as_ref().is_some_and(|w| w.ticket == ticket) {
            return self.first.take().map(|w| w.waker);
        }
        let at = self.rest.iter().position(|w| w.ticket == ticket)?;
        Some(self.rest.remove(at).waker)
    }

    /// Moves wakers into the batch. Returns whether some are left, because it was too small.
    pub fn drain(&mut self, batch: &mut Batch) -> bool {
        if batch.room() > 0
            && let Some(waker) = self.polled.take()
        {
            batch.push(waker);
        }
        if batch.room() > 0
            && let Some(waiting) = self.first.take()
        {
            batch.push(waiting.waker);
        }
        let count = self.rest.len().min(batch.room());
        self.rest.drain(..count).for_each(|w| batch.push(w.waker));
        self.polled.is_some() || self.first.is_some() || !self.rest.is_empty()
    }
}

impl Drop for Waiters {
    /// This happens while a socket is dropped, which must not unwind if a waker's drop panics.
    fn drop(&mut self) {
        let futures = self.first.take().into_iter().chain(self.rest.drain(..)).map(|w| w.waker);
        self.polled.take().into_iter().chain(futures).for_each(batch::let_go);
    }
}
