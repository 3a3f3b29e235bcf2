//! The state word: a plain value with one function per transition, and the atomic that applies them.

use heist_sync::atomic::{AtomicU64, Ordering};
use heist_sync::planted::is_planted;

/// A `TaskRef` is queued, or is to be when the poll ends.
pub(super) const SCHEDULED: u64 = 1 << 0;
/// A worker is inside.
pub(super) const RUNNING: u64 = 1 << 1;
/// The future is gone.
pub(super) const DONE: u64 = 1 << 2;
/// The future is to be dropped, not polled.
pub(super) const ABORTED: u64 = 1 << 3;
/// There is a `JoinHandle`.
pub(super) const HANDLE: u64 = 1 << 4;
/// The awaiter's place holds a waker for the end to take.
pub(super) const AWAITER: u64 = 1 << 5;
/// It ended by a panic.
pub(super) const PANICKED: u64 = 1 << 6;
/// It ended without an output.
pub(super) const CANCELLED: u64 = 1 << 7;
/// One waker.
pub(super) const WAKER: u64 = 1 << 8;
/// One abort handle or passing reader.
pub(super) const HOLD: u64 = 1 << 36;

const WAKERS: u64 = HOLD - WAKER;
const HOLDS: u64 = !(HOLD - 1);
/// What keeps a cell.
const KEPT: u64 = SCHEDULED | RUNNING | HANDLE | WAKERS | HOLDS;

/// A state word as a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Word(pub(super) u64);

/// How a task ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Output,
    Panicked,
    Cancelled,
}

/// What `start` tells the worker to do with the future.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Start {
    Poll,
    Cancel,
}

/// What `pend` tells the worker.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pend {
    /// The task is somebody else's now.
    Wait,
    /// It was woken meanwhile: the worker queues it again.
    Again,
    /// It is still the worker's, to drop the future.
    Cancel,
    /// The same, because it can never run again.
    Leaked,
}

/// What `finish` tells the worker.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Finish {
    /// There is no handle any more, so the output is still the worker's: nothing has changed.
    Orphan,
    /// Over; the cell is somebody else's.
    Left,
    /// Over; the cell is free.
    Free,
    /// Over; the awaiter's waker, if there is one, is the worker's to wake; then it must `leave`.
    Tell { awaiter: bool },
}

/// What is left to do after one who kept the task has let go.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Loose {
    Nothing,
    /// The caller has the task's `TaskRef` and must queue it.
    Schedule,
    /// The same, because it can never run again and is to be dropped.
    Leaked,
    /// The cell is the caller's to give back.
    Free,
}

impl Word {
    /// A task that is about to be queued.
    pub(crate) const fn spawned(has_handle: bool, holds: u64) -> Self {
        Self(SCHEDULED | if has_handle { HANDLE } else { 0 } | (holds * HOLD))
    }

    pub(super) const fn has(self, flags: u64) -> bool {
        self.0 & flags != 0
    }

    pub(crate) const fn is_done(self) -> bool {
        self.has(DONE)
    }

    pub(crate) const fn is_aborted(self) -> bool {
        self.has(ABORTED)
    }

    pub(crate) const fn is_running(self) -> bool {
        self.has(RUNNING)
    }

    pub(crate) const fn is_scheduled(self) -> bool {
        self.has(SCHEDULED)
    }

    pub(crate) const fn has_handle(self) -> bool {
        self.has(HANDLE)
    }

    pub(crate) const fn has_awaiter(self) -> bool {
        self.has(AWAITER)
    }

    pub(crate) const fn is_idle(self) -> bool {
        !self.has(SCHEDULED | RUNNING | DONE)
    }

    /// Nothing keeps the cell.
    pub(crate) const fn is_free(self) -> bool {
        !self.has(KEPT)
    }

    /// Nobody is left who could make it go on.
    pub(crate) const fn is_leaked(self) -> bool {
        self.is_idle() && !self.has(WAKERS)
    }

    pub(crate) const fn wakers(self) -> u32 {
        ((self.0 & WAKERS) / WAKER) as u32
    }

    const fn holds(self) -> u64 {
        self.0 / HOLD
    }

    pub(crate) const fn outcome(self) -> Outcome {
        if self.has(PANICKED) {
            Outcome::Panicked
        } else if self.has(CANCELLED) {
            Outcome::Cancelled
        } else {
            Outcome::Output
        }
    }

    /// One who kept the task is gone (I2).
    fn loosened(self) -> (Self, Loose) {
        if self.is_free() && self.is_done() {
            return (self, Loose::Free);
        }
        if !is_planted("task_last_to_go_forgets_it") && self.is_leaked() && !self.has_handle() {
            return (Self(self.0 | SCHEDULED | ABORTED), Loose::Leaked);
        }
        (self, Loose::Nothing)
    }

    const fn start(self) -> (Self, Start) {
        let next = Self(self.0 - SCHEDULED + RUNNING);
        (next, if self.is_aborted() { Start::Cancel } else { Start::Poll })
    }

    const fn pend(self) -> (Self, Pend) {
        if self.has(ABORTED) {
            return (self, Pend::Cancel);
        }
        let next = Self(self.0 & !RUNNING);
        if self.has(SCHEDULED) {
            return (next, Pend::Again);
        }
        if next.is_leaked() && !next.has_handle() {
            return (Self(self.0 | ABORTED), Pend::Leaked);
        }
        (next, Pend::Wait)
    }

    /// `has_output`: what the handle is to get is in its place. `tells`: the cell has a hook.
    const fn finish(self, outcome: Outcome, has_output: bool, tells: bool) -> (Self, Finish) {
        if has_output && !self.has_handle() {
            return (self, Finish::Orphan);
        }
        let ended = match outcome {
            Outcome::Output => DONE,
            Outcome::Panicked => DONE | PANICKED,
            Outcome::Cancelled => DONE | CANCELLED,
        };
        let next = self.0 & !(SCHEDULED | RUNNING) | ended;
        if tells || self.has_awaiter() {
            return (Self(next | RUNNING), Finish::Tell { awaiter: self.has_awaiter() });
        }
        let next = Self(next);
        (next, if next.is_free() { Finish::Free } else { Finish::Left })
    }

    /// The flag says whether the caller must queue the task.
    fn wake_by_ref(self) -> (Self, bool) {
        if self.is_done() {
            return (self, false);
        }
        if is_planted("task_wake_of_a_running_one_is_lost") && self.has(RUNNING) {
            return (self, false);
        }
        (Self(self.0 | SCHEDULED), self.is_idle())
    }

    fn wake(self) -> (Self, Loose) {
        let (next, schedule) = self.wake_by_ref();
        let next = Self(next.0 - WAKER);
        if schedule { (next, Loose::Schedule) } else { next.loosened() }
    }

    fn drop_waker(self) -> (Self, Loose) {
        Self(self.0 - WAKER).loosened()
    }

    const fn abort(self) -> (Self, bool) {
        if self.is_done() {
            return (self, false);
        }
        let scheduled = if self.is_idle() { SCHEDULED } else { 0 };
        (Self(self.0 | ABORTED | scheduled), scheduled != 0)
    }

    fn drop_handle(self) -> (Self, Loose) {
        Self(self.0 & !HANDLE).loosened()
    }

    fn release(self) -> (Self, Loose) {
        Self(self.0 - HOLD).loosened()
    }
}

/// The word as it is shared.
#[derive(Debug, Default)]
pub(crate) struct State(AtomicU64);

impl State {
    #[inline]
    pub(crate) fn load(&self) -> Word {
        // ORDERING(E3): acquire, for the output of a task that is done. Partner: `finish`.
        Word(self.0.load(Ordering::Acquire))
    }

    /// The cell of a free word becomes a task.
    #[inline]
    pub(crate) fn store(&self, word: Word) {
        // ORDERING(E6): release, for the fields written before. Partner: `pin`.
        self.0.store(word.0, Ordering::Release);
    }

    /// Applies a transition. One that changes nothing is a read-modify-write all the same (E1).
    #[inline]
    fn apply<R>(&self, transition: impl Fn(Word) -> (Word, R)) -> R {
        // ORDERING: the first look decides nothing that the swap does not confirm.
        let mut now = self.0.load(Ordering::Relaxed);
        loop {
            let (next, result) = transition(Word(now));
            if is_planted("task_second_wake_is_a_load") && next.0 == now {
                return result;
            }
            // ORDERING(E1, E2, E3, E4, E5): release what we wrote, acquire what whoever was here before us wrote. One ordering
            // for all transitions: on x86 it costs nothing, elsewhere a swap of a line that moves between cores anyway.
            match self.0.compare_exchange_weak(now, next.0, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return result,
                Err(found) => now = found,
            }
        }
    }

    /// The worker takes the `TaskRef`. The caller has it.
    #[inline]
    pub(crate) fn start(&self) -> Start {
        // Nobody else touches these two bits of a task that is queued, so adding is as good as a swap, and cannot fail.
        // ORDERING(E1, E2): acquire: the future, and what led to the wakes. Partners: `pend`, `wake`.
        let before = Word(self.0.fetch_add(RUNNING - SCHEDULED, Ordering::Acquire));
        debug_assert!(before.has(SCHEDULED) && !before.has(RUNNING | DONE), "{before:x?} was in a queue");
        before.start().1
    }

    /// The poll has ended without an output.
    #[inline]
    pub(crate) fn pend(&self) -> Pend {
        self.apply(Word::pend)
    }

    /// See [`Word::finish`].
    #[inline]
    pub(crate) fn finish(&self, outcome: Outcome, has_output: bool, tells: bool) -> Finish {
        self.apply(|w| w.finish(outcome, has_output, tells))
    }

    /// Those who waited have been told. True if the cell is free.
    #[inline]
    pub(crate) fn leave(&self) -> bool {
        // ORDERING(E5).
        let before = self.0.fetch_sub(RUNNING, Ordering::AcqRel);
        Word(before - RUNNING).is_free()
    }

    /// A wake that keeps its waker. True if the caller must queue the task.
    #[inline]
    pub(crate) fn wake_by_ref(&self) -> bool {
        self.apply(Word::wake_by_ref)
    }

    /// A wake that takes its waker along.
    #[inline]
    pub(crate) fn wake(&self) -> Loose {
        self.apply(Word::wake)
    }

    /// One more waker.
    #[inline]
    pub(crate) fn clone_waker(&self) {
        // ORDERING: relaxed: the caller has a waker, or is inside of the poll, so the cell cannot go.
        let before = Word(self.0.fetch_add(WAKER, Ordering::Relaxed));
        if before.wakers() >= (WAKERS / WAKER / 2) as u32 {
            too_many("wakers");
        }
    }

    /// One waker less.
    #[inline]
    pub(crate) fn drop_waker(&self) -> Loose {
        self.apply(Word::drop_waker)
    }

    /// The future is to be dropped. True if the caller must queue the task.
    pub(crate) fn abort(&self) -> bool {
        self.apply(Word::abort)
    }

    /// The awaiter's place is filled. False if the task is done: then the place is the handle's again.
    #[inline]
    pub(crate) fn offer_awaiter(&self) -> bool {
        if is_planted("task_awaiter_comes_too_late") {
            return self.apply(|w| (Word(w.0 | AWAITER), true));
        }
        self.apply(|w| if w.is_done() { (w, false) } else { (Word(w.0 | AWAITER), true) })
    }

    /// The handle wants the awaiter's place back. False if the task is done: then the waker belongs to the end.
    #[inline]
    pub(crate) fn retract_awaiter(&self) -> bool {
        self.apply(|w| if w.is_done() { (w, false) } else { (Word(w.0 & !AWAITER), true) })
    }

    /// The handle goes, having dealt with awaiter and output. `None` if the task was not done and now is: then its output is
    /// still to be dealt with.
    #[inline]
    pub(crate) fn drop_handle(&self, is_done: bool) -> Option<Loose> {
        self.apply(|w| {
            if w.is_done() != is_done {
                return (w, None);
            }
            let (next, loose) = w.drop_handle();
            (next, Some(loose))
        })
    }

    /// One more hold, by one who keeps the task already.
    pub(crate) fn hold(&self) {
        // ORDERING: relaxed, as in `clone_waker`.
        let before = Word(self.0.fetch_add(HOLD, Ordering::Relaxed));
        if before.holds() >= HOLDS / HOLD / 2 {
            too_many("abort handles");
        }
    }

    /// One hold less.
    pub(crate) fn release(&self) -> Loose {
        self.apply(Word::release)
    }

    /// One more hold, by one who has nothing but the address. `None` if the cell is free.
    pub(crate) fn pin(&self) -> Option<Word> {
        // Few free cells are worth a swap.
        if Word(self.0.load(Ordering::Relaxed)).is_free() {
            return None;
        }
        // ORDERING(E6): acquire, in `apply`.
        self.apply(|w| if w.is_free() { (w, None) } else { (Word(w.0 + HOLD), Some(w)) })
    }
}

/// Counting on would free a task that is in use.
#[cold]
fn too_many(what: &str) -> ! {
    heist_sync::warn(format_args!(
        "one task has more than a hundred million {what}; something clones them without end"
    ));
    std::process::abort()
}

// They use the atomic outside of any model.
#[cfg(all(test, not(heist_model)))]
#[path = "state_tests.rs"]
mod tests;
