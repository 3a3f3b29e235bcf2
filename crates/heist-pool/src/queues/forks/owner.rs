//! The owner's side: push and pop without a fence, the slow paths behind the two bounds, and coming and going.

use super::{Exec, Hot, SLOTS, Slot, Stack, Word, hot::dummy};
use heist_policy as policy;
use heist_sync::atomic::{Ordering, fence};
use heist_sync::planted::is_planted;
use heist_sync::{barrier, hint};

/// What became of a push that left the fast path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Pushed {
    /// It is on the stack.
    Kept,
    /// It is on the stack, jobs have been shared on request, and whoever sleeps should hear of it.
    Shared,
    /// The stack is full; the job is not on it.
    Full,
}

/// What became of a pop that left the fast path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Popped {
    /// The job is the caller's again.
    Mine,
    /// As `Mine`, and older jobs have been shared on request: whoever sleeps should hear of it.
    MineAndShared,
    /// A thief has it. The slot's state says who.
    Stolen,
}

impl Hot {
    /// Puts a job on top; always done, even if it then turns out (`is_slow_push`) that it could not stay.
    ///
    /// # Safety
    /// `call(frame)` must stay valid until the slot has been popped or its state is done.
    #[inline(always)]
    pub unsafe fn push(&self, call: Exec, frame: *mut ()) -> *mut Slot {
        let slot = self.head();
        // SAFETY: by the caller, and it is the head.
        unsafe { self.push_at(slot, call, frame) };
        slot
    }

    /// As [`push`](Self::push), with the head from a register.
    ///
    /// # Safety
    /// As there, and `slot` must be what `head` holds.
    #[inline(always)]
    pub unsafe fn push_at(&self, slot: *mut Slot, call: Exec, frame: *mut ()) {
        debug_assert_eq!(slot, self.head());
        // SAFETY: the head is a slot of the own stack, which has one beyond the limit, or the dummy.
        unsafe { &*slot }.fill(call, frame);
        self.set_head(slot.wrapping_add(1));
    }

    /// Whether the push has to go on with `Stack::push_slow`, or, outside of a pool, with [`Hot::undo_outside`].
    #[inline(always)]
    pub fn is_slow_push(&self, slot: *mut Slot) -> bool {
        // ORDERING(FORK-E6): head before limit. Partner: a thread about to sleep asks, `barrier::heavy`, reads the heads.
        if !is_planted("fork_push_no_barrier") {
            barrier::light_unless(|| self.is_fenced());
        }
        slot >= self.push_limit()
    }

    /// Takes the slot off the top. True if the caller must go on with `Stack::pop_slow`.
    ///
    /// # Safety
    /// `slot` is the one that was pushed last and has not been popped.
    #[inline(always)]
    pub unsafe fn pop_is_slow(&self, slot: *mut Slot) -> bool {
        self.set_head(slot);
        // ORDERING(FORK-E5): head before limit. Partner: a forcing thief asks, `barrier::heavy`, reads the head. One of the
        // two sees the other.
        if !is_planted("fork_pop_no_barrier") {
            barrier::light_unless(|| self.is_fenced());
        }
        slot < self.pop_limit()
    }

    /// After a push outside of any pool.
    ///
    /// # Safety
    /// `slot` is what that push gave.
    pub unsafe fn undo_outside(&self, slot: *mut Slot) {
        debug_assert!(self.worker().is_null());
        self.set_head(slot);
    }
}

impl Stack {
    /// The calling thread becomes the owner. It starts with an unanswered request, so that its first push looks for sleepers.
    ///
    /// # Safety
    /// Nobody else owns the stack; `leave` is called on the same thread before it ends, and before `worker` dies.
    pub unsafe fn enter(&self, hot: &'static Hot, worker: *const (), fenced: bool) {
        hot.enter(worker, self.base(), fenced);
        let found = self.load(Ordering::Relaxed);
        debug_assert_eq!(found.tail(), found.split());
        // No thief can be in a claim: the stack is empty. Forcing thieves of an earlier owner fail on the new epoch.
        self.word.store(found.reset(0).0, Ordering::Release);
        self.hot.store(std::ptr::from_ref(hot).cast_mut(), Ordering::Release);
    }

    /// The calling thread stops being the owner. The stack must be empty.
    pub fn leave(&self, hot: &'static Hot) {
        debug_assert_eq!(hot.head(), self.base());
        self.hot.store(std::ptr::null_mut(), Ordering::Relaxed);
        // ORDERING(FORK-E7): our null before our look at the visitors; partner: `visit` counts itself before it looks at `hot`.
        if !is_planted("fork_leave_no_fence") {
            fence(Ordering::SeqCst);
        }
        // LIVENESS: a visit is a few instructions without a wait in between.
        while self.visitors.load(Ordering::Acquire) != 0 {
            hint::spin_loop();
        }
        hot.leave(dummy());
    }

    /// Goes on with a push that met its bound: the stack is full, or somebody asks for work.
    ///
    /// # Safety
    /// `hot` is the owner's, and `slot` what its push has just given.
    pub unsafe fn push_slow(&self, hot: &Hot, slot: *mut Slot) -> Pushed {
        let position = self.position(slot);
        if position >= SLOTS {
            hot.set_head(slot);
            return Pushed::Full;
        }
        if hot.is_fenced() {
            // ORDERING(FORK-E6): the fence that `barrier::light` stands for.
            fence(Ordering::SeqCst);
        }
        if !hot.is_asked() {
            return Pushed::Kept;
        }
        self.share_half(hot, position + 1);
        Pushed::Shared
    }

    /// Shares half of the private part, rounded up, and answers the request.
    fn share_half(&self, hot: &Hot, head: usize) {
        self.share_up_to(hot, |word| word.split() + policy::publish(head - word.split()));
        hot.clear_asked(self.at(SLOTS));
        // ORDERING(FORK-E8): the request is cleared before the caller looks for sleepers; partner: who goes to sleep counts
        // itself before it asks. Either we see the sleeper, or its request comes after our clearing and stays.
        fence(Ordering::SeqCst);
    }

    /// Moves the border up to where `split` says.
    fn share_up_to(&self, hot: &Hot, split: impl Fn(Word) -> usize) {
        let mut word = self.load(Ordering::Relaxed);
        loop {
            let split = split(word);
            // INVARIANT(I3): bound first, then the word.
            hot.set_pop_limit(self.at(split));
            match self.swap_word(word, word.move_split(split)) {
                Ok(()) => return,
                Err(found) => word = found,
            }
        }
    }

    /// Answers a request between two forks. False if nothing is private: then the request stays.
    #[cold]
    pub fn answer(&self, hot: &Hot) -> bool {
        let head = self.position(hot.head());
        if head <= self.load(Ordering::Relaxed).split() {
            return false;
        }
        self.share_half(hot, head);
        true
    }

    /// Shares everything that is private, for an owner that is about to block or to leave its thread to a long call.
    /// True if there was any.
    pub fn share_all(&self, hot: &Hot) -> bool {
        let head = self.position(hot.head());
        let has_private = self.load(Ordering::Relaxed).split() < head;
        if has_private {
            self.share_up_to(hot, |_| head);
        }
        has_private
    }

    /// Goes on with a pop that met its bound: the slot is shared, stolen, or somebody asks for work.
    ///
    /// # Safety
    /// `hot` is the owner's, and `slot` what it has just popped.
    pub unsafe fn pop_slow(&self, hot: &Hot, slot: *mut Slot) -> Popped {
        let position = self.position(slot);
        let mut word = self.load(Ordering::Acquire);
        loop {
            if word.tail() > position {
                return Popped::Stolen;
            }
            let shared = word.split() > position;
            let (split, answers) = if shared {
                // Take back half of what thieves could have: one at a time would come here at each pop.
                (position - policy::take_back(position - word.tail()), false)
            } else {
                // Private, and somebody asks: answer with half of what lies below, if anything does. If not, the
                // request stays in the push bound.
                let below = position - word.split();
                if below > 0 && hot.is_asked() {
                    (word.split() + policy::publish(below), true)
                } else {
                    (word.split(), false)
                }
            };
            // INVARIANT(I3): bound first, then the word. A forcing thief that read the word before this change fails;
            // one that reads it after asks after our bound was written, so that its request stands.
            if !is_planted("fork_word_before_bound") {
                hot.set_pop_limit(self.at(split));
            }
            match self.swap_word(word, word.move_split(split)) {
                Ok(()) => {
                    if is_planted("fork_word_before_bound") {
                        hot.set_pop_limit(self.at(split));
                    }
                    if !answers {
                        return Popped::Mine;
                    }
                    hot.clear_asked(self.at(SLOTS));
                    // ORDERING(FORK-E8): as in `share_half`.
                    fence(Ordering::SeqCst);
                    return Popped::MineAndShared;
                }
                Err(found) => word = found,
            }
        }
    }

    /// The owner of a stolen slot stands on it again while it waits, so that what it runs meanwhile is pushed above.
    ///
    /// # Safety
    /// `hot` is the owner's, and `slot` what it has just popped and found stolen.
    pub unsafe fn stand_above(&self, hot: &Hot, slot: *mut Slot) {
        hot.set_head(slot.wrapping_add(1));
    }

    /// After the stolen slot is done: frees it and everything above.
    ///
    /// # Safety
    /// `hot` is the owner's, which stands above `slot`, and the slot is done.
    pub unsafe fn reset(&self, hot: &Hot, slot: *mut Slot) {
        let position = self.position(slot);
        debug_assert_eq!(hot.head(), slot.wrapping_add(1));
        self.slot(position).clear();
        hot.set_head(slot);
        hot.set_pop_limit(slot);
        let mut word = self.load(Ordering::Relaxed);
        while let Err(found) = self.swap_word(word, word.reset(position)) {
            word = found;
        }
    }

    /// The owner is about to run something that whatever is on its stack does not need: what that forks is not for those who wait
    /// for a job below.
    pub fn begin_stranger(&self) {
        // ORDERING(FORK-E9): relaxed; the swap that shares the first fork above, or the head that a forcing thief reads, publishes it.
        if !is_planted("fork_strangers_uncounted") {
            self.strangers.store(self.strangers() + 1, Ordering::Relaxed);
        }
    }

    /// It is over, and all that it has forked.
    pub fn end_stranger(&self) {
        if !is_planted("fork_strangers_uncounted") {
            self.strangers.store(self.strangers() - 1, Ordering::Relaxed);
        }
    }

    /// Whether a fork of the owner's waits to be run, by anybody.
    #[inline]
    pub fn has_pending(&self, hot: &Hot) -> bool {
        // ORDERING: relaxed; only the owner adds, and a claim that is not seen yet is seen at the next look.
        self.position(hot.head()) > self.load(Ordering::Relaxed).tail()
    }
}
