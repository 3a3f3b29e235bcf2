//! Who sleeps, who waits, who wants a permit: plain lists behind one lock, one function per transition. Who holds which permit is
//! in the words beside them.
//!
//! Everything here happens when a thread goes to sleep, is woken, or blocks: microseconds are spent in the kernel next to it,
//! so the lock costs nothing, and the bookkeeping, where half of the bugs of this field live, is sequential.

use super::hold::Hold;
use super::words::Words;
use heist_sync::StdArc as Arc;
use heist_sync::planted::is_planted;
use std::collections::VecDeque;

/// A permit that goes to a thread, which has to be told before the lock is given back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub struct Grant {
    pub thread: u16,
    pub index: u16,
}

/// What a wake-up leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Wake {
    /// No permit is free, or no thread can be had for it.
    Nobody,
    /// A sleeping thread gets a permit, to search with.
    Grant(Grant),
    /// A permit is free and no thread sleeps: start one with this index, or call `start_failed`.
    Start(u16),
}

/// What became of a permit that a thread wants back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum TakeBack {
    /// It is the thread's again.
    Have,
    /// Its holder has observed it, and gives it at its next job boundary.
    Asked,
}

/// See the module.
///
/// INVARIANT(P2): a permit is in `free` or in `withheld`, or its word names exactly one thread, or it is on its way to a thread that starts.
///
/// INVARIANT(P3): a thread is in at most one of `parked`, `lenders` and `wanting`, and in `wanted` at most once.
///
/// INVARIANT(P4): while a permit is free nobody wants it: `wanted` is served first, then `wanting`.
///
/// INVARIANT(P5): what is free is active, what is withheld is not, and the word of a permit that is held and not active says that it is
/// wanted.
#[derive(Debug)]
pub struct Ledger {
    words: Arc<Words>,
    /// Permits below this are active: they may be free.
    active: u16,
    free: Vec<u16>,
    /// Permits that nobody holds and nobody gets, because they are not active.
    withheld: Vec<u16>,
    /// Threads at their loop's bottom without anything to do.
    parked: Vec<u16>,
    /// Threads that sleep in a wait, and the permit that each has lent. Woken to help where no other thread can be had.
    lenders: Vec<(u16, u16)>,
    /// Per index: threads that have observed it, have lent it, and wait to have it back.
    wanted: Vec<Vec<u16>>,
    /// Threads that go on without a permit and would take any.
    wanting: VecDeque<u16>,
    /// Thread and permit are one: a parked thread is woken with its own permit only.
    is_bound: bool,
}

impl Ledger {
    /// All `n` permits are free; the lowest is given first.
    pub fn new(words: Arc<Words>, n: usize, is_bound: bool) -> Self {
        Self {
            words,
            active: n as u16,
            free: (0..n as u16).rev().collect(),
            withheld: Vec::new(),
            parked: Vec::new(),
            lenders: Vec::new(),
            wanted: vec![Vec::new(); n],
            wanting: VecDeque::new(),
            is_bound,
        }
    }

    pub fn free(&self) -> &[u16] {
        &self.free
    }

    /// Those that nobody gets until there are more active ones again.
    pub fn withheld(&self) -> &[u16] {
        &self.withheld
    }

    pub fn parked(&self) -> &[u16] {
        &self.parked
    }

    pub fn wanting(&self) -> usize {
        self.wanting.len()
    }

    fn hold(&mut self, thread: u16, index: u16, observed: bool) -> Grant {
        debug_assert_eq!(self.words.get(index).thread(), None, "permit {index} has two holders");
        let is_wanted = !self.wanted[usize::from(index)].is_empty() || !self.is_active(index);
        self.words.set(index, Hold::by(thread).observed(observed).wanted(is_wanted));
        Grant { thread, index }
    }

    fn is_active(&self, index: u16) -> bool {
        index < self.active
    }

    fn take_free(&mut self, index: u16) -> bool {
        take_out(&mut self.free, |&i| i == index).is_some()
    }

    /// As `take_free`, also if it is withheld.
    fn take_idle(&mut self, index: u16) -> bool {
        self.take_free(index) || take_out(&mut self.withheld, |&i| i == index).is_some()
    }

    /// From here on the first `n` permits are active. The others are withheld as soon as their holders come to their next job boundary.
    /// Those that become active again go to whoever wants one, or are free.
    #[must_use]
    pub fn set_active(&mut self, n: u16) -> Vec<Grant> {
        let before = std::mem::replace(&mut self.active, n);
        for index in n..before {
            if self.take_free(index) {
                self.withheld.push(index);
            } else if self.words.get(index).thread().is_some() {
                self.words.mark_wanted(index);
            }
        }
        let mut grants = Vec::new();
        for index in (before..n).rev() {
            if take_out(&mut self.withheld, |&i| i == index).is_some() {
                if is_planted("permit_active_again_is_free") {
                    self.free.push(index);
                    continue;
                }
                grants.extend(self.pass_on(index));
            } else if self.wanted[usize::from(index)].is_empty() || is_planted("permit_active_again_unmarks")
            {
                self.words.unmark_wanted(index);
            }
        }
        grants
    }

    /// The permit has no holder any more: it goes to the last thread that wants this one, or to the first that wants any, or
    /// becomes free. One that is not active goes to nobody but those that have observed it.
    fn pass_on(&mut self, index: u16) -> Option<Grant> {
        self.words.set(index, Hold::NOBODY);
        if let Some(thread) = self.wanted[usize::from(index)].pop() {
            return Some(self.hold(thread, index, true));
        }
        if !self.is_active(index) {
            self.withheld.push(index);
            return None;
        }
        if let Some(thread) = self.wanting.pop_front() {
            return Some(self.hold(thread, index, false));
        }
        self.free.push(index);
        None
    }

    /// `thread` stops running with `index`, if it still holds it.
    pub fn release(&mut self, thread: u16, index: u16) -> Option<Grant> {
        if self.words.get(index).is_by(thread) { self.pass_on(index) } else { None }
    }

    /// The permit is taken from a thread that has not observed it, and is blocked. `None` if that thread holds it no longer, or has
    /// observed it.
    pub fn revoke(&mut self, thread: u16, index: u16) -> Option<Option<Grant>> {
        self.words.take(index, thread, Hold::NOBODY).then(|| self.pass_on(index))
    }

    /// A free permit goes to a running thread.
    pub fn acquire(&mut self, thread: u16, index: u16) -> Option<u16> {
        self.take_free(index).then(|| self.hold(thread, index, false).index)
    }

    /// As [`acquire`](Self::acquire), `home` if it is free, else any that `thread` may have.
    pub fn acquire_any(&mut self, thread: u16, home: u16) -> Option<u16> {
        self.acquire(thread, home).or_else(|| {
            let index = self.free.iter().copied().rfind(|&index| self.may_have(home, index))?;
            self.acquire(thread, index)
        })
    }

    /// Whether a thread that had `home` last may have `index`.
    pub fn may_have(&self, home: u16, index: u16) -> bool {
        !self.is_bound || home == index
    }

    /// A guest gets the permit that has been free for longest: the threads that slept last keep theirs. Where thread and permit are
    /// one there are no guests.
    pub fn borrow(&mut self, thread: u16) -> Option<u16> {
        let index = self.free.first().copied().filter(|_| !self.is_bound)?;
        self.acquire(thread, index)
    }

    /// `thread` has nothing to do and will sleep.
    pub fn park(&mut self, thread: u16) {
        self.parked.push(thread);
    }

    /// `thread` does not sleep after all, or leaves. False if it was not in the list: somebody has just woken it.
    pub fn unpark(&mut self, thread: u16) -> bool {
        take_out(&mut self.parked, |&t| t == thread).is_some()
    }

    /// The parked thread with the lowest `rank` is woken next; of equals, as before, that which slept last. The resident one stays where it is.
    pub fn bring_near(&mut self, rank: impl Fn(u16) -> u8) {
        let resident = self.words.resident();
        let others = self.parked.iter().enumerate().rev().filter(|(_, thread)| Some(**thread) != resident);
        if let Some((at, _)) = others.min_by_key(|(_, thread)| rank(**thread)) {
            let nearest = self.parked.remove(at);
            self.parked.push(nearest);
        }
    }

    /// A parked thread, to be woken without a permit: the resident one, or else that which slept last.
    pub fn unpark_any(&mut self) -> Option<u16> {
        match self.words.resident() {
            Some(resident) if self.unpark(resident) => Some(resident),
            _ => self.parked.pop(),
        }
    }

    /// The pool is over: all that are parked, to be told.
    pub fn dismiss(&mut self) -> Vec<u16> {
        std::mem::take(&mut self.parked)
    }

    /// `thread` sleeps in a wait and has lent `index`. It may be woken to help with it.
    pub fn wait(&mut self, thread: u16, index: u16) {
        self.lenders.push((thread, index));
    }

    /// The wait of `thread` is over. False if it was not in the list: it has been granted a permit to help with.
    pub fn end_wait(&mut self, thread: u16) -> bool {
        take_out(&mut self.lenders, |&(t, _)| t == thread).is_some()
    }

    /// There is work: somebody gets a free permit, the one in `only` if only its holder may do that work. The thread that slept last
    /// is the warmest; it gets the permit that it had (`home`) if that is free. A permit that was active when it was given such work still
    /// goes to somebody for it, unless none is.
    pub fn wake(&mut self, only: Option<u16>, may_start: bool, home: impl Fn(u16) -> u16) -> Wake {
        let (free, withheld) = (&self.free, &self.withheld);
        let has_active = self.active > 0;
        let may = |index: u16| match only {
            Some(only) => only == index && (free.contains(&index) || has_active && withheld.contains(&index)),
            None => free.contains(&index),
        };
        let Some(last) = only.or(free.last().copied()).filter(|&index| may(index)) else {
            return Wake::Nobody;
        };
        let fits = |&thread: &u16| !self.is_bound || may(home(thread));
        // The thread that sits in the driver stays there, unless no other can be had.
        let resident = self.words.resident();
        let mut parked = take_out(&mut self.parked, |thread| fits(thread) && Some(*thread) != resident);
        if parked.is_none() && !may_start {
            parked = take_out(&mut self.parked, fits);
        }
        let woken = match parked {
            Some(thread) if may(home(thread)) => Some((thread, home(thread))),
            Some(thread) => Some((thread, last)),
            None if may_start => {
                self.take_idle(last);
                return Wake::Start(last);
            }
            None => take_out(&mut self.lenders, |&(_, index)| may(index)),
        };
        let Some((thread, index)) = woken else { return Wake::Nobody };
        self.take_idle(index);
        Wake::Grant(self.hold(thread, index, false))
    }

    /// The thread of `Wake::Start` is there.
    pub fn started(&mut self, thread: u16, index: u16) {
        let _ = self.hold(thread, index, false);
    }

    /// The thread of `started` never ran: the permit is on its way again.
    pub fn unstarted(&mut self, index: u16) {
        self.words.set(index, Hold::NOBODY);
    }

    /// The thread of `Wake::Start` could not be started. Who wants the permit gets it, and goes on with what it does; else a sleeping
    /// waiter that has lent it is woken to help, and to search with it: then the answer's second part is true; else it is free.
    #[must_use]
    pub fn start_failed(&mut self, index: u16) -> (Option<Grant>, bool) {
        let wanted = self.pass_on(index);
        if wanted.is_none()
            && let Wake::Grant(grant) = self.wake(Some(index), false, |_| index)
        {
            return (Some(grant), true);
        }
        (wanted, false)
    }

    /// Permits from `n` up, all free, do not exist any more: their threads could not be started.
    pub fn drop_from(&mut self, n: u16) {
        self.free.retain(|&i| i < n);
        self.withheld.retain(|&i| i < n);
        // Those of threads that are not started after all are given back in a moment.
        let held = (n..self.wanted.len() as u16).filter(|&i| self.words.get(i).thread().is_some());
        held.for_each(|i| self.words.mark_wanted(i));
        self.active = self.active.min(n);
    }

    /// `thread` has observed `index`, has lent it, and wants it back.
    pub fn take_back(&mut self, thread: u16, index: u16) -> TakeBack {
        if self.take_idle(index) {
            let _ = self.hold(thread, index, true);
            return TakeBack::Have;
        }
        let wanted = &mut self.wanted[usize::from(index)];
        let is_wanted = !wanted.is_empty() || index >= self.active;
        let next = Hold::by(thread).observed(true).wanted(is_wanted);
        // LIVENESS: before we try; partner: `at_bottom`.
        if !is_planted("permit_wanted_too_late") {
            self.words.mark_wanted(index);
        }
        if let Some(holder) = self.words.get(index).thread()
            && self.words.take(index, holder, next)
        {
            return TakeBack::Have;
        }
        wanted.push(thread);
        if is_planted("permit_wanted_too_late") {
            self.words.mark_wanted(index);
        }
        TakeBack::Asked
    }

    /// `thread` goes on after a wait in which it has lent a permit that it has not observed: with that one (`first`), or another,
    /// or without, until somebody passes one on.
    pub fn resume(&mut self, thread: u16, first: u16) -> Option<u16> {
        if let Some(index) = self.acquire_any(thread, first) {
            return Some(index);
        }
        if self.is_bound && self.take_idle(first) {
            // Thread and permit are one, and the permit is withheld. The thread keeps it until its next job boundary.
            return Some(self.hold(thread, first, false).index);
        }
        self.wanting.push_back(thread);
        None
    }

    /// `thread` wants no permit any more. False if it did not, or has just been granted one.
    pub fn stop_wanting(&mut self, thread: u16) -> bool {
        match self.wanting.iter().position(|&t| t == thread) {
            Some(at) => self.wanting.remove(at).is_some(),
            None => false,
        }
    }

    /// P2 to P4, for tests and debug builds.
    #[cfg(any(test, debug_assertions))]
    pub fn check(&self) {
        let mut idle = vec![0; self.wanted.len()];
        self.free.iter().chain(&self.withheld).for_each(|&index| idle[usize::from(index)] += 1);
        for (index, hold) in self.words.iter().enumerate() {
            let free = idle[index];
            assert!(free + usize::from(hold.thread().is_some()) <= 1, "permit {index} is free and held");
            assert!(free == 0 || self.wanted[index].is_empty(), "permit {index} is free and wanted");
        }
        assert!(self.free.iter().all(|&f| self.is_active(f)), "a permit is free and not active");
        assert!(!self.withheld.iter().any(|&f| self.is_active(f)), "an active permit is withheld");
        let is_marked =
            |index: u16| self.words.get(index).thread().is_none() || self.words.get(index).is_wanted();
        let all = self.wanted.len() as u16;
        assert!((self.active..all).all(is_marked), "a permit that is not active is held, and not wanted");
        assert!(
            self.free.is_empty() || self.wanting.is_empty(),
            "a permit is free and somebody would take any"
        );
        assert!(
            !self.is_bound || self.wanting.is_empty(),
            "a thread that is one with its permit wants another"
        );
        for t in &self.parked {
            let waits = self.lenders.iter().any(|(l, _)| l == t);
            assert!(!waits && !self.wanting.contains(t), "thread {t} is parked and waiting or wanting");
        }
        for (t, _) in &self.lenders {
            assert!(!self.wanting.contains(t), "thread {t} is waiting and wanting");
        }
    }
}

/// Removes the last element for which `is_it` holds.
fn take_out<T: Copy>(list: &mut Vec<T>, is_it: impl Fn(&T) -> bool) -> Option<T> {
    list.iter().rposition(is_it).map(|at| list.remove(at))
}
