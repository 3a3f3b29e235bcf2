//! One of the wheels, with its lock.

use super::wheel::{Key, Moved, Wheel};
use crate::driver::batch::{self, Batch};
use crate::driver::board::Board;
use crate::driver::wait::NEVER;
use heist_sync::atomic::{AtomicU64, Ordering};
use heist_sync::{Mutex, lock};
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

#[derive(Debug)]
pub(crate) struct Shard {
    wheel: Mutex<Wheel>,
    board: Arc<Board>,
    index: usize,
}

/// What became of a timer that was to be set.
#[derive(Debug)]
pub(crate) enum Set {
    Waits(Key),
    /// Its deadline has passed.
    Due,
    /// The driver is gone; another one must be asked.
    Closed,
}

impl Shard {
    /// The shard whose earliest tick is at `index` of the board.
    pub fn new(board: &Arc<Board>, index: usize) -> Self {
        Self { wheel: Mutex::new(Wheel::new(0)), board: Arc::clone(board), index }
    }

    /// Sets a timer.
    #[inline]
    pub fn insert(&self, deadline: Instant, waker: Waker) -> Set {
        self.insert_at(self.board.clock.due(deadline), waker)
    }

    pub fn insert_at(&self, when: u64, waker: Waker) -> Set {
        let mut wheel = lock(&self.wheel);
        if self.board.is_closed() {
            drop(wheel);
            return Set::Closed;
        }
        let inserted = wheel.insert(when, waker);
        let is_earliest = inserted.is_ok() && self.lower(when);
        drop(wheel);
        if is_earliest {
            self.board.hasten(when);
        }
        match inserted {
            Ok(key) => Set::Waits(key),
            Err(_) => Set::Due,
        }
    }

    /// Takes a timer back, fired or not.
    #[inline]
    pub fn remove(&self, key: Key) {
        let waker = lock(&self.wheel).remove(key);
        // Here, without the lock: a waker's drop is user code.
        drop(waker);
    }

    /// Gives a timer another waker. False if it has fired.
    pub fn replace(&self, key: &Key, waker: Waker) -> bool {
        let replaced = lock(&self.wheel).replace(key, waker);
        replaced.is_ok()
    }

    /// Gives a timer another deadline. False if it had fired before.
    #[inline]
    pub fn reset(&self, key: &Key, deadline: Instant) -> bool {
        self.reset_at(key, self.board.clock.due(deadline))
    }

    pub fn reset_at(&self, key: &Key, when: u64) -> bool {
        let mut wheel = lock(&self.wheel);
        let moved = wheel.reset(key, when);
        let is_earliest = matches!(moved, Moved::Set) && self.lower(when);
        drop(wheel);
        if is_earliest {
            self.board.hasten(when);
        }
        match moved {
            Moved::Set => true,
            Moved::Due(waker) => {
                batch::wake(waker);
                true
            }
            Moved::Fired => false,
        }
    }

    /// Wakes what is due.
    pub fn fire(&self, now: u64) {
        self.drain(|wheel| {
            wheel.advance(now);
            wheel.pop_due()
        });
    }

    /// Wakes everything. The board is closed, so nothing comes after.
    pub fn fire_all(&self) {
        self.drain(Wheel::pop_any);
    }

    fn drain(&self, mut pop: impl FnMut(&mut Wheel) -> Option<Waker>) {
        let mut batch = Batch::new();
        let mut is_done = false;
        while !is_done {
            let mut wheel = lock(&self.wheel);
            while !is_done && !batch.is_full() {
                match pop(&mut wheel) {
                    Some(waker) => batch.push(waker),
                    None => is_done = true,
                }
            }
            if is_done {
                // ORDERING: the next look is this thread's, or comes after its turn.
                self.earliest().store(wheel.earliest().unwrap_or(NEVER), Ordering::Relaxed);
            }
            drop(wheel);
            batch.wake();
        }
    }

    /// Whether the driver that looked after it is gone.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.board.is_closed()
    }

    /// Under the lock. True if `when` is the earliest now.
    #[inline]
    fn lower(&self, when: u64) -> bool {
        let earliest = self.earliest();
        // ORDERING(E3): written under the lock only; the fence that matters is in `Wait::hasten`.
        let is_lower = when < earliest.load(Ordering::Relaxed);
        if is_lower {
            earliest.store(when, Ordering::Relaxed);
        }
        is_lower
    }

    fn earliest(&self) -> &AtomicU64 {
        &self.board.shards()[self.index]
    }
}
