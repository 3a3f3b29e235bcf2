//! Wakers that are woken together, outside of all locks.

use heist_pool::raw::job;
use std::task::Waker;

/// Large enough that a lock is seldom taken twice, small enough for the stack.
const MOST: usize = 32;

#[derive(Debug)]
pub(crate) struct Batch {
    wakers: [Option<Waker>; MOST],
    len: usize,
}

impl Batch {
    pub fn new() -> Self {
        Self { wakers: [const { None }; MOST], len: 0 }
    }

    pub fn is_full(&self) -> bool {
        self.len == MOST
    }

    /// How many more it takes.
    pub fn room(&self) -> usize {
        MOST - self.len
    }

    /// # Panics
    /// If it is full.
    pub fn push(&mut self, waker: Waker) {
        self.wakers[self.len] = Some(waker);
        self.len += 1;
    }

    /// Wakes all and is empty again. A waker that panics costs only itself its wake-up.
    pub fn wake(&mut self) {
        for waker in &mut self.wakers[..self.len] {
            if let Some(waker) = waker.take() {
                wake(waker);
            }
        }
        self.len = 0;
    }
}

/// Drops one, as [`wake`] wakes one.
pub(super) fn let_go(waker: Waker) {
    if let Err(payload) = job::halt_unwinding(|| drop(waker)) {
        job::discard(payload);
    }
}

/// Wakes one; wakers of other executors may panic, and the caller is no place for that.
pub(crate) fn wake(waker: Waker) {
    if let Err(payload) = job::halt_unwinding(|| waker.wake()) {
        job::discard(payload);
    }
}
