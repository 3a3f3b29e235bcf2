//! One of the wheels, with its lock.
//!
//! A shard is leased by a driver, and is never freed: a timer points to it without a count that all timers would share. When its
//! driver has gone and the last of its timers too, another driver may have it, so there are as many as were ever in use at once.

use super::clock::Clock;
use super::spare;
use super::wheel::{Key, Moved, Wheel};
use crate::driver::batch::{self, Batch};
use crate::driver::board::Board;
use crate::driver::wait::NEVER;
use heist_sync::atomic::{AtomicBool, Ordering};
use heist_sync::process::Origin;
use heist_sync::{Mutex, MutexGuard, lock};
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

/// Aligned, so that two shards' locks do not share a line, nor a pair of lines that is fetched together.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Shard {
    state: Mutex<State>,
    /// Whether the driver is gone. Once the last timer is removed too, the shard is leased again.
    is_closed: AtomicBool,
    /// In another process it counts as closed, and nobody touches it: its lock may be held by a thread that is not there.
    origin: Origin,
}

#[derive(Debug)]
struct State {
    wheel: Wheel,
    /// The tick that the board has for this shard.
    earliest: u64,
    lease: Option<Lease>,
}

/// Where a driver looks for the shard's earliest tick.
#[derive(Debug)]
struct Lease {
    board: Arc<Board>,
    index: usize,
}

/// What became of a timer that was to be set.
#[derive(Debug)]
pub(crate) enum Set {
    /// It will wake.
    Waits(Key),
    /// Its deadline has passed.
    Due,
    /// The driver is gone; another one must be asked.
    Closed,
}

impl Shard {
    /// Leases a shard whose earliest tick is at `index` of the board.
    pub fn lease(board: &Arc<Board>, index: usize) -> &'static Self {
        let lease = Some(Lease { board: Arc::clone(board), index });
        let shard = spare::take().unwrap_or_else(|| {
            let state = State { wheel: Wheel::new(0), earliest: NEVER, lease: None };
            Box::leak(Box::new(Self {
                state: Mutex::new(state),
                is_closed: AtomicBool::new(false),
                origin: Origin::here(),
            }))
        });
        // ORDERING: it has no timers, so nobody looks.
        shard.is_closed.store(false, Ordering::Relaxed);
        lock(&shard.state).lease = lease;
        shard
    }

    /// Wakes every timer that is set, because the driver goes.
    pub fn close(&'static self) {
        // ORDERING: before the wakers are woken, and whoever is woken looks after that.
        self.is_closed.store(true, Ordering::Relaxed);
        // Before the rest, so that nothing is set any more.
        let lease = lock(&self.state).lease.take();
        drop(lease);
        self.drain(Wheel::pop_any);
        self.retire(lock(&self.state));
    }

    /// Leaves the shard to the next driver if nobody needs it.
    fn retire(&'static self, mut state: MutexGuard<'_, State>) {
        if state.lease.is_some() || !state.wheel.is_unused() || state.wheel.is_fresh() {
            return;
        }
        // A fresh wheel, which also tells a second caller that this was done.
        state.wheel = Wheel::new(0);
        state.earliest = NEVER;
        drop(state);
        spare::put(self);
    }

    /// Sets a timer.
    #[inline]
    pub fn insert(&self, deadline: Instant, waker: Waker) -> Set {
        self.insert_by(|clock| clock.due(deadline), waker)
    }

    #[cfg(test)]
    pub fn insert_at(&self, when: u64, waker: Waker) -> Set {
        self.insert_by(|_| when, waker)
    }

    #[inline]
    fn insert_by(&self, when: impl FnOnce(&Clock) -> u64, waker: Waker) -> Set {
        let mut state = lock(&self.state);
        let Some(lease) = &state.lease else {
            drop(state);
            return Set::Closed;
        };
        let when = when(&lease.board.clock);
        match state.wheel.insert(when, waker) {
            Ok(key) => {
                Self::hasten(state, when);
                Set::Waits(key)
            }
            Err(waker) => {
                drop(state);
                drop(waker);
                Set::Due
            }
        }
    }

    /// Takes a timer back, fired or not.
    #[inline]
    pub fn remove(&'static self, key: Key) {
        if self.origin.is_foreign() {
            return;
        }
        let mut state = lock(&self.state);
        let waker = state.wheel.remove(key);
        if state.lease.is_some() {
            Self::one_less(state);
        } else {
            self.retire(state);
        }
        // Here, without the lock: a waker's drop is user code.
        drop(waker);
    }

    /// Gives a timer another waker. False if it has fired.
    pub fn replace(&self, key: &Key, waker: Waker) -> bool {
        if self.origin.is_foreign() {
            return false;
        }
        let replaced = lock(&self.state).wheel.replace(key, waker);
        replaced.is_ok()
    }

    /// Gives a timer another deadline. False if it had fired before.
    #[inline]
    pub fn reset(&self, key: &Key, deadline: Instant) -> bool {
        self.reset_by(key, |clock| clock.due(deadline))
    }

    #[cfg(test)]
    pub fn reset_at(&self, key: &Key, when: u64) -> bool {
        self.reset_by(key, |_| when)
    }

    #[inline]
    fn reset_by(&self, key: &Key, when: impl FnOnce(&Clock) -> u64) -> bool {
        if self.origin.is_foreign() {
            return false;
        }
        let mut state = lock(&self.state);
        // Without a driver all of them have fired.
        let when = state.lease.as_ref().map_or(0, |lease| when(&lease.board.clock));
        match state.wheel.reset(key, when) {
            Moved::Set => {
                Self::hasten(state, when);
                true
            }
            Moved::Due(waker) => {
                Self::one_less(state);
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

    fn drain(&self, mut pop: impl FnMut(&mut Wheel) -> Option<Waker>) {
        let mut batch = Batch::new();
        let mut is_done = false;
        while !is_done {
            let mut state = lock(&self.state);
            while !is_done && !batch.is_full() {
                match pop(&mut state.wheel) {
                    Some(waker) => batch.push(waker),
                    None => is_done = true,
                }
            }
            if is_done {
                let earliest = state.wheel.earliest().unwrap_or(NEVER);
                state.tell(earliest);
            }
            drop(state);
            batch.wake();
        }
    }

    /// Tells a closing pool if the timer that was just taken back was the last.
    #[inline]
    fn one_less(state: MutexGuard<'_, State>) {
        // LIVENESS: a closed pool waits for its last timer, and its last thread perhaps in a turn, until the tick of one that was
        // cancelled. Whoever found the pool closing has noted that before it asked us, under the lock, whether we are in use;
        // if it comes to the lock after us, it finds that we are not.
        let board = match &state.lease {
            Some(lease) if !state.wheel.is_live() && lease.board.is_noted_closing() => {
                Some(Arc::clone(&lease.board))
            }
            _ => None,
        };
        drop(state);
        if let Some(board) = board {
            board.interrupt();
        }
    }

    /// Whether a timer is set that was not cancelled. If not, the board says so from here on: nobody need look any more.
    pub fn is_used(&self) -> bool {
        let mut state = lock(&self.state);
        let is_used = state.wheel.is_live();
        if !is_used {
            state.tell(NEVER);
        }
        is_used
    }

    /// Now, by the clock of its driver. `None` if that is gone.
    pub fn now(&self) -> Option<Instant> {
        if self.is_closed() {
            return None;
        }
        lock(&self.state).lease.as_ref().map(|lease| lease.board.clock.instant())
    }

    /// Whether the driver that looked after it is gone.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed) || self.origin.is_foreign()
    }

    /// Sees to it that somebody looks by `when`.
    #[inline]
    fn hasten(mut state: MutexGuard<'_, State>, when: u64) {
        if when >= state.earliest {
            return;
        }
        state.tell(when);
        // A count, because the driver may go as soon as the lock is free.
        let board = state.lease.as_ref().map(|lease| Arc::clone(&lease.board));
        drop(state);
        if let Some(board) = board {
            board.hasten(when);
        }
    }
}

impl State {
    fn tell(&mut self, earliest: u64) {
        self.earliest = earliest;
        if let Some(lease) = &self.lease {
            // ORDERING(DRIVER-E3): written under the lock only. Where it becomes earlier, `Wait::hasten` has the fence; where it
            // becomes later, the next look is this thread's, or comes after its turn.
            lease.board.shards()[lease.index].store(earliest, Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;
    use heist_sync::std_atomic::AtomicUsize;
    use std::sync::Weak;
    use std::task::Wake;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn set(shard: &Shard, when: u64, count: &Arc<Count>) -> Key {
        match shard.insert_at(when, Waker::from(count.clone())) {
            Set::Waits(key) => key,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_end_of_a_driver_wakes_everything_and_its_shard_is_used_again() {
        let board = Arc::new(Board::new(Weak::new(), 2));
        let shard = Shard::lease(&board, 1);
        let count = Arc::new(Count::default());
        let keys = [5, 500, 1 << 40].map(|when| set(shard, when, &count));
        assert_eq!(board.earliest(), 5);
        shard.fire(5);
        assert_eq!(board.earliest(), 500);
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        shard.close();
        assert!(shard.is_closed());
        assert_eq!(count.0.load(Ordering::Relaxed), 3);
        assert_eq!(Arc::strong_count(&board), 1, "a shard without a driver keeps nothing of it");
        assert!(matches!(shard.insert_at(600, Waker::noop().clone()), Set::Closed));
        let [a, b, c] = keys;
        assert!(!shard.reset_at(&a, 9));
        // While one of its timers is left, nobody else gets it.
        shard.remove(a);
        shard.remove(b);
        let other = Shard::lease(&board, 0);
        assert!(!std::ptr::eq(shard, other));
        shard.remove(c);
        let again: Vec<_> = std::iter::repeat_with(|| Shard::lease(&board, 0)).take(64).collect();
        assert!(again.iter().any(|a| std::ptr::eq(*a, shard)));
        assert!(!shard.is_closed());
        let key = set(shard, 7, &count);
        shard.fire(7);
        assert_eq!(count.0.load(Ordering::Relaxed), 4);
        shard.remove(key);
        again.into_iter().chain([other]).for_each(Shard::close);
    }

    #[test]
    fn a_shard_whose_timers_were_all_cancelled_is_not_used() {
        let board = Arc::new(Board::new(Weak::new(), 1));
        let shard = Shard::lease(&board, 0);
        let count = Arc::new(Count::default());
        let [a, b, c] = [5, 50, 500].map(|when| set(shard, when, &count));
        shard.remove(a);
        assert!(shard.is_used());
        assert_eq!(board.earliest(), 5, "a cancel leaves its tick to the next look");
        assert!(shard.reset_at(&b, 0));
        shard.remove(b);
        assert!(shard.is_used());
        shard.remove(c);
        assert!(!shard.is_used());
        assert_eq!(board.earliest(), NEVER);
        // The next one is the earliest, whatever there was before.
        let key = set(shard, 1000, &count);
        assert!(shard.is_used());
        assert_eq!(board.earliest(), 1000);
        shard.fire(1000);
        assert!(!shard.is_used());
        assert_eq!(count.0.load(Ordering::Relaxed), 2);
        shard.remove(key);
        shard.close();
    }
}
