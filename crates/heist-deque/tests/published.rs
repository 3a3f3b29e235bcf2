//! Two published work-stealing systems, written as their texts describe them, and their defects: each test passes because the
//! defect shows. They are why the deque beside this file is built as it is, and show that such tests can fail.
//!
//! None of this is heist's code. Operations are cut into the steps between which another thread can come, and the tests play
//! that thread, so each defect shows every time. Slots are `Option`s in safe cells: what would be undefined behaviour in the
//! original is a value that can be looked at here.
#![cfg(not(heist_model))]

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::{Rc, Weak};

type Job = Box<dyn FnOnce()>;

/// As described in "Work-Stealing from First Principles" (April 2026): unsigned indices, a fixed ring of options, the item
/// taken out of its slot before the compare-and-swap.
struct FirstPrinciples<T> {
    bottom: Cell<usize>,
    top: Cell<usize>,
    buffer: Vec<RefCell<Option<T>>>,
}

/// A thief between taking its item and its compare-and-swap.
struct Taken<T> {
    top: usize,
    item: Option<T>,
}

impl<T> FirstPrinciples<T> {
    fn new(capacity: usize) -> Self {
        Self {
            bottom: Cell::new(0),
            top: Cell::new(0),
            buffer: (0..capacity).map(|_| RefCell::new(None)).collect(),
        }
    }

    fn slot(&self, index: usize) -> &RefCell<Option<T>> {
        &self.buffer[index % self.buffer.len()]
    }

    fn swap_top(&self, from: usize) -> bool {
        let won = self.top.get() == from;
        if won {
            self.top.set(from + 1);
        }
        won
    }

    fn push(&self, item: T) {
        *self.slot(self.bottom.get()).borrow_mut() = Some(item);
        self.bottom.set(self.bottom.get() + 1);
    }

    fn steal_begin(&self) -> Option<Taken<T>> {
        let top = self.top.get();
        (top < self.bottom.get()).then(|| Taken { top, item: self.slot(top).borrow_mut().take() })
    }

    fn steal_finish(&self, taken: Taken<T>) -> Option<T> {
        if self.swap_top(taken.top) { taken.item } else { None }
    }

    fn steal(&self) -> Option<T> {
        self.steal_begin().and_then(|taken| self.steal_finish(taken))
    }

    fn pop(&self) -> Option<T> {
        let bottom = self.bottom.get();
        if bottom == 0 {
            return None;
        }
        let newest = bottom - 1;
        self.bottom.set(newest);
        let top = self.top.get();
        if newest > top {
            self.slot(newest).borrow_mut().take()
        } else if newest == top {
            let item = self.slot(newest).borrow_mut().take();
            let won = self.swap_top(top);
            self.bottom.set(top + 1);
            if won { item } else { None }
        } else {
            self.bottom.set(top);
            None
        }
    }
}

#[test]
fn first_principles_two_thieves_lose_a_task() {
    let deque = FirstPrinciples::new(4);
    deque.push("a");
    deque.push("b");
    let slow = deque.steal_begin().unwrap();
    // Another thief in between: it finds the slot empty, wins the swap, and has nothing.
    let quick = deque.steal_begin().unwrap();
    assert_eq!(deque.steal_finish(quick), None, "won the index, got no task");
    assert_eq!(slow.item, Some("a"));
    assert_eq!(deque.steal_finish(slow), None, "had the task, lost the index: dropped unrun");
    assert_eq!(deque.steal(), Some("b"));
    assert_eq!(deque.pop(), None);
}

#[test]
fn first_principles_owner_and_thief_lose_the_last_task() {
    let deque = FirstPrinciples::new(4);
    deque.push("only");
    let thief = deque.steal_begin().unwrap();
    assert_eq!(deque.pop(), None, "the owner wins the index and finds the slot empty");
    assert_eq!(deque.steal_finish(thief), None);
    assert_eq!((deque.steal(), deque.pop()), (None, None));
}

#[test]
fn first_principles_overflow_loses_the_oldest_and_visits_a_slot_twice() {
    let deque = FirstPrinciples::new(4);
    (1..=5).for_each(|i| deque.push(i));
    let visits: Vec<_> = (0..5).map(|_| deque.steal()).collect();
    // Task 1 was overwritten by 5, which is found in its slot; the fifth visit finds that slot empty.
    assert_eq!(visits, [Some(5), Some(2), Some(3), Some(4), None]);
}

impl<T> FirstPrinciples<T> {
    /// The first step of a pop without the published `if bottom == 0`, as in transcriptions that leave it out: the paper's
    /// indices are signed.
    fn pop_begin_unguarded(&self, lower: impl FnOnce(usize) -> usize) {
        self.bottom.set(lower(self.bottom.get()));
    }
}

#[test]
fn unsigned_pop_on_empty_underflows() {
    let deque = FirstPrinciples::<u8>::new(4);
    if cfg!(debug_assertions) {
        let dead =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| deque.pop_begin_unguarded(|b| b - 1)));
        assert!(dead.is_err(), "debug: a panic kills the worker");
    }
    deque.pop_begin_unguarded(|b| b.wrapping_sub(1));
    // Release: until the owner puts it back a thief sees a deque of 2^64 - 1 items and reads a slot that was never written.
    let garbage = deque.steal_begin().expect("the thief believes that there is something");
    assert_eq!(garbage.item, None);
    assert_eq!(deque.steal_finish(garbage), None);
    assert_eq!(deque.top.get(), 1, "and the top has passed the bottom that the owner restores");
}

/// The worker loop of the same text: the shutdown flag first, then the own deque, then the others, then yield.
fn first_principles_worker(own: &FirstPrinciples<Job>, shutdown: &Cell<bool>, mut idle: impl FnMut()) {
    loop {
        if shutdown.get() {
            return;
        }
        match own.pop() {
            Some(job) => job(),
            None => idle(),
        }
    }
}

#[test]
fn first_principles_shutdown_comes_before_the_queue() {
    let deque = FirstPrinciples::<Job>::new(128);
    let (shutdown, ran) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(0)));
    for _ in 0..100 {
        let ran = ran.clone();
        deque.push(Box::new(move || ran.set(ran.get() + 1)));
    }
    // The gate: while it runs, somebody drops the pool.
    let (flag, count) = (shutdown.clone(), ran.clone());
    deque.push(Box::new(move || {
        count.set(count.get() + 1);
        flag.set(true);
    }));
    first_principles_worker(&deque, &shutdown, || unreachable!("there is work"));
    assert_eq!(ran.get(), 1);
    assert_eq!(std::iter::from_fn(|| deque.pop()).count(), 100, "accepted and never run");
}

#[test]
fn first_principles_never_parks() {
    let deque = FirstPrinciples::<Job>::new(4);
    let (shutdown, turns) = (Cell::new(false), Cell::new(0u32));
    first_principles_worker(&deque, &shutdown, || {
        // The only thing that an idle worker does is to come round again; nothing but shutdown ends that.
        turns.set(turns.get() + 1);
        shutdown.set(turns.get() == 1_000_000);
    });
    assert_eq!(turns.get(), 1_000_000);
}

/// As described for Blitz: a growable ring in a box of its own, which growth replaces and frees.
struct Blitz<T> {
    bottom: Cell<isize>,
    top: Cell<isize>,
    ring: RefCell<Rc<Vec<Cell<Option<T>>>>>,
}

impl<T: Copy> Blitz<T> {
    fn new(capacity: usize) -> Self {
        let ring = (0..capacity).map(|_| Cell::new(None)).collect();
        Self { bottom: Cell::new(0), top: Cell::new(0), ring: RefCell::new(Rc::new(ring)) }
    }

    fn put(&self, bottom: isize, item: T) {
        let ring = self.ring.borrow();
        ring[bottom as usize % ring.len()].set(Some(item));
    }

    fn push(&self, item: T) {
        let bottom = self.bottom.get();
        if (bottom - self.top.get()) as usize == self.ring.borrow().len() {
            self.grow();
        }
        self.put(bottom, item);
        self.bottom.set(bottom + 1);
    }

    fn grow(&self) {
        let old = self.ring.borrow().clone();
        let new: Vec<_> = (0..old.len() * 2).map(|_| Cell::new(None)).collect();
        for i in self.top.get()..self.bottom.get() {
            new[i as usize % new.len()].set(old[i as usize % old.len()].get());
        }
        *self.ring.borrow_mut() = Rc::new(new);
    }

    /// What a thief holds after it has loaded the buffer: a plain pointer, which keeps nothing alive.
    fn steal_begin(&self) -> Weak<Vec<Cell<Option<T>>>> {
        Rc::downgrade(&self.ring.borrow())
    }

    fn steal(&self) -> Option<T> {
        let top = self.top.get();
        if top >= self.bottom.get() {
            return None;
        }
        self.top.set(top + 1);
        let ring = self.ring.borrow();
        ring[top as usize % ring.len()].get()
    }
}

#[test]
fn blitz_growth_frees_the_ring_under_a_thief() {
    let deque = Blitz::new(256);
    (0..256).for_each(|i| deque.push(i));
    let thief = deque.steal_begin();
    assert!(thief.upgrade().is_some());
    deque.push(256);
    assert!(thief.upgrade().is_none(), "freed; the thief's next step reads its slot");
}

#[test]
fn blitz_two_outside_threads_as_owner_lose_a_job_and_double_another() {
    let deque = Blitz::new(8);
    // Both outside threads are between their load of the bottom and their store of it.
    let (first, second) = (deque.bottom.get(), deque.bottom.get());
    deque.put(first, 'a');
    deque.bottom.set(first + 1);
    deque.put(second, 'b');
    deque.bottom.set(second + 1);
    assert_eq!([deque.steal(), deque.steal()], [Some('b'), None], "a is lost");

    // Two owners that pop: both load the bottom, both find the item.
    let deque = Blitz::new(8);
    (0..2).for_each(|i| deque.push(i));
    let both = [deque.bottom.get() - 1; 2].map(|newest| {
        deque.bottom.set(newest);
        deque.ring.borrow()[newest as usize].get()
    });
    assert_eq!(both, [Some(1), Some(1)], "one job run twice");
}

/// The jobs event counter as described: sleepers and publishers both "increment if even".
#[derive(Default)]
struct JobsEventCounter(Cell<u64>);

impl JobsEventCounter {
    fn increment_if_even(&self) -> u64 {
        if self.0.get().is_multiple_of(2) {
            self.0.set(self.0.get() + 1);
        }
        self.0.get()
    }
}

#[test]
fn blitz_event_counter_sticks_at_one() {
    let counter = JobsEventCounter::default();
    let snapshot = counter.increment_if_even();
    for _ in 0..1_000 {
        // A job is posted while the worker is about to sleep: this is to change the counter.
        counter.increment_if_even();
        assert_eq!(counter.0.get(), snapshot, "the look before sleeping can never see a job");
    }
}

/// The same histories on heist's deque: what went in comes out.
#[test]
fn heist_loses_nothing_in_the_same_histories() {
    let (owner, thief) = heist_deque::deque_with_capacity(4);
    (1..=5).for_each(|i| owner.push(i));
    owner.share_all();
    let mut got: VecDeque<i32> = std::iter::from_fn(|| thief.steal().success()).collect();
    assert_eq!(got, [1, 2, 3, 4, 5]);
    assert_eq!((owner.pop(), thief.steal()), (None, heist_deque::Steal::Empty));
    (0..300).for_each(|i| owner.push(i));
    drop(owner);
    got = std::iter::from_fn(|| thief.steal().success()).collect();
    assert_eq!(got, (0..300).collect::<VecDeque<_>>(), "the owner is gone, its items are not");
}
