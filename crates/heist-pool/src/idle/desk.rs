//! Who holds which index, who sleeps, who waits for an index: a plain value behind one lock, one function per transition.
//!
//! Everything here happens when a thread goes to sleep, is woken, or blocks: microseconds are spent in the kernel next to it,
//! so the lock costs nothing, and the bookkeeping, where half of the bugs of this field live, is sequential.

/// An index that goes to a thread, which has to be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub struct Give {
    pub thread: u16,
    pub index: u16,
}

/// What a wake-up leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Wake {
    /// No index is free.
    Nobody,
    /// A sleeping thread gets an index, to search with.
    Give(Give),
    /// An index is free and no thread sleeps: start one with this index, or call `start_failed`.
    Start(u16),
}

/// What a thread whose wait is over gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Regain {
    /// Its index.
    Have,
    /// Its index is in use: the holder has been asked, and gives it at its next job boundary.
    Asked,
}

/// See the module.
///
/// INVARIANT(D1): an index is in `free`, or is held by exactly one thread, or is on its way to one that starts.
///
/// INVARIANT(D2): a thread is in at most one of `parked` and `lenders`.
///
/// INVARIANT(D3): while an index is free, nobody wants it: `wanted` is served first.
#[derive(Debug)]
pub struct Desk {
    free: Vec<u16>,
    parked: Vec<u16>,
    lenders: Vec<u16>,
    holder: Vec<Option<u16>>,
    wanted: Vec<Vec<u16>>,
}

impl Desk {
    /// All `n` indices are free; the lowest is given first.
    pub fn new(n: usize) -> Self {
        Self {
            free: (0..n as u16).rev().collect(),
            parked: Vec::new(),
            lenders: Vec::new(),
            holder: vec![None; n],
            wanted: vec![Vec::new(); n],
        }
    }

    pub fn free(&self) -> usize {
        self.free.len()
    }

    pub fn free_indices(&self) -> &[u16] {
        &self.free
    }

    pub fn parked(&self) -> &[u16] {
        &self.parked
    }

    /// The thread that runs with `index`.
    pub fn holder(&self, index: u16) -> Option<u16> {
        self.holder[index as usize]
    }

    /// Whether somebody waits for `index`.
    pub fn is_wanted(&self, index: u16) -> bool {
        !self.wanted[index as usize].is_empty()
    }

    fn hold(&mut self, thread: u16, index: u16) -> Give {
        debug_assert_eq!(self.holder[index as usize], None, "index {index} has two holders");
        self.holder[index as usize] = Some(thread);
        Give { thread, index }
    }

    fn take_free(&mut self, index: u16) -> bool {
        match self.free.iter().rposition(|&i| i == index) {
            Some(at) => {
                self.free.remove(at);
                true
            }
            None => false,
        }
    }

    /// `thread` stops running with `index`: it goes to the last that wants it, or becomes free.
    pub fn release(&mut self, thread: u16, index: u16) -> Option<Give> {
        debug_assert_eq!(self.holder[index as usize], Some(thread));
        self.holder[index as usize] = None;
        match self.wanted[index as usize].pop() {
            Some(wanter) => Some(self.hold(wanter, index)),
            None => {
                self.free.push(index);
                None
            }
        }
    }

    /// A particular free index, or with `None` any, goes to a running thread.
    pub fn acquire(&mut self, thread: u16, index: Option<u16>) -> Option<u16> {
        let index = match index {
            Some(index) => self.take_free(index).then_some(index)?,
            None => self.free.pop()?,
        };
        Some(self.hold(thread, index).index)
    }

    /// A guest gets the index that has been free for longest: the threads that slept last keep theirs.
    pub fn borrow(&mut self, thread: u16) -> Option<u16> {
        if self.free.is_empty() {
            return None;
        }
        let index = self.free.remove(0);
        Some(self.hold(thread, index).index)
    }

    /// `thread` has nothing to do and will sleep.
    pub fn park(&mut self, thread: u16) {
        debug_assert!(!self.parked.contains(&thread) && !self.lenders.contains(&thread));
        self.parked.push(thread);
    }

    /// `thread` does not sleep after all, or leaves. False if it was not in the list: somebody has just woken it.
    pub fn unpark(&mut self, thread: u16) -> bool {
        Self::take_out(&mut self.parked, thread)
    }

    /// The pool is over: all that are parked, to be told.
    pub fn dismiss(&mut self) -> Vec<u16> {
        std::mem::take(&mut self.parked)
    }

    /// `thread` sleeps in a wait. It may be woken to run others' jobs if no other thread can be had.
    pub fn wait(&mut self, thread: u16) {
        debug_assert!(!self.parked.contains(&thread) && !self.lenders.contains(&thread));
        self.lenders.push(thread);
    }

    /// The wait of `thread` is over, or it was woken. False if it was not in the list.
    pub fn end_wait(&mut self, thread: u16) -> bool {
        Self::take_out(&mut self.lenders, thread)
    }

    fn take_out(list: &mut Vec<u16>, thread: u16) -> bool {
        match list.iter().rposition(|&t| t == thread) {
            Some(at) => {
                list.remove(at);
                true
            }
            None => false,
        }
    }

    /// There is work: somebody gets a free index. The thread that slept last is the warmest; it gets the index that it
    /// had (`home`) if that is free.
    pub fn wake(&mut self, may_start: bool, home: impl FnOnce(u16) -> u16) -> Wake {
        if self.free.is_empty() {
            return Wake::Nobody;
        }
        let thread = match self.parked.pop() {
            Some(thread) => thread,
            None if may_start => return Wake::Start(self.free.pop().expect("not empty")),
            None => match self.lenders.pop() {
                Some(thread) => thread,
                None => return Wake::Nobody,
            },
        };
        let home = home(thread);
        let index = if self.take_free(home) { home } else { self.free.pop().expect("not empty") };
        Wake::Give(self.hold(thread, index))
    }

    /// As [`wake`](Self::wake), for work that only the holder of `index` may do.
    pub fn wake_for(&mut self, index: u16, may_start: bool) -> Wake {
        if !self.take_free(index) {
            return Wake::Nobody;
        }
        let thread = match self.parked.pop() {
            Some(thread) => thread,
            None if may_start => return Wake::Start(index),
            None => match self.lenders.pop() {
                Some(thread) => thread,
                None => {
                    self.free.push(index);
                    return Wake::Nobody;
                }
            },
        };
        Wake::Give(self.hold(thread, index))
    }

    /// The thread of `Wake::Start` is there.
    pub fn started(&mut self, thread: u16, index: u16) {
        let _ = self.hold(thread, index);
    }

    /// The thread of `Wake::Start` could not be started. A sleeping waiter takes its place if there is one.
    pub fn start_failed(&mut self, index: u16) -> Wake {
        match self.lenders.pop() {
            Some(thread) => Wake::Give(self.hold(thread, index)),
            None => {
                self.free.push(index);
                Wake::Nobody
            }
        }
    }

    /// The thread of `started` never ran: the index is on its way again.
    pub fn unhold(&mut self, index: u16) {
        self.holder[index as usize] = None;
    }

    /// Indices from `n` up, all free, do not exist any more: their threads could not be started.
    pub fn drop_free_from(&mut self, n: usize) {
        self.free.retain(|&i| usize::from(i) < n);
    }

    /// `thread` wants the index back that it had before its wait.
    pub fn want(&mut self, thread: u16, index: u16) -> Regain {
        if self.take_free(index) {
            let _ = self.hold(thread, index);
            return Regain::Have;
        }
        self.wanted[index as usize].push(thread);
        Regain::Asked
    }

    /// `thread` goes on without the index that it wanted. False if it has just been given.
    pub fn forgo(&mut self, thread: u16, index: u16) -> bool {
        Self::take_out(&mut self.wanted[index as usize], thread)
    }

    /// D1 to D3, for tests and debug builds.
    #[cfg(any(test, debug_assertions))]
    pub fn check(&self) {
        for (i, holder) in self.holder.iter().enumerate() {
            let free = self.free.iter().filter(|&&f| f as usize == i).count();
            assert!(free + usize::from(holder.is_some()) <= 1, "index {i} is free and held");
            assert!(free == 0 || self.wanted[i].is_empty(), "index {i} is free and wanted");
        }
        for t in &self.parked {
            assert!(!self.lenders.contains(t), "thread {t} is parked and waiting");
        }
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn an_index_lent_comes_back_to_the_last_that_wants_it() {
        let mut d = Desk::new(1);
        assert_eq!(d.acquire(0, None), Some(0));
        // Thread 0 lends, 1 borrows and lends too, 2 borrows.
        assert_eq!(d.release(0, 0), None);
        d.wait(0);
        d.park(1);
        assert_eq!(d.wake(false, |_| 0), Wake::Give(Give { thread: 1, index: 0 }));
        assert_eq!(d.release(1, 0), None);
        d.wait(1);
        assert_eq!(d.wake(true, |_| 0), Wake::Start(0));
        d.started(2, 0);
        d.check();
        assert!(d.end_wait(0));
        assert_eq!(d.want(0, 0), Regain::Asked);
        assert!(d.end_wait(1));
        assert_eq!(d.want(1, 0), Regain::Asked);
        assert_eq!(d.release(2, 0), Some(Give { thread: 1, index: 0 }));
        assert_eq!(d.release(1, 0), Some(Give { thread: 0, index: 0 }));
        assert_eq!(d.release(0, 0), None);
        d.check();
        assert_eq!(d.free(), 1);
    }

    #[test]
    fn without_spares_a_waiter_is_woken() {
        let mut d = Desk::new(2);
        assert_eq!(d.acquire(0, None), Some(0));
        assert_eq!(d.release(0, 0), None);
        d.wait(0);
        assert_eq!(d.wake(true, |_| 0), Wake::Start(0));
        assert_eq!(d.start_failed(0), Wake::Give(Give { thread: 0, index: 0 }));
        assert_eq!(d.wake(false, |_| 0), Wake::Nobody);
        d.check();
    }

    #[test]
    fn a_thread_gets_its_old_index_if_it_can() {
        let mut d = Desk::new(3);
        d.park(7);
        d.park(8);
        assert_eq!(d.wake(false, |_| 2), Wake::Give(Give { thread: 8, index: 2 }));
        assert_eq!(d.wake(false, |_| 2), Wake::Give(Give { thread: 7, index: 0 }));
        assert_eq!(d.wake(false, |_| 2), Wake::Nobody);
        assert_eq!(d.wake_for(2, true), Wake::Nobody);
        assert_eq!(d.wake_for(1, true), Wake::Start(1));
        d.check();
    }

    /// Every sequence of up to seven steps of three threads over two indices keeps D1 to D3, and nobody gets an index
    /// that somebody else holds (asserted in `hold`).
    #[test]
    fn all_short_histories_keep_the_invariants() {
        #[derive(Clone, Copy, PartialEq, Debug)]
        enum T {
            Running(Option<u16>),
            Parked,
            Waiting(u16),
            Wanting(u16),
        }
        fn give(ts: &mut [T], g: Give) {
            ts[g.thread as usize] = T::Running(Some(g.index));
        }
        fn rebuild(script: &[(usize, usize)]) -> Option<()> {
            let mut d = Desk::new(2);
            let mut ts = [T::Running(None); 3];
            for &(t, verb) in script {
                let id = t as u16;
                match (verb, ts[t]) {
                    (0, T::Running(None)) => {
                        ts[t] = T::Running(d.acquire(id, None));
                    }
                    (1, T::Running(index)) => {
                        let g = index.and_then(|i| d.release(id, i));
                        ts[t] = T::Parked;
                        d.park(id);
                        if let Some(g) = g {
                            give(&mut ts, g);
                        }
                    }
                    (2, T::Running(Some(i))) => {
                        let g = d.release(id, i);
                        ts[t] = T::Waiting(i);
                        d.wait(id);
                        if let Some(g) = g {
                            give(&mut ts, g);
                        }
                    }
                    (3, T::Running(_)) => {
                        if let Wake::Give(g) = d.wake(false, |_| 0) {
                            assert!(matches!(ts[g.thread as usize], T::Parked | T::Waiting(_)));
                            give(&mut ts, g);
                        }
                    }
                    (4, T::Waiting(i)) => {
                        assert!(d.end_wait(id));
                        ts[t] = match d.want(id, i) {
                            Regain::Have => T::Running(Some(i)),
                            Regain::Asked => T::Wanting(i),
                        };
                    }
                    (5, T::Wanting(i)) => {
                        assert!(d.forgo(id, i));
                        ts[t] = T::Running(None);
                    }
                    _ => return None,
                }
                d.check();
                for (t, s) in ts.iter().enumerate() {
                    if let T::Running(Some(i)) = s {
                        assert_eq!(d.holder(*i), Some(t as u16));
                    }
                }
            }
            Some(())
        }
        fn extend(script: &mut Vec<(usize, usize)>, left: usize, count: &mut usize) {
            for t in 0..3 {
                for verb in 0..6 {
                    script.push((t, verb));
                    if rebuild(script).is_some() {
                        *count += 1;
                        if left > 1 {
                            extend(script, left - 1, count);
                        }
                    }
                    script.pop();
                }
            }
        }
        let mut count = 0;
        extend(&mut Vec::new(), 6, &mut count);
        assert!(count > 10_000, "{count} histories");
    }
}
