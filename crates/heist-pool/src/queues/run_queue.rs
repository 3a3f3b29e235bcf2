//! A worker's run queue: a ring of fixed size that its owner fills and empties, of which anybody may take half, and the LIFO
//! slot for the task that should run next.

use super::task::{Header, TaskRef};
use crossbeam_utils::CachePadded;
use heist_sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use heist_sync::planted::is_planted;
use std::ptr::NonNull;

/// Small under the checker, so that a model can fill it.
pub const SLOTS: usize = heist_sync::capacity(256, 4);
const MASK: u32 = SLOTS as u32 - 1;
/// What an overflow moves to the injector, beside the task that did not fit.
pub const HALF: usize = SLOTS / 2;

const _: () = assert!(SLOTS.is_power_of_two());

#[cfg(all(test, heist_loom))]
#[path = "run_queue_loom.rs"]
mod loom;

/// See the module.
///
/// INVARIANT(R1): `tail - head` is at most `SLOTS`; the slots in between hold tasks that are in no other queue.
///
/// INVARIANT(R2): only the owner writes slots and `tail`. A task leaves the ring by the one successful CAS on `head` that
/// passes its slot, whoever makes it; what was read from a slot before that counts only if the CAS wins.
#[derive(Debug)]
pub struct RunQueue {
    /// The oldest. Moved by everybody.
    head: CachePadded<AtomicU32>,
    /// One beyond the newest.
    tail: CachePadded<AtomicU32>,
    /// The task that should run next.
    lifo: AtomicPtr<Header>,
    slots: Box<[AtomicPtr<Header>; SLOTS]>,
}

#[inline]
fn task(ptr: *mut Header) -> TaskRef {
    let ptr = NonNull::new(ptr).expect("a slot between head and tail was filled");
    // SAFETY: it came out of a `TaskRef`, and whoever calls this has taken it out of the queue alone (R2).
    unsafe { TaskRef::from_raw(ptr) }
}

impl RunQueue {
    pub fn new() -> Self {
        Self::starting_at(0)
    }

    fn starting_at(index: u32) -> Self {
        Self {
            head: CachePadded::new(AtomicU32::new(index)),
            tail: CachePadded::new(AtomicU32::new(index)),
            lifo: AtomicPtr::new(std::ptr::null_mut()),
            slots: Box::new(std::array::from_fn(|_| AtomicPtr::new(std::ptr::null_mut()))),
        }
    }

    #[inline]
    fn slot(&self, index: u32) -> &AtomicPtr<Header> {
        &self.slots[(index & MASK) as usize]
    }

    /// Whether the ring held nothing a moment ago. The LIFO slot is not looked at.
    #[inline]
    pub fn is_empty(&self) -> bool {
        // ORDERING: acquire, so that a thread about to sleep, which looks here behind its fence, does not see an older
        // tail than the announcement it missed.
        self.head.load(Ordering::Acquire) == self.tail.load(Ordering::Acquire)
    }

    /// How many are in the ring, for the owner. A thief may just take some.
    pub fn len(&self) -> usize {
        self.tail.load(Ordering::Relaxed).wrapping_sub(self.head.load(Ordering::Acquire)) as usize
    }

    /// Whether a task waits to be run next.
    #[inline]
    pub fn has_lifo(&self) -> bool {
        !self.lifo.load(Ordering::Relaxed).is_null()
    }

    /// The owner adds a task at the end. If the ring is full, the task and the older half go to `overflow`, oldest first.
    #[inline]
    pub fn push(&self, new: TaskRef, overflow: impl FnOnce(Vec<TaskRef>)) {
        let tail = self.tail.load(Ordering::Relaxed);
        // ORDERING: acquire, with the release of the CAS that passed a slot: its reader is done with it before we write
        // it again.
        let head = self.head.load(Ordering::Acquire);
        if tail.wrapping_sub(head) < SLOTS as u32 {
            self.put(tail, new);
            // ORDERING: release, with the acquire in `steal_into`: slot and task are visible before the tail.
            self.tail.store(tail.wrapping_add(1), Ordering::Release);
        } else if let Some(old) = self.push_full(head, new) {
            overflow(old);
        }
    }

    /// The owner writes a slot that nobody looks at before the tail has passed it.
    #[inline]
    fn put(&self, index: u32, task: TaskRef) {
        self.slot(index).store(task.into_raw().as_ptr(), Ordering::Relaxed);
    }

    /// The older half, from `head` on, and `new`. If a thief was there just now, there is room, and `new` is in the ring.
    #[cold]
    #[inline(never)]
    fn push_full(&self, head: u32, new: TaskRef) -> Option<Vec<TaskRef>> {
        let mut old = [std::ptr::null_mut(); HALF];
        for (i, place) in old.iter_mut().enumerate() {
            *place = self.slot(head.wrapping_add(i as u32)).load(Ordering::Relaxed);
        }
        if self.take(head, HALF as u32) {
            return Some(old.into_iter().map(task).chain(std::iter::once(new)).collect());
        }
        self.extend(std::iter::once(new));
        None
    }

    /// The owner adds tasks at the end, for which there is room. They are there for others when all are.
    pub fn extend(&self, tasks: impl Iterator<Item = TaskRef>) {
        let first = self.tail.load(Ordering::Relaxed);
        // ORDERING: acquire, as in `push`.
        let end = self.head.load(Ordering::Acquire).wrapping_add(SLOTS as u32);
        let mut tail = first;
        for task in tasks {
            assert_ne!(tail, end, "there is room");
            self.put(tail, task);
            tail = tail.wrapping_add(1);
        }
        // ORDERING: release, as in `push`.
        self.tail.store(tail, Ordering::Release);
    }

    /// Passes `n` slots from `head` on, if nobody else has.
    fn take(&self, head: u32, n: u32) -> bool {
        if is_planted("ring_take_without_cas") {
            self.head.store(head.wrapping_add(n), Ordering::Release);
            return true;
        }
        // ORDERING: release, with the acquire in `push`. Acquire: the next look at the ring is behind it.
        self.head.compare_exchange(head, head.wrapping_add(n), Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// The owner takes the oldest.
    pub fn pop(&self) -> Option<TaskRef> {
        let tail = self.tail.load(Ordering::Relaxed);
        loop {
            let head = self.head.load(Ordering::Acquire);
            if head == tail {
                return None;
            }
            let oldest = self.slot(head).load(Ordering::Relaxed);
            if self.take(head, 1) {
                return Some(task(oldest));
            }
        }
    }

    /// Moves half of the tasks, rounded up, to `own`, of which the caller is the owner and which is empty, and returns one
    /// of them to be run at once.
    #[inline(always)]
    pub fn steal_into(&self, own: &Self) -> Option<TaskRef> {
        let own_tail = own.tail.load(Ordering::Relaxed);
        debug_assert_eq!(own.head.load(Ordering::Relaxed), own_tail);
        loop {
            let head = self.head.load(Ordering::Acquire);
            // ORDERING: acquire, with the release in `push`.
            let tail = self.tail.load(Ordering::Acquire);
            let len = tail.wrapping_sub(head);
            if len == 0 {
                return None;
            }
            let n = len - len / 2;
            if n > HALF as u32 {
                // The tail has moved on since we read the head, so the head has too.
                continue;
            }
            for i in 0..n {
                // Maybe already overwritten: then the CAS fails.
                let ptr = self.slot(head.wrapping_add(i)).load(Ordering::Relaxed);
                own.slot(own_tail.wrapping_add(i)).store(ptr, Ordering::Relaxed);
            }
            if self.take(head, n) {
                let last = own.slot(own_tail.wrapping_add(n - 1)).load(Ordering::Relaxed);
                // ORDERING: as in `push`; what we read was published to us by the victim's tail.
                own.tail.store(own_tail.wrapping_add(n - 1), Ordering::Release);
                return Some(task(last));
            }
        }
    }

    /// The owner wants `new` to run next; what was to run next before is returned.
    pub fn put_lifo(&self, new: TaskRef) -> Option<TaskRef> {
        // ORDERING: release, for whoever takes `new`; acquire: the old one may have been put there by ourselves only,
        // but taken by nobody.
        let old = self.lifo.swap(new.into_raw().as_ptr(), Ordering::AcqRel);
        (!old.is_null()).then(|| task(old))
    }

    /// The owner takes the task that is to run next.
    pub fn take_lifo(&self) -> Option<TaskRef> {
        if !self.has_lifo() {
            return None;
        }
        // ORDERING: only the owner puts tasks here, so it needs nobody's writes.
        let next = self.lifo.swap(std::ptr::null_mut(), Ordering::Relaxed);
        (!next.is_null()).then(|| task(next))
    }

    /// Anybody else takes it, from an owner that does not get to it.
    pub fn steal_lifo(&self) -> Option<TaskRef> {
        let next = self.lifo.load(Ordering::Relaxed);
        if next.is_null() {
            return None;
        }
        // ORDERING: acquire, with the release in `put_lifo`. If the same task was run and put there again meanwhile, it
        // is as good.
        self.lifo
            .compare_exchange(next, std::ptr::null_mut(), Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
            .then(|| task(next))
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;
    use crate::queues::task::Vtable;
    use std::collections::VecDeque;

    static VTABLE: Vtable = Vtable { run: |_| (), name: |_| 0, ready_ns: |_| None };

    /// Tasks that are told apart by their address.
    fn tasks(n: usize) -> Vec<Header> {
        (0..n).map(|_| Header::new(&VTABLE)).collect()
    }

    fn as_ref(header: &Header) -> TaskRef {
        // SAFETY: running it does nothing, and the tests keep the headers to their end.
        unsafe { TaskRef::from_raw(NonNull::from(header)) }
    }

    fn number(all: &[Header], task: TaskRef) -> usize {
        // SAFETY: a pointer into the slice.
        unsafe { task.as_ptr().as_ptr().cast_const().offset_from(all.as_ptr()) as usize }
    }

    #[test]
    fn oldest_first_across_the_wrap() {
        let all = tasks(3 * SLOTS);
        let ring = RunQueue::starting_at(u32::MAX - SLOTS as u32);
        for (i, header) in all.iter().enumerate() {
            ring.push(as_ref(header), |_| panic!("never more than two"));
            if i > 0 {
                assert_eq!(ring.pop().map(|t| number(&all, t)), Some(i - 1));
            }
        }
        assert!(!ring.is_empty());
        assert_eq!(ring.pop().map(|t| number(&all, t)), Some(all.len() - 1));
        assert!(ring.pop().is_none() && ring.is_empty());
    }

    #[test]
    fn an_overflow_moves_the_older_half_and_the_new_one() {
        let all = tasks(SLOTS + 1);
        let ring = RunQueue::starting_at(u32::MAX - 3);
        let mut moved = Vec::new();
        for header in &all {
            ring.push(as_ref(header), |old| moved.extend(old.into_iter().map(|t| number(&all, t))));
        }
        let expected: Vec<usize> = (0..HALF).chain([SLOTS]).collect();
        assert_eq!(moved, expected);
        let left: Vec<usize> = std::iter::from_fn(|| ring.pop()).map(|t| number(&all, t)).collect();
        assert_eq!(left, (HALF..SLOTS).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_added_at_once_comes_behind_what_is_there() {
        let all = tasks(SLOTS);
        let ring = RunQueue::starting_at(u32::MAX - 1);
        ring.push(as_ref(&all[0]), |_| unreachable!());
        ring.extend(std::iter::empty());
        ring.extend(all[1..].iter().map(as_ref));
        assert_eq!(ring.len(), SLOTS);
        let left: Vec<usize> = std::iter::from_fn(|| ring.pop()).map(|t| number(&all, t)).collect();
        assert_eq!(left, (0..SLOTS).collect::<Vec<_>>());
    }

    #[test]
    fn a_thief_gets_half_rounded_up() {
        let all = tasks(SLOTS);
        for n in 0..=SLOTS {
            let (victim, own) = (RunQueue::starting_at(u32::MAX - 1), RunQueue::new());
            for header in &all[..n] {
                victim.push(as_ref(header), |_| unreachable!());
            }
            let mut got: VecDeque<usize> =
                victim.steal_into(&own).map(|t| number(&all, t)).into_iter().collect();
            while let Some(task) = own.pop() {
                got.push_front(number(&all, task));
            }
            assert_eq!(got.len(), n.div_ceil(2), "of {n}");
            got.make_contiguous().sort_unstable();
            assert_eq!(got, (0..n.div_ceil(2)).collect::<Vec<_>>());
            let left = std::iter::from_fn(|| victim.pop()).count();
            assert_eq!(left, n / 2);
        }
    }

    #[test]
    fn the_next_place_holds_one() {
        let all = tasks(2);
        let ring = RunQueue::new();
        assert!(ring.take_lifo().is_none() && ring.steal_lifo().is_none());
        assert!(ring.put_lifo(as_ref(&all[0])).is_none());
        assert_eq!(ring.put_lifo(as_ref(&all[1])).map(|t| number(&all, t)), Some(0));
        assert!(ring.has_lifo() && ring.is_empty());
        assert_eq!(ring.steal_lifo().map(|t| number(&all, t)), Some(1));
        assert!(ring.take_lifo().is_none());
    }
}
