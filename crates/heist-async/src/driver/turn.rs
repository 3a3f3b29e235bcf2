//! The driver as the pool sees it: one turn after the other.

use super::board::Board;
use super::reactor::Reactor;
use super::wait::{Bell, NEVER};
use crate::task::turn;
use crate::time::{Shard, Timers};
use heist_pool::raw::driver::Patience;
use heist_pool::raw::global;
use heist_pool::raw::pool::Pool;
use heist_pool::raw::worker::Worker;
use heist_sync::atomic::{Ordering, fence};
use heist_sync::{Mutex, lock};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Longer waits are taken in parts: not every system can count centuries.
const LONGEST: Duration = Duration::from_secs(1 << 31);

/// The timers and sockets of one pool.
#[derive(Debug)]
pub(crate) struct Driver {
    board: Arc<Board>,
    timers: Timers,
    /// Held while the reactor is opened.
    opening: Mutex<()>,
}

/// Registers something with the driver of the pool whose task or future the calling thread polls, or else of the thread's own, or
/// else of the global one. If the pool turns out to be closing, its threads may have left without having seen it: then it is
/// registered with the global pool's driver, and `attempt` gets what the first attempt has made, to take it back.
#[inline]
pub(crate) fn register<R>(mut attempt: impl FnMut(&Driver, Option<R>) -> R) -> R {
    match Worker::current() {
        // LIVENESS: a thread of the pool runs the task, so the pool is not over, and sees what is registered when it goes to sleep.
        Some(worker) if turn::is_in_task() && !turn::is_elsewhere(worker.pool()) => {
            attempt(Driver::of(worker.pool()), None)
        }
        Some(worker) if !turn::is_elsewhere(worker.pool()) => register_from_outside(worker.pool(), attempt),
        // Rare enough for a count.
        _ => register_from_outside(&turn::pool(), attempt),
    }
}

/// The calling thread is perhaps none of those that look after the pool's driver.
fn register_from_outside<R>(pool: &Arc<Pool>, mut attempt: impl FnMut(&Driver, Option<R>) -> R) -> R {
    let mut made = None;
    if !pool.threads().is_closing() {
        let first = attempt(Driver::of(pool), None);
        // ORDERING(DRIVER-E8): what was registered before our look at the pool; partner: `is_used`. If it has not seen this, we
        // see that the pool is closing.
        fence(Ordering::SeqCst);
        if !pool.threads().is_closing() {
            return first;
        }
        made = Some(first);
    }
    attempt(Driver::of(global::pool()), made)
}

impl Driver {
    /// The pool's, made on first use.
    #[inline]
    fn of(pool: &Arc<Pool>) -> &Driver {
        let any = pool.driver().extension().get_or_init(|| {
            let driver = Arc::new(Self::new(pool));
            let slot: Arc<dyn heist_pool::raw::driver::Driver> = driver.clone();
            assert!(pool.driver().slot().set(slot).is_ok(), "a pool has one driver");
            Box::new(driver)
        });
        let driver: Option<&Arc<Self>> = any.downcast_ref();
        driver.expect("only the driver's maker keeps something there")
    }

    fn new(pool: &Arc<Pool>) -> Self {
        // In one, timers that are due at the same time fire in the order in which they were set.
        let is_manual = pool.queues().ticks().clock().manual().is_some();
        let shards = if is_manual { 1 } else { Timers::shards_for(pool.parallelism()) };
        Self {
            board: Arc::new(Board::new(Arc::downgrade(pool), shards)),
            timers: Timers::new(shards),
            opening: Mutex::new(()),
        }
    }

    /// Where the calling thread's timers go.
    #[inline]
    pub fn shard(&self) -> &'static Shard {
        self.timers.here(&self.board)
    }

    /// The reactor, opened on first use. If that fails, the next socket tries again; timers work without it.
    pub fn reactor(&self) -> io::Result<&Arc<Reactor>> {
        let cell = &self.board.reactor;
        if let Some(reactor) = cell.get() {
            return Ok(reactor);
        }
        let _guard = lock(&self.opening);
        if cell.get().is_none() {
            let mut opened = Some(Arc::new(Reactor::open(Arc::downgrade(&self.board))?));
            cell.get_or_init(|| opened.take().expect("called once"));
            // LIVENESS: a thread that waits on the parker would not see the reactor's events.
            if let Some(bell) = self.board.wait.reactor_opened() {
                self.board.ring(bell);
            }
        }
        Ok(cell.get().expect("set under this lock"))
    }

    /// Waits as announced, and wakes the tasks of ready sockets.
    fn wait(&self, bell: Bell, until: u64, at_most: Option<Duration>) {
        if let Some(manual) = self.board.clock.manual()
            && until == NEVER
        {
            // LIVENESS: whoever moves the clock to what is due wakes somebody for it, perhaps this thread.
            manual.tend();
        }
        // A time-out that is already over makes it a look without a wait.
        let timer = (until < NEVER).then(|| self.board.clock.until(until).min(LONGEST));
        let timeout = timer.into_iter().chain(at_most).min();
        match (bell, self.board.reactor.get()) {
            (Bell::Reactor, Some(reactor)) => reactor.turn(timeout, || self.board.wait.end()),
            // LIVENESS: the parker is what we said; whoever has news rings it.
            _ => {
                match timeout {
                    None => self.board.parker.park(),
                    Some(timeout) if timeout.is_zero() => {}
                    Some(timeout) => {
                        self.board.parker.park_timeout(timeout);
                    }
                }
                self.board.wait.end();
            }
        }
    }
}

impl heist_pool::raw::driver::Driver for Driver {
    fn turn(&self, patience: Patience) {
        let begin = || match self.board.clock.manual() {
            None => self.board.wait.begin(|| self.board.earliest()),
            Some(manual) => {
                manual.fall_asleep();
                self.board.wait.begin(|| match self.board.earliest() {
                    tick if self.board.clock.is_still_before(tick) => NEVER,
                    tick => tick,
                })
            }
        };
        let (waits, at_most) = match patience {
            Patience::None => (None, None),
            Patience::Forever => (begin(), None),
            Patience::AtMost(time) => (begin(), Some(time)),
        };
        match (waits, self.board.reactor.get()) {
            (Some((bell, until)), _) => self.wait(bell, until, at_most),
            (None, Some(reactor)) => reactor.turn(Some(Duration::ZERO), || ()),
            (None, None) => {}
        }
        if self.board.earliest() < NEVER {
            self.timers.fire(&self.board, self.board.clock.now());
        }
    }

    fn is_used(&self, is_closing: bool) -> bool {
        if is_closing {
            self.board.note_closing();
            // ORDERING(DRIVER-E8): our look at the pool before our look at what is registered; partner: `register_from_outside`.
            fence(Ordering::SeqCst);
        }
        let has_sockets = self.board.reactor.get().is_some_and(|reactor| reactor.is_used());
        // A closing pool must not wait for timers that were cancelled. Any other may take a turn too many.
        has_sockets || if is_closing { self.timers.is_used() } else { self.board.earliest() < NEVER }
    }

    fn is_asleep(&self) -> bool {
        self.board.wait.is_awaited()
    }

    fn next_timer_ns(&self) -> u64 {
        Some(self.board.earliest()).filter(|&tick| tick < NEVER).unwrap_or(u64::MAX)
    }
}

impl heist_sync::Interrupt for Driver {
    fn interrupt(&self) {
        self.board.interrupt();
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Nobody takes a turn any more. Whoever still waits learns it now, and looks for another driver or fails.
        self.timers.close();
        if let Some(reactor) = self.board.reactor.get() {
            reactor.close();
        }
    }
}
