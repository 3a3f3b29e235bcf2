//! A slot of the fork stack: what to call, and where its frame lies.

use super::{Floor, State};
use crate::profile::Outcome;
use crate::signal::Awaited;
use crate::waits::Waits;
use heist_sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use heist_sync::planted::is_planted;

#[cfg_attr(not(heist_model), path = "slots.rs")]
#[cfg_attr(heist_model, path = "slots_model.rs")]
mod slots;

pub(super) use slots::Slots;

/// Runs the job whose frame is given and leaves the result there. It must not unwind.
pub type Exec = unsafe fn(frame: *mut ());

/// One pending half of a fork. `call` and `frame` are the owner's until the slot is claimed, then the thief's; `state` is the
/// thief's from the claim to `done`, and the owner sets the wait bit in it. The memory is the pool's, never a stack's: a
/// thief may still be inside its last access to `state` when the owner's wait has ended.
///
/// The fields are relaxed atomics, so that threads outside of any pool can share one dummy slot; the ordering comes from the
/// thieves' word.
#[derive(Debug, Default)]
#[repr(C, align(32))]
pub struct Slot {
    call: AtomicPtr<()>,
    frame: AtomicPtr<()>,
    state: AtomicU64,
    /// What the job came to, if the thief has measured it and says so in the state. The owner frees it.
    outcome: AtomicPtr<Outcome>,
}

impl Slot {
    #[inline(always)]
    pub(super) fn fill(&self, call: Exec, frame: *mut ()) {
        self.call.store(call as *mut (), Ordering::Relaxed);
        self.frame.store(frame, Ordering::Relaxed);
    }

    /// What was filled in. Only for whoever has claimed the slot.
    pub(super) fn job(&self) -> (Exec, *mut ()) {
        let call = self.call.load(Ordering::Relaxed);
        // SAFETY: `fill` stored an `Exec`; a claimed slot has been filled (I1, FORK-E1).
        let call = unsafe { std::mem::transmute::<*mut (), Exec>(call) };
        (call, self.frame.load(Ordering::Relaxed))
    }

    /// The state as it is now.
    pub fn state(&self) -> State {
        // ORDERING(FORK-E2): acquire, with the release in `finish`: who sees done sees result and panic in the frame.
        State(self.state.load(Ordering::Acquire))
    }

    /// The thief signs the slot that it has claimed.
    pub(super) fn sign(&self, thief: u16, floor: Floor) {
        // ORDERING(FORK-E3): release, so that who reads the thief's name here and then its word does not read an older word.
        // A read-modify-write, so that an owner's wait bit is not lost.
        self.state.fetch_or(State::taken_bits(thief, floor), Ordering::Release);
    }

    /// The code of the job that was filled in last.
    pub(crate) fn code(&self) -> usize {
        self.call.load(Ordering::Relaxed).addr()
    }

    /// Where its frame is.
    pub(crate) fn frame(&self) -> usize {
        self.frame.load(Ordering::Relaxed).addr()
    }

    /// What the thief has measured, if it has. Only for the owner, after `done`, once.
    pub(crate) fn take_outcome(&self) -> Option<Box<Outcome>> {
        if !self.state().is_measured() {
            return None;
        }
        // ORDERING(FORK-E2): relaxed; the look at the state acquires what the thief has stored before its swap.
        let outcome = self.outcome.load(Ordering::Relaxed);
        // It is nobody's any more, so that it cannot be taken again.
        self.outcome.store(std::ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: from a box in `finish_measured`, and taken once.
        (!outcome.is_null()).then(|| unsafe { Box::from_raw(outcome) })
    }

    /// As [`finish`](Self::finish), with what the thief has measured.
    #[must_use]
    #[cold]
    pub(super) fn finish_measured(&self, outcome: Outcome) -> bool {
        let outcome = Box::into_raw(Box::new(outcome));
        let done = || State(self.state.swap(State::DONE | State::MEASURED, Ordering::AcqRel)).has_waiter();
        let too_early = is_planted("fork_outcome_after_done").then(done);
        // ORDERING(FORK-E2): relaxed; the swap below releases it.
        self.outcome.store(outcome, Ordering::Relaxed);
        too_early.unwrap_or_else(done)
    }

    /// The thief's last access. True if the owner has to be woken.
    #[must_use]
    pub(super) fn finish(&self) -> bool {
        if is_planted("fork_done_in_two_steps") {
            let before = self.state();
            self.state.store(State::DONE, Ordering::Release);
            return before.has_waiter();
        }
        // ORDERING(FORK-E2): release hands over the frame. A swap learns of the waiter in the same step (W1).
        State(self.state.swap(State::DONE, Ordering::AcqRel)).has_waiter()
    }

    /// The owner takes the slot back after `done`.
    pub(super) fn clear(&self) {
        // ORDERING: relaxed; the next thief gets it with the word (FORK-E1).
        self.state.store(State::FREE.0, Ordering::Relaxed);
    }
}

impl Awaited for Slot {
    fn is_over(&self) -> bool {
        self.state().is_done()
    }

    fn announce_wait(&self) -> bool {
        // ORDERING: acquire for the result if it is there already (FORK-E2).
        // LIVENESS(W1): one word holds wait and done. Either we find done, or the thief's swap finds wait and wakes us.
        !State(self.state.fetch_or(State::WAIT, Ordering::Acquire)).is_done()
    }

    fn what(&self) -> Waits {
        self.state().thief().map_or_else(Waits::default, |(thief, _)| Waits::half(thief))
    }
}
