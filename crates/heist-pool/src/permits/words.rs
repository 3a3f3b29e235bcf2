//! The words of all permits.

use super::hold::Hold;
use crossbeam_utils::CachePadded;
use heist_sync::atomic::{AtomicU32, Ordering};
use heist_sync::planted::is_planted;

/// One word for each permit, by index; see [`Hold`] for who may change what.
#[derive(Debug)]
pub struct Words {
    holds: Box<[CachePadded<AtomicU32>]>,
    /// One more than the number of the thread that sits in the driver without a permit, because all that hold one compute; 0 for
    /// none.
    resident: AtomicU32,
}

/// What a thread at its loop's bottom learns about the permit that it believes to hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtBottom {
    /// It holds the permit, and nobody in particular wants it.
    Held,
    /// It holds the permit, and a thread that has asked for its index waits for it.
    Wanted,
    /// Somebody has taken it.
    Lost,
}

impl Words {
    pub fn new(permits: usize) -> Self {
        let hold = |_| CachePadded::new(AtomicU32::new(Hold::NOBODY.0));
        Self { holds: (0..permits).map(hold).collect(), resident: AtomicU32::new(0) }
    }

    #[inline]
    pub fn get(&self, index: u16) -> Hold {
        Hold(self.holds[usize::from(index)].load(Ordering::Relaxed))
    }

    /// The permit that `thread` holds. `home`: the one that it had last.
    pub fn index_of(&self, thread: u16, home: u16) -> Option<u16> {
        if self.get(home).is_by(thread) {
            return Some(home);
        }
        (0..).zip(self.iter()).find(|(_, hold)| hold.is_by(thread)).map(|(index, _)| index)
    }

    /// All of them, by index.
    pub fn iter(&self) -> impl Iterator<Item = Hold> {
        self.holds.iter().map(|word| Hold(word.load(Ordering::Relaxed)))
    }

    /// Another holder, or none, under the lock and for the present holder or if there is none.
    pub(super) fn set(&self, index: u16, hold: Hold) {
        // ORDERING: relaxed; the lock orders whoever changes the holder, and a grant carries the rest (PERMIT-E2).
        self.holds[usize::from(index)].store(hold.0, Ordering::Relaxed);
    }

    /// Under the lock.
    pub(super) fn mark_wanted(&self, index: u16) {
        self.holds[usize::from(index)].fetch_or(Hold::WANTED, Ordering::Relaxed);
    }

    /// Under the lock.
    pub(super) fn unmark_wanted(&self, index: u16) {
        self.holds[usize::from(index)].fetch_and(!Hold::WANTED, Ordering::Relaxed);
    }

    /// Changes the word, unless `change` says no.
    fn change(&self, index: u16, change: impl Fn(Hold) -> Option<Hold>) -> bool {
        let change = |word| change(Hold(word)).map(|hold| hold.0);
        // ORDERING(PERMIT-E1): acquire and release between the holder that observes and the thread that takes: one word, so one
        // of the two comes first, and the other sees it. What the index guards is the program's, and passed on by a job
        // boundary (the lock) or by nobody: an unobserved index guards nothing.
        self.holds[usize::from(index)].fetch_update(Ordering::AcqRel, Ordering::Relaxed, change).is_ok()
    }

    /// The holder has been asked for its index. False if it has lost the permit meanwhile.
    #[must_use]
    pub fn observe(&self, index: u16, thread: u16) -> bool {
        if is_planted("permit_observed_unseen") {
            return self.get(index).is_by(thread);
        }
        self.change(index, |now| now.is_by(thread).then(|| now.observed(true)))
    }

    /// The holder is at its loop's bottom, where nothing can have kept the index.
    #[inline]
    pub fn at_bottom(&self, index: u16, thread: u16) -> AtBottom {
        let mut now = self.get(index);
        if !now.is_by(thread) {
            return AtBottom::Lost;
        }
        if now.is_observed() {
            // ORDERING(PERMIT-E1): release what the program did with the index to whoever takes the permit from here on. Nobody
            // but the holder changes an observed word, except for the wanted bit.
            // LIVENESS: who wants the permit marks it before it looks whether it may be taken. So that one finds it not observed, or
            // we find the mark in this same step: nobody waits for a job that begins only now.
            let before = self.holds[usize::from(index)].fetch_and(!Hold::OBSERVED, Ordering::Release);
            if !is_planted("permit_wanted_seen_too_early") {
                now = Hold(before);
            }
        }
        if now.is_wanted() { AtBottom::Wanted } else { AtBottom::Held }
    }

    /// Takes the permit from `holder`, if that has not observed it; under the lock.
    #[must_use]
    pub(super) fn take(&self, index: u16, holder: u16, next: Hold) -> bool {
        let may = |now: Hold| {
            now.is_by(holder) && (!now.is_observed() || is_planted("permit_taken_though_observed"))
        };
        self.change(index, |now| may(now).then_some(next))
    }

    /// The thread that sits in the driver without a permit.
    pub fn resident(&self) -> Option<u16> {
        match self.resident.load(Ordering::Relaxed) {
            0 => None,
            n => Some((n - 1) as u16),
        }
    }

    /// `thread` is the one that sits in the driver from here on, unless there is one.
    pub fn settle(&self, thread: u16) -> bool {
        // ORDERING: relaxed; a hint for those who choose whom to wake.
        let (from, to) = (Ordering::Relaxed, Ordering::Relaxed);
        let now = self.resident.compare_exchange(0, u32::from(thread) + 1, from, to);
        now.is_ok() || now == Err(u32::from(thread) + 1)
    }

    /// `thread` does not sit there any more.
    pub fn move_out(&self, thread: u16) {
        let (from, to) = (Ordering::Relaxed, Ordering::Relaxed);
        // Only the thread itself writes that it is the one, so a look is enough for the others: guests come by here often.
        if self.resident.load(Ordering::Relaxed) == u32::from(thread) + 1 {
            let _ = self.resident.compare_exchange(u32::from(thread) + 1, 0, from, to);
        }
    }
}
