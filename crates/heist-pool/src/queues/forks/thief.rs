//! The thieves' side: claim the oldest shared job, ask for more, force an owner that does not answer.

use super::{Floor, Hot, SLOTS, Slot, Stack};
use crate::profile;
use heist_sync::atomic::{Ordering, fence};
use heist_sync::barrier;
use heist_sync::planted::is_planted;

/// A job that has been claimed and must be run.
#[derive(Debug)]
#[must_use = "a claimed job that is not run is lost"]
pub struct Claimed<'a> {
    slot: &'a Slot,
}

impl Claimed<'_> {
    /// Signs the slot, runs the job, and hands the frame back. True if its owner sleeps and has to be woken.
    ///
    /// `floor` says from where on the calling thread's own stack holds only what this job forks.
    pub fn run(self, thief: u16, floor: Floor) -> bool {
        self.slot.sign(thief, floor);
        let (call, frame) = self.slot.job();
        // SAFETY: the claim made the job ours alone, and its owner keeps the frame until the slot is done.
        let run = || unsafe { call(frame) };
        if profile::is_on() {
            // Whether the owner wants to know it knows itself.
            let outcome = profile::measured(self.slot.code(), run);
            return self.slot.finish_measured(outcome);
        }
        run();
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
    /// Nothing there that the caller may take. If there was nothing at all, the owner has been asked to share what comes.
    Nothing,
}

/// How closely a thief looks at a stack that shares nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Care {
    /// An owner that has been asked is left alone until it answers: the line with its head, which it writes at each fork, stays
    /// with it. [`Look::Nothing`] then only means that nothing is shared.
    Glance,
    /// See whether there are private jobs.
    Full,
}

impl Care {
    /// For the `round`th look in a row.
    pub fn in_round(round: u32) -> Self {
        /// Some microseconds: little against how long an owner may leave a request unanswered before it is forced.
        const FULL_EVERY: u32 = heist_sync::capacity(8, 1) as u32;
        if round.is_multiple_of(FULL_EVERY) { Self::Full } else { Self::Glance }
    }
}

impl Stack {
    /// Claims the oldest shared job, or asks the owner to share.
    pub fn steal(&self, care: Care) -> Look<'_> {
        self.steal_if(care, |_| true)
    }

    /// Where the forks of a job begin that the owner runs now.
    pub fn floor(&self, hot: &Hot) -> Floor {
        Floor { position: self.position(hot.head()), strangers: self.strangers() }
    }

    /// As [`steal`](Self::steal), for a waiter that may only take what was forked by the job in its own `slot`, which the
    /// owner of this stack has taken and runs above `floor`. `still_runs` tells whether it has not ended.
    pub fn steal_back(&self, care: Care, floor: Floor, still_runs: impl FnOnce() -> bool) -> Look<'_> {
        // ORDERING(FORK-E3): the word is loaded with acquire before `still_runs` looks at the slot: if the job had not ended by
        // then, the word is one of its time. The owner must move the border, and so change the epoch, before the job
        // can end; then the claim fails (I2).
        // ORDERING(FORK-E9): the word with acquire before the count of strangers: whoever shared a stranger's fork, or forced it open,
        // had seen the count. An older count comes with an older word, whose slots are the job's.
        let early = is_planted("fork_strangers_counted_too_early").then(|| self.strangers());
        let may = |tail| {
            (is_planted("fork_no_floor") || tail >= floor.position)
                && floor.strangers == early.unwrap_or_else(|| self.strangers())
        };
        self.steal_if(care, |tail| may(tail) && still_runs())
    }

    fn steal_if(&self, care: Care, may: impl FnOnce(usize) -> bool) -> Look<'_> {
        let word = self.load(Ordering::Acquire);
        let Some(claimed) = word.claim() else {
            return if self.ask(care, word.split()) { Look::Asked } else { Look::Nothing };
        };
        if !may(word.tail()) {
            return Look::Nothing;
        }
        match self.swap_word(word, claimed) {
            Ok(()) => Look::Claimed(Claimed { slot: self.slot(word.tail()) }),
            Err(_) => Look::Lost,
        }
    }

    /// Asks, even an owner that has nothing: its next job is then shared at once, and a loop that could be divided further
    /// learns that somebody is there. True if there are private jobs.
    fn ask(&self, care: Care, split: usize) -> bool {
        self.visit(|hot| {
            if care == Care::Glance && hot.is_asked() {
                return false;
            }
            hot.ask();
            hot.head_seen_by_thief() > self.at(split)
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

    /// How many jobs, shared or private, were there to be taken, about: the owner goes on meanwhile.
    pub fn seen_len(&self) -> usize {
        let word = self.load(Ordering::Acquire);
        let head = self.visit(|hot| self.position(hot.head_seen_by_thief())).unwrap_or(0).min(SLOTS);
        head.max(word.split()).saturating_sub(word.tail())
    }

    /// Shares everything on behalf of an owner that does not answer. True if something is shared now.
    ///
    /// Expensive: it interrupts every core that runs a thread of this process.
    pub fn force(&self) -> bool {
        let word = self.load(Ordering::Acquire);
        if word.tail() < word.split() {
            return true;
        }
        if self.visit(Hot::ask).is_none() {
            return false;
        }
        // ORDERING(FORK-E5): our request before our look at the head; partner: `pop_is_slow`.
        barrier::heavy();
        // Not the slot beyond the limit: a push onto a full stack is taken back.
        let end = if is_planted("fork_force_beyond_the_end") { SLOTS + 1 } else { SLOTS };
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
        // ORDERING(FORK-E7): our count before our look at `hot`; partner: `leave`.
        fence(Ordering::SeqCst);
        let hot = self.hot.load(Ordering::Acquire);
        // SAFETY: not null, so the owner has not left, and it will not before our count is taken back (FORK-E7). What `f` may
        // touch (head, bounds) is atomic; `local` is a cell that no method used here reads.
        let result = (!hot.is_null()).then(|| f(unsafe { &*hot }));
        self.visitors.fetch_sub(1, Ordering::Release);
        result
    }
}
