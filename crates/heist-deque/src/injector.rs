//! The queue that belongs to nobody: first in, first out, for many producers and many consumers.
//!
//! A locked `VecDeque` beside an atomic length. The lock is taken only by whoever has something to add or has seen something
//! to take; an idle worker's look costs one load.

use heist_sync::atomic::{AtomicUsize, Ordering, fence};
use heist_sync::planted::is_planted;
use heist_sync::{Mutex, MutexGuard, lock};
use std::collections::VecDeque;
use std::collections::vec_deque::Drain;
use std::fmt;
use std::sync::TryLockError;

/// Items that are taken at once, at most: a longer batch would sit in one worker's queue, to be stolen from there one by one.
const SHARE_MAX: usize = 128;

/// A first-in first-out queue for many producers and consumers.
///
/// # Sleeping
///
/// [`Injector::push`] ends with a `fence(SeqCst)`. A consumer that announces its sleep, calls `fence(SeqCst)` and then finds
/// [`Injector::is_empty`] true may sleep if every producer looks for announced sleepers after its push: one of the two sees
/// the other.
///
/// ```
/// let queue = heist_deque::Injector::new();
/// queue.push(1);
/// queue.push_batch([2, 3, 4]);
/// assert_eq!(queue.pop(), Some(1));
/// // Two workers: half of three, and one more.
/// assert_eq!(queue.pop_share(2).collect::<Vec<_>>(), [2, 3]);
/// assert_eq!(queue.len(), 1);
/// ```
pub struct Injector<T> {
    items: Mutex<VecDeque<T>>,
    /// The length of `items`; written under the lock, read without.
    len: AtomicUsize,
}

impl<T> Injector<T> {
    /// An empty queue.
    ///
    /// ```
    /// assert!(heist_deque::Injector::<u8>::new().is_empty());
    /// ```
    pub fn new() -> Self {
        Self { items: Mutex::new(VecDeque::new()), len: AtomicUsize::new(0) }
    }

    /// Adds an item at the end.
    ///
    /// ```
    /// let queue = heist_deque::Injector::new();
    /// queue.push('a');
    /// assert_eq!(queue.len(), 1);
    /// ```
    pub fn push(&self, item: T) {
        let mut items = lock(&self.items);
        items.push_back(item);
        self.leave(items);
        announce();
    }

    /// Adds several items at the end, next to each other. `items` is run to its end before the first is added.
    ///
    /// ```
    /// let queue = heist_deque::Injector::new();
    /// queue.push_batch(0..3);
    /// assert_eq!(queue.pop(), Some(0));
    /// ```
    pub fn push_batch(&self, items: impl IntoIterator<Item = T>) {
        // The iterator is the caller's code and stays out of the lock.
        let mut batch: VecDeque<T> = items.into_iter().collect();
        if batch.is_empty() {
            return;
        }
        let mut items = lock(&self.items);
        items.append(&mut batch);
        self.leave(items);
        announce();
    }

    /// Takes the oldest item.
    ///
    /// ```
    /// let queue = heist_deque::Injector::new();
    /// queue.push('a');
    /// assert_eq!(queue.pop(), Some('a'));
    /// assert_eq!(queue.pop(), None);
    /// ```
    pub fn pop(&self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let mut items = lock(&self.items);
        let oldest = items.pop_front();
        self.leave(items);
        oldest
    }

    /// As [`pop`](Self::pop), without waiting for whoever uses the queue. For a child process, where that thread may not exist.
    ///
    /// ```
    /// let queue = heist_deque::Injector::new();
    /// queue.push('a');
    /// assert_eq!(queue.try_pop(), Some('a'));
    /// ```
    pub fn try_pop(&self) -> Option<T> {
        let mut items = match self.items.try_lock() {
            Ok(items) => items,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let oldest = items.pop_front();
        self.leave(items);
        oldest
    }

    /// Takes one worker's fair share, oldest first: the length divided by `workers`, plus one, at most 128.
    ///
    /// ```
    /// let queue = heist_deque::Injector::new();
    /// queue.push_batch(0..8);
    /// assert_eq!(queue.pop_share(4).len(), 3);
    /// assert_eq!(queue.len(), 5);
    /// ```
    pub fn pop_share(&self, workers: usize) -> Batch<T> {
        if self.is_empty() {
            return Batch(VecDeque::new());
        }
        let mut items = lock(&self.items);
        let n = fair_share(items.len(), workers);
        let share = items.drain(..n).collect();
        self.leave(items);
        Batch(share)
    }

    /// As [`pop_share`](Self::pop_share), but at most `most`, handed to `take` under the lock: it must be short, and must not use
    /// the queue. What it leaves is dropped. Returns how many there were.
    ///
    /// ```
    /// let queue = heist_deque::Injector::new();
    /// queue.push_batch(0..8);
    /// let mut got = Vec::new();
    /// assert_eq!(queue.take_share(2, 4, |share| got.extend(share)), 4);
    /// assert_eq!(got, [0, 1, 2, 3]);
    /// ```
    pub fn take_share(&self, workers: usize, most: usize, take: impl FnOnce(Drain<'_, T>)) -> usize {
        if self.is_empty() {
            return 0;
        }
        let mut items = lock(&self.items);
        let n = fair_share(items.len(), workers).min(most);
        take(items.drain(..n));
        self.leave(items);
        n
    }

    /// How many items there were a moment ago.
    ///
    /// ```
    /// assert_eq!(heist_deque::Injector::<u8>::new().len(), 0);
    /// ```
    pub fn len(&self) -> usize {
        // ORDERING: acquire, with the release in `leave`: who sees that a share was taken sees where it went. Whoever takes an item takes the
        // lock first; whoever sleeps on the answer fences first.
        self.len.load(Ordering::Acquire)
    }

    /// Whether there was nothing a moment ago. One load; see "Sleeping" above.
    ///
    /// ```
    /// assert!(heist_deque::Injector::<u8>::new().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn leave(&self, items: MutexGuard<'_, VecDeque<T>>) {
        // ORDERING: release, after what `take_share` has done with the items; partner: `len`. Stores are ordered by the lock.
        self.len.store(items.len(), Ordering::Release);
    }
}

/// How many of `len` items one of `workers` takes: its even share, and one more, so that something is taken when there are fewer
/// items than workers.
fn fair_share(len: usize, workers: usize) -> usize {
    // A pool between two sizes may say 0 workers; the asker is one.
    let even = len / workers.max(1);
    even.saturating_add(1).min(SHARE_MAX).min(len)
}

/// The producer's half of the sleep protocol.
fn announce() {
    // LIVENESS, ORDERING: the length before the caller's look for sleepers; the partner is the fence between a consumer's
    // announcement and its look at the length. A read-modify-write of the length would not do: it is no fence.
    if !is_planted("push_unfenced") {
        fence(Ordering::SeqCst);
    }
}

impl<T> Default for Injector<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Injector<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Injector").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// What [`Injector::pop_share`] took, oldest first. Items that are not taken from it are dropped with it.
///
/// ```
/// let queue = heist_deque::Injector::new();
/// queue.push('a');
/// let mut batch = queue.pop_share(1);
/// assert_eq!(batch.next(), Some('a'));
/// assert_eq!(batch.next(), None);
/// ```
#[derive(Debug)]
#[must_use = "the items have left the queue and are dropped with the batch"]
pub struct Batch<T>(VecDeque<T>);

impl<T> Iterator for Batch<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.pop_front()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.len(), Some(self.0.len()))
    }
}

impl<T> ExactSizeIterator for Batch<T> {}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    #[test]
    fn fair_share_table() {
        let table = [
            (0, 0, 0),
            (0, 4, 0),
            (1, 0, 1),
            (1, 1, 1),
            (1, 4, 1),
            (3, 0, 3),
            (3, 4, 1),
            (4, 4, 2),
            (9, 2, 5),
            (10, 4, 3),
            (10, 1, 10),
            (127, 1, 127),
            (128, 1, 128),
            (129, 1, 128),
            (504, 4, 127),
            (508, 4, 128),
            (1_000_000, 2, 128),
            (usize::MAX, 1, 128),
            (usize::MAX, usize::MAX, 2),
        ];
        for (len, workers, share) in table {
            assert_eq!(fair_share(len, workers), share, "{len} items, {workers} workers");
        }
    }

    #[test]
    fn a_share_is_never_too_much_and_never_nothing() {
        for len in 0..1_000 {
            for workers in 0..40 {
                let share = fair_share(len, workers);
                assert!(share <= len && share <= SHARE_MAX);
                assert_eq!(share == 0, len == 0);
            }
        }
    }

    #[test]
    fn a_share_is_taken_oldest_first_and_no_more_than_asked_for() {
        let q = Injector::new();
        for (len, workers) in [(0, 2), (1, 1), (1, 8), (8, 1), (8, 8), (9, 2), (10_000, 2)] {
            let share = fair_share(len, workers);
            q.push_batch(0..len);
            assert_eq!(q.pop_share(workers).collect::<Vec<_>>(), (0..share).collect::<Vec<_>>());
            assert_eq!(q.len(), len - share);
            while q.pop().is_some() {}
            for most in [0, 1, 3, usize::MAX] {
                q.push_batch(0..len);
                let mut got = Vec::new();
                let taken = q.take_share(workers, most, |share| got.extend(share));
                assert_eq!(taken, share.min(most), "{len} items, {workers} workers, at most {most}");
                assert_eq!(got, (0..taken).collect::<Vec<_>>());
                assert_eq!(q.len(), len - taken);
                while q.pop().is_some() {}
            }
        }
    }

    #[test]
    fn order_is_kept_across_single_items_batches_and_shares() {
        let q = Injector::new();
        q.push(0);
        q.push_batch(1..10);
        q.push(10);
        let mut got: Vec<i32> = q.pop().into_iter().collect();
        while !q.is_empty() {
            got.extend(q.pop_share(3));
        }
        assert_eq!(got, (0..11).collect::<Vec<_>>());
    }

    #[test]
    fn a_panicking_iterator_leaves_the_queue_usable() {
        let q = Injector::new();
        let broken = (0..3).map(|i| if i == 2 { panic!("planned") } else { i });
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| q.push_batch(broken))).is_err());
        assert!(q.is_empty());
        q.push(1);
        assert_eq!(q.pop(), Some(1));
    }
}
