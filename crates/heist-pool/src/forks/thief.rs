//! The thieves' side: claim the oldest shared job, ask for more, force an owner that does not answer.

use super::{Hot, SLOTS, Slot, Stack};
use heist_sync::atomic::{Ordering, fence};
use heist_sync::barrier;

/// A job that has been claimed and must be run.
#[derive(Debug)]
#[must_use = "a claimed job that is not run is lost"]
pub struct Claimed<'a> {
    slot: &'a Slot,
}

impl Claimed<'_> {
    /// Signs the slot, runs the job, and hands the frame back. True if its owner sleeps and has to be woken.
    ///
    /// `floor` is the position from which on the calling thread's own stack holds only what this job forks.
    pub fn run(self, thief: u16, floor: usize) -> bool {
        self.slot.sign(thief, floor);
        let (call, frame) = self.slot.job();
        // SAFETY: the claim made the job ours alone, and its owner keeps the frame until the slot is done.
        unsafe { call(frame) };
        self.slot.finish()
    }
}

/// What a look at a victim gave.
#[derive(Debug)]
#[must_use]
pub enum Look<'a> {
    /// A job.
    Claimed(Claimed<'a>),
    /// Somebody else was faster; there may be more.
    Lost,
    /// The owner has jobs, but shares none. It has been asked.
    Asked,
    /// Nothing there.
    Nothing,
}

impl Stack {
    /// Claims the oldest shared job, or asks the owner to share if it only has private ones.
    pub fn steal(&self) -> Look<'_> {
        self.steal_if(|_| true)
    }

    /// As [`steal`](Self::steal), for a waiter that may only take what was forked by the job in its own `slot`, which the
    /// owner of this stack has taken and runs above `floor`. `still_runs` tells whether it has not ended.
    pub fn steal_back(&self, floor: usize, still_runs: impl FnOnce() -> bool) -> Look<'_> {
        // ORDERING(E3): the word is loaded with acquire before `still_runs` looks at the slot: if the job had not ended by
        // then, the word is one of its time. The owner must move the border, and so change the epoch, before the job
        // can end; then the claim fails (I2).
        let may = |tail| cfg!(heist_planted = "fork_no_floor") || tail >= floor;
        self.steal_if(|tail| may(tail) && still_runs())
    }

    fn steal_if(&self, may: impl FnOnce(usize) -> bool) -> Look<'_> {
        let word = self.load(Ordering::Acquire);
        let Some(claimed) = word.claim() else {
            return if self.ask_if_private(word.split()) { Look::Asked } else { Look::Nothing };
        };
        if !may(word.tail()) {
            return Look::Nothing;
        }
        match self.swap_word(word, claimed) {
            Ok(()) => Look::Claimed(Claimed { slot: self.slot(word.tail()) }),
            Err(_) => Look::Lost,
        }
    }

    fn ask_if_private(&self, split: usize) -> bool {
        self.visit(|hot| {
            let private = hot.head_seen_by_thief() > self.at(split);
            if private {
                hot.ask();
            }
            private
        })
        .unwrap_or(false)
    }

    /// Asks the owner to share at its next push, for a thread that goes to sleep and has said so behind a fence. If true,
    /// the caller then calls [`barrier::heavy`], once for all stacks. It looks with [`has_jobs`](Self::has_jobs).
    #[must_use]
    pub fn arm(&self) -> bool {
        self.visit(Hot::arm).unwrap_or(false)
    }

    /// Whether a job, shared or private, was there to be taken.
    pub fn has_jobs(&self) -> bool {
        let word = self.load(Ordering::Acquire);
        word.tail() < word.split()
            || self.visit(|hot| hot.head_seen_by_thief() > self.at(word.split())).unwrap_or(false)
    }

    /// Shares everything on behalf of an owner that does not answer. True if something is shared now.
    ///
    /// Dear: it interrupts every core that runs a thread of this process.
    pub fn force(&self) -> bool {
        let word = self.load(Ordering::Acquire);
        if word.tail() < word.split() {
            return true;
        }
        if self.visit(Hot::ask).is_none() {
            return false;
        }
        // ORDERING(E5): our request before our look at the head; partner: `pop_is_slow`.
        barrier::heavy();
        // Not the slot beyond the limit: a push onto a full stack is taken back.
        let end = if cfg!(heist_planted = "fork_force_beyond_the_end") { SLOTS + 1 } else { SLOTS };
        let Some(head) = self.visit(|hot| self.position(hot.head_seen_by_thief()).min(end)) else {
            return false;
        };
        if head <= word.split() {
            return false;
        }
        // The word has not changed since before our request. So the owner has not restored its bound since (I3): it cannot
        // pop without coming to its slow path, and there it meets our word.
        self.swap_word(word, word.move_split(head)).is_ok()
    }

    /// Calls `f` with the owner's block, if there is an owner. `f` must be short: an owner that leaves waits for it.
    fn visit<R>(&self, f: impl FnOnce(&Hot) -> R) -> Option<R> {
        self.visitors.fetch_add(1, Ordering::Relaxed);
        // ORDERING(E7): our count before our look at `hot`; partner: `leave`.
        fence(Ordering::SeqCst);
        let hot = self.hot.load(Ordering::Acquire);
        // SAFETY: not null, so the owner has not left, and it will not before our count is taken back (E7). What `f` may
        // touch (head, bounds) is atomic; `local` is a cell that no method used here reads.
        let result = (!hot.is_null()).then(|| f(unsafe { &*hot }));
        self.visitors.fetch_sub(1, Ordering::Release);
        result
    }
}
