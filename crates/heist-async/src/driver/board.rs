//! What those who register timers and sockets, and the thread that waits for them, tell each other.

use super::wait::{Bell, NEVER, Told, Wait};
use crate::time::Clock;
use heist_pool::raw::pool::Pool;
use heist_sync::Parker;
use heist_sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{OnceLock, Weak};

#[derive(Debug)]
pub(crate) struct Board {
    pub wait: Wait,
    pub clock: Clock,
    pub parker: Parker,
    /// The reactor, once the first socket has opened it.
    pub reactor: OnceLock<std::sync::Arc<super::reactor::Reactor>>,
    /// Per shard, the tick at which it must be looked at; written under the shard's lock. Side by side rather than in the
    /// shards, because every turn reads them all and few timers change one.
    earliest: Box<[AtomicU64]>,
    /// The pool. Weak, because the pool has the driver, and with it the board.
    pool: PoolRef,
    /// Somebody has seen that the pool is closing, which it then stays.
    is_noted_closing: AtomicBool,
    /// The pool is the global one, which does not close.
    is_for_ever: bool,
}

/// A reference to the pool with a short `Debug`; the pool's own would be a page.
struct PoolRef(Weak<Pool>);

impl std::fmt::Debug for PoolRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pool")
    }
}

impl Board {
    pub fn new(pool: Weak<Pool>, shards: usize) -> Self {
        let (is_for_ever, clock) = match pool.upgrade() {
            Some(pool) => (heist_pool::raw::global::is(&pool), Clock::of(pool.queues().ticks().clock())),
            None => (false, Clock::new()),
        };
        Self {
            wait: Wait::new(),
            clock,
            parker: Parker::new(),
            reactor: OnceLock::new(),
            earliest: (0..shards).map(|_| AtomicU64::new(NEVER)).collect(),
            pool: PoolRef(pool),
            is_noted_closing: AtomicBool::new(false),
            is_for_ever,
        }
    }

    /// The ticks at which the shards must be looked at, one for each.
    pub fn shards(&self) -> &[AtomicU64] {
        &self.earliest
    }

    /// The first tick at which any shard must be looked at.
    pub fn earliest(&self) -> u64 {
        // ORDERING(DRIVER-E3): behind the fence of `Wait::begin` where it matters.
        self.earliest.iter().map(|tick| tick.load(Ordering::Relaxed)).min().unwrap_or(NEVER)
    }

    /// Tells whoever waits that a shard has to be looked at by `when`. The shard's tick says so already.
    pub fn hasten(&self, when: u64) {
        if self.clock.manual().is_some() {
            // ORDERING: the shard's tick before our look at the clock; partner: whoever moves that, and then looks at the shards.
            fence(Ordering::SeqCst);
            if self.clock.is_still_before(when) {
                return;
            }
        }
        match self.wait.hasten(when) {
            Told::InTime => {}
            Told::Ring(bell) => self.ring(bell),
            Told::Nobody => self.attend(),
        }
    }

    /// Makes the thread that waits, or the next that would, return from its turn.
    pub fn interrupt(&self) {
        if let Some(bell) = self.wait.interrupt() {
            self.ring(bell);
        }
    }

    pub fn ring(&self, bell: Bell) {
        match bell {
            Bell::Parker => self.parker.unpark(),
            Bell::Reactor => {
                // LIVENESS: whoever waits on this bell has seen the reactor, so it is there.
                if let Some(reactor) = self.reactor.get() {
                    reactor.wake();
                }
            }
        }
    }

    /// Whether the pool takes no more work from outside.
    pub fn is_closing(&self) -> bool {
        if self.is_for_ever || self.is_noted_closing() {
            return !self.is_for_ever;
        }
        let is_closing = self.pool.0.upgrade().is_some_and(|pool| pool.threads().is_closing());
        if is_closing {
            self.note_closing();
        }
        is_closing
    }

    /// Writes down that the pool is closing, before the caller asks the shards whether they are in use.
    pub fn note_closing(&self) {
        // ORDERING: for whoever takes a shard's lock after the caller has had it (`Shard::one_less`).
        self.is_noted_closing.store(true, Ordering::Relaxed);
    }

    /// Whether somebody has found that the pool is closing.
    pub fn is_noted_closing(&self) -> bool {
        self.is_noted_closing.load(Ordering::Relaxed)
    }

    /// Makes sure that some thread of the pool takes a turn.
    pub fn attend(&self) {
        // LIVENESS: without a pool nobody waits, and the driver's end wakes everything that was registered.
        if let Some(pool) = self.pool.0.upgrade() {
            pool.driver_waiter().attend();
        }
    }
}
