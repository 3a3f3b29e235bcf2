//! How a thread spends its time.

use heist_sync::clock::monotonic_ns as now_ns;
use heist_sync::std_atomic::{AtomicU64, Ordering, fence};
use std::time::Duration;

/// What a thread of a pool spends its time on.
///
/// ```
/// use heist::metrics::WorkerState;
///
/// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build()?;
/// let here = pool.install(|| heist::blocking(|| pool.metrics().workers[0].state));
/// assert_eq!(here, WorkerState::Waiting);
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WorkerState {
    /// It has left the pool, and its place is free for another one.
    Gone,
    /// It runs something, or looks into its own queues for the next.
    Busy,
    /// It looks for work everywhere.
    Searching,
    /// It sleeps because there is nothing to do, on its own or for sockets and timers.
    Parked,
    /// It waits for something, or is inside of `blocking`, and has lent its permit.
    Waiting,
}

const STATES: [WorkerState; 5] =
    [WorkerState::Gone, WorkerState::Busy, WorkerState::Searching, WorkerState::Parked, WorkerState::Waiting];

/// Bits of the word that hold the state; the rest is since when.
const STATE_BITS: u32 = 3;
const STATE: u64 = (1 << STATE_BITS) - 1;
/// In place of the state, while its thread changes it.
const CHANGING: u64 = STATE;

/// The state of a thread, since when, and how long it was in each before. Its thread writes, anybody reads.
#[derive(Default)]
pub(crate) struct Times {
    word: AtomicU64,
    /// In nanoseconds, by state. That of `Gone` stays 0.
    spent: [AtomicU64; STATES.len()],
}

/// What was read of it.
#[derive(Clone, Copy)]
pub(crate) struct Spent {
    pub state: WorkerState,
    /// For how long that has been so.
    pub state_ns: u64,
    /// Up to now, by state.
    pub ns: [u64; STATES.len()],
}

impl Times {
    fn unpack(word: u64) -> (WorkerState, u64) {
        (STATES[(word & STATE) as usize], word >> STATE_BITS)
    }

    /// Its thread spends its time on something else from here on. Returns what it did before.
    #[inline(never)]
    pub fn switch(&self, to: WorkerState) -> WorkerState {
        let (state, since_ns) = Self::unpack(self.word.load(Ordering::Relaxed));
        if state == to {
            return state;
        }
        // ORDERING: the mark before the clock and the sum, and the sum before the new state; partner: `read`, which reads the word on both
        // sides of the sums and the clock. Who reads this sum, or a later time, reads the mark or something newer; who reads the new
        // state reads this sum. So nobody tells more of a state than the sum says in the end.
        self.word.store(since_ns << STATE_BITS | CHANGING, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let now_ns = now_ns();
        if state != WorkerState::Gone {
            let spent = &self.spent[state as usize];
            let ns = spent.load(Ordering::Relaxed) + now_ns.saturating_sub(since_ns);
            spent.store(ns, Ordering::Relaxed);
        }
        self.word.store(now_ns << STATE_BITS | to as u64, Ordering::Release);
        state
    }

    /// How its thread has spent its time, up to now.
    pub fn read(&self) -> Spent {
        /// A thread that was interrupted in the middle of a change is given time to come back: a tenth of a second at most.
        const TRIES: usize = 1000;
        const SLEEP: Duration = Duration::from_micros(100);
        for n in 0..TRIES {
            let word = self.word.load(Ordering::Acquire);
            let ns = self.spent.each_ref().map(|spent| spent.load(Ordering::Relaxed));
            let now_ns = now_ns();
            // ORDERING: see `switch`.
            fence(Ordering::SeqCst);
            if word & STATE == CHANGING || self.word.load(Ordering::Relaxed) != word {
                if n > TRIES / 100 {
                    std::thread::sleep(SLEEP);
                }
                continue;
            }
            let (state, since_ns) = Self::unpack(word);
            let state_ns = now_ns.saturating_sub(since_ns);
            let mut spent = Spent { state, state_ns, ns };
            if state != WorkerState::Gone {
                spent.ns[state as usize] += state_ns;
            }
            return spent;
        }
        // It does not come back, or changes all the time: what is known without the present state.
        let ns = self.spent.each_ref().map(|spent| spent.load(Ordering::Relaxed));
        Spent { state: WorkerState::Busy, state_ns: 0, ns }
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    #[test]
    fn every_moment_belongs_to_one_state() {
        let times = Times::default();
        assert_eq!(times.switch(WorkerState::Busy), WorkerState::Gone);
        let begun_ns = now_ns();
        let round = [WorkerState::Searching, WorkerState::Parked, WorkerState::Waiting, WorkerState::Busy];
        let mut before = WorkerState::Busy;
        for state in round.into_iter().cycle().take(100) {
            assert_eq!(times.switch(state), before);
            before = state;
        }
        let ended_ns = now_ns();
        let spent = times.read();
        assert_eq!((spent.state, spent.ns[WorkerState::Gone as usize]), (WorkerState::Busy, 0));
        let sum: u64 = spent.ns.iter().sum();
        assert!(sum >= ended_ns - begun_ns, "{sum} ns of {}", ended_ns - begun_ns);
        times.switch(WorkerState::Gone);
        let gone = times.read();
        assert_eq!(gone.ns, times.read().ns, "no time passes for one that has left");
    }

    /// A reader beside the writer never sees a state's time go back, and the sum of all is the time that has passed.
    #[test]
    fn time_does_not_go_back() {
        let times = Times::default();
        let begun_ns = now_ns();
        times.switch(WorkerState::Busy);
        let entered_ns = now_ns();
        std::thread::scope(|threads| {
            let reader = threads.spawn(|| {
                let mut before = times.read();
                for _ in 0..20_000 {
                    let from_ns = now_ns();
                    let now = times.read();
                    let sum: u64 = now.ns.iter().sum();
                    assert!(sum >= from_ns - entered_ns && sum <= now_ns() - begun_ns, "{:?}", now.ns);
                    assert!(now.ns.iter().zip(before.ns).all(|(now, before)| *now >= before));
                    before = now;
                }
            });
            while !reader.is_finished() {
                times.switch(WorkerState::Parked);
                times.switch(WorkerState::Busy);
            }
        });
    }
}
