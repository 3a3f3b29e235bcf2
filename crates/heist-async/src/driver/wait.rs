//! The word between the one thread that waits in a turn and those who have news for it. See the README.

use heist_sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use heist_sync::planted::is_planted;

/// Nobody waits.
const AWAY: u64 = 0;
/// Nobody waits for longer: there was an interrupt, and the waiter, or else the next one, has not seen it yet.
const TOLD: u64 = 1;
// Two low bits for the bell, and the tick above them.
const ON_PARKER: u64 = 2;
const ON_REACTOR: u64 = 3;
const TICK_SHIFT: u32 = 2;

/// The tick of a wait that no timer ends.
pub(crate) const NEVER: u64 = u64::MAX >> TICK_SHIFT;

/// What the waiting thread must be woken with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bell {
    /// The parker: there is no reactor yet.
    Parker,
    /// The reactor's own waker.
    Reactor,
}

/// What a timer that is now its shard's earliest has to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(crate) enum Told {
    /// Nobody waits: somebody must be made to.
    Nobody,
    /// The waiter wakes in time.
    InTime,
    /// The waiter has been told and sleeps on this bell.
    Ring(Bell),
}

#[derive(Debug)]
pub(crate) struct Wait {
    word: AtomicU64,
    /// Never unset.
    has_reactor: AtomicBool,
}

impl Wait {
    pub fn new() -> Self {
        Self { word: AtomicU64::new(AWAY), has_reactor: AtomicBool::new(false) }
    }

    /// Announces a wait: the bell to wait for and the tick until which, or `None` if there is no time to wait now.
    /// `earliest` reads the first tick at which any timer is due. [`end`](Self::end) must follow a wait.
    ///
    /// Only the thread whose turn it is may call this.
    pub fn begin(&self, earliest: impl FnOnce() -> u64) -> Option<(Bell, u64)> {
        // ORDERING(DRIVER-E1): the reactor's own cell is read after this.
        let bell = if self.has_reactor.load(Ordering::Acquire) { Bell::Reactor } else { Bell::Parker };
        let announced = word(bell, NEVER);
        // ORDERING(DRIVER-E2): acquire for the news of an interrupt that is found here.
        if self.word.compare_exchange(AWAY, announced, Ordering::Acquire, Ordering::Acquire).is_err() {
            self.end();
            return None;
        }
        // ORDERING(DRIVER-E3, DRIVER-E4): our announcement before our look at the timers and the reactor; partners: `hasten` and
        // `reactor_opened`, which fence between what they have made visible and their look at the word. Nothing weaker
        // orders a store before a load.
        if !is_planted("driver_begin_no_fence") {
            fence(Ordering::SeqCst);
        }
        let looks_again = !is_planted("driver_no_second_look");
        if looks_again && bell == Bell::Parker && self.has_reactor.load(Ordering::Relaxed) {
            self.end();
            return None;
        }
        let until = earliest();
        // ORDERING: release, so that who reads the tick (`hasten`) has nothing to add; acquire as above. The exchange
        // fails only if we were told meanwhile.
        let settled = until >= NEVER
            || self
                .word
                .compare_exchange(announced, word(bell, until), Ordering::AcqRel, Ordering::Acquire)
                .is_ok();
        if !settled {
            self.end();
            return None;
        }
        Some((bell, until.min(NEVER)))
    }

    /// The wait is over, for whatever reason.
    pub fn end(&self) {
        // ORDERING(DRIVER-E2): acquire, with the release of who told us; a swap, because a token must not be overwritten unseen.
        self.word.swap(AWAY, Ordering::Acquire);
    }

    /// Ends the wait, or keeps the next one from beginning. The bell to ring, if somebody sleeps.
    #[must_use]
    pub fn interrupt(&self) -> Option<Bell> {
        // ORDERING(DRIVER-E2): release for the caller's news. A read-modify-write in every case: a look that finds a token and
        // leaves it would not be ordered behind those news.
        bell(self.word.swap(TOLD, Ordering::Release))
    }

    /// A timer due at `when` has become the earliest of its shard, and its shard says so already.
    pub fn hasten(&self, when: u64) -> Told {
        // ORDERING(DRIVER-E3): the shard's word before our look; partner: `begin`.
        fence(Ordering::SeqCst);
        let mut now = self.word.load(Ordering::Relaxed);
        loop {
            let Some(bell) = bell(now) else { return Told::Nobody };
            // LIVENESS: it wakes before we are due, and looks at all shards again before it waits again.
            if when >= now >> TICK_SHIFT {
                return Told::InTime;
            }
            // ORDERING(DRIVER-E2): release for the timer.
            match self.word.compare_exchange_weak(now, TOLD, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return Told::Ring(bell),
                Err(other) => now = other,
            }
        }
    }

    /// The reactor is there now: nobody may wait on the parker any more.
    #[must_use]
    pub fn reactor_opened(&self) -> Option<Bell> {
        // ORDERING(DRIVER-E1): release, after the reactor's cell was set.
        self.has_reactor.store(true, Ordering::Release);
        // ORDERING(DRIVER-E4): before our look; partner: `begin`.
        fence(Ordering::SeqCst);
        // Who waits for the reactor already does right. A token does no harm.
        match bell(self.word.load(Ordering::Relaxed)) {
            Some(Bell::Parker) => self.interrupt(),
            Some(Bell::Reactor) | None => None,
        }
    }

    /// Whether somebody waits, or is about to.
    pub fn is_awaited(&self) -> bool {
        bell(self.word.load(Ordering::Relaxed)).is_some()
    }
}

fn word(bell: Bell, until: u64) -> u64 {
    until << TICK_SHIFT
        | match bell {
            Bell::Parker => ON_PARKER,
            Bell::Reactor => ON_REACTOR,
        }
}

fn bell(word: u64) -> Option<Bell> {
    match word & 3 {
        ON_PARKER => Some(Bell::Parker),
        ON_REACTOR => Some(Bell::Reactor),
        _ => None,
    }
}
