//! `par_bridge`: a sequential iterator as the source of a parallel loop.
//!
//! As long as items and pulls from the iterator are short, and have not lasted for long together, one thread runs them all, without a
//! lock. Then the iterator goes behind a lock and as many parts as there are workers are offered: each pulls a batch, and runs it while
//! others pull. Batches begin with one item and grow only as far as they are over soon, and never beyond what the iterator says is there,
//! so that nothing waits in a batch for a pull that blocks; what has been pulled can be stolen, should an item take longer than those
//! before. Where nobody can tell in advance that there are many items, or where an item or a pull takes long, parts
//! are offered at once, so that no item waits behind another, or behind a pull that blocks.

use super::ParallelIterator;
use super::plumbing::{Folder, Reducer, UnindexedConsumer};
use crate::pool;
use heist_deque::{Owner, Steal, Thief};
use heist_sync::atomic::{AtomicBool, Ordering};
use heist_sync::clock::Moment;
use heist_sync::{Mutex, MutexGuard, lock, thread};
use std::iter::Fuse;
use std::sync::TryLockError;

/// Sequential iterators whose items can be handled in parallel.
///
/// ```
/// # use heist::prelude::*;
/// let (sender, receiver) = std::sync::mpsc::channel();
/// std::thread::spawn(move || (0..100).for_each(|n| sender.send(n).unwrap()));
/// assert_eq!(receiver.into_iter().par_bridge().map(|n| n * 2).sum::<i32>(), 9900);
/// ```
pub trait ParallelBridge: Sized {
    /// Handles the items in parallel, in any order. The iterator itself runs on one thread at a time: each worker takes an item, or a
    /// few that are over soon, when it is done with the last. What a loop that stops early has pulled and not handled by then is dropped:
    /// at most a few hundred items for each worker.
    ///
    /// The collection that the iterator comes from may have a parallel iterator of its own, which is faster.
    ///
    /// ```
    /// # use heist::prelude::*;
    /// let mut lines: Vec<String> = "b\na".lines().par_bridge().map(|line| line.to_uppercase()).collect();
    /// lines.sort();
    /// assert_eq!(lines, ["A", "B"]);
    /// ```
    fn par_bridge(self) -> IterBridge<Self>;
}

impl<T: Iterator<Item: Send> + Send> ParallelBridge for T {
    fn par_bridge(self) -> IterBridge<Self> {
        IterBridge { iter: self }
    }
}

/// What [`par_bridge`](ParallelBridge::par_bridge) returns.
///
/// ```
/// # use heist::prelude::*;
/// assert_eq!((0..10).par_bridge().count(), 10);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct IterBridge<Iter> {
    iter: Iter,
}

/// With fewer items per worker than this, as far as the iterator can tell, one item may be too large a share of the loop to be run while
/// others wait.
const TRIAL_ITEMS_PER_WORKER: usize = 16;
/// An item, with its pull, that takes longer than this is not short.
const SHORT_NS: u64 = 2_000;
/// A loop that has lasted for so long is expected to go on for long enough to be worth a wake-up.
const WORTH_NS: u64 = 20_000;
/// Pulls are not worth sharing items for that take less than so many times the time of their pull: the others would wait for the lock.
const WORTH_PULLING: u64 = 8;
/// How long a batch should take.
const BATCH_NS: u64 = 5_000;
/// The most items in a batch.
const BATCH_MOST: usize = 256;
/// Whoever has the right to pull for longer than this is in a pull that blocks.
const BLOCKED_NS: u64 = 20_000;
/// Where sharing is not worth it, so many times the items of a batch are run straight from the iterator before the next look.
const STRAIGHT: usize = 16;

impl<Iter: Iterator<Item: Send> + Send> ParallelIterator for IterBridge<Iter> {
    type Item = Iter::Item;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<Iter::Item>>(self, consumer: C) -> C::Result {
        pool::enter(true, move |_| {
            let workers = pool::workers();
            let mut iter = self.iter.fuse();
            let mut folder = None;
            let mut size = 1;
            if workers == 1 || iter.size_hint().0 >= TRIAL_ITEMS_PER_WORKER * workers {
                let alone = run_alone(&mut iter, consumer.split_off_left().into_folder(), workers, &mut size);
                match alone {
                    (folder, true) => {
                        drop((iter, consumer));
                        return folder.complete();
                    }
                    (begun, false) => folder = Some(begun),
                }
            }
            let shared = Shared::new(iter);
            let result = share(&shared, workers, size, consumer, folder);
            drop(shared);
            result
        })
    }
}

/// Offers parts to `parts - 1` workers, and runs one here.
fn share<Iter, C>(
    shared: &Shared<Iter>,
    parts: usize,
    size: usize,
    consumer: C,
    begun: Option<C::Folder>,
) -> C::Result
where
    Iter: Iterator<Item: Send> + Send,
    C: UnindexedConsumer<Iter::Item>,
{
    if parts <= 1 {
        let folder = match begun {
            None => consumer.into_folder(),
            Some(folder) => {
                drop(consumer);
                folder
            }
        };
        return shared.run_part(folder, size).complete();
    }
    let reducer = consumer.to_reducer();
    let near = consumer.split_off_left();
    let (left, right) = pool::join_here(
        move |_| share(shared, parts / 2, size, near, begun),
        move |_| share(shared, parts - parts / 2, size, consumer, None),
    );
    reducer.reduce(left, right)
}

/// Runs items for as long as it is not worth sharing them. True if none is left, or wanted. `size` is how many to pull at a time.
fn run_alone<T, F: Folder<T>>(
    iter: &mut impl Iterator<Item = T>,
    mut folder: F,
    workers: usize,
    size: &mut usize,
) -> (F, bool) {
    let mut items = Vec::new();
    let mut whole_ns = 0;
    loop {
        if folder.full() {
            return (folder, true);
        }
        let begun = Moment::now();
        let sure = surely(iter, *size);
        items.extend(iter.take(sure));
        let pulled = items.len();
        if pulled == 0 {
            return (folder, true);
        }
        let pull_ns = nanos_since(begun);
        folder = folder.consume_iter(items.drain(..));
        let spent_ns = nanos_since(begun);
        *size = next_size(*size, spent_ns);
        whole_ns += spent_ns;
        let is_short = spent_ns <= SHORT_NS * pulled as u64;
        let is_worth = spent_ns - pull_ns > WORTH_PULLING * pull_ns;
        if workers > 1 && (!is_short || is_worth && whole_ns > WORTH_NS && pool::should_offer_work()) {
            return (folder, false);
        }
        if !is_worth || workers == 1 {
            folder = folder.consume_iter(iter.take(STRAIGHT * *size));
        }
    }
}

/// How many of `size` items are there for sure: to pull these does not block. One, if nobody knows.
fn surely(iter: &impl Iterator, size: usize) -> usize {
    size.min(iter.size_hint().0.max(1))
}

/// A batch of `size` has taken so long: the next should take [`BATCH_NS`].
fn next_size(size: usize, spent_ns: u64) -> usize {
    if spent_ns < BATCH_NS {
        (2 * size).min(BATCH_MOST)
    } else {
        (size as u64 * BATCH_NS / spent_ns).max(1) as usize
    }
}

fn nanos_since(begun: Moment) -> u64 {
    Moment::now().ns_since(begun)
}

/// The iterator, and who takes part.
struct Shared<Iter: Iterator<Item: Send>> {
    iter: Mutex<Fuse<Iter>>,
    has_ended: AtomicBool,
    /// The numbers of the threads that are here.
    here: Mutex<Vec<usize>>,
    /// What each part has pulled and not begun.
    pulled: Mutex<Vec<Thief<Iter::Item>>>,
}

/// While it exists, the thread with that number is here.
struct Here<'a> {
    here: &'a Mutex<Vec<usize>>,
    number: Option<usize>,
}

impl Drop for Here<'_> {
    fn drop(&mut self) {
        let number = self.number;
        lock(self.here).retain(|&other| Some(other) != number);
    }
}

/// What a part finds when it has nothing to run.
enum Next<'a, Iter: Iterator> {
    /// The right to pull.
    Pull(MutexGuard<'a, Fuse<Iter>>),
    /// An item that another part has pulled.
    Item(Iter::Item),
    /// There is nothing left.
    Nothing,
}

impl<Iter: Iterator<Item: Send> + Send> Shared<Iter> {
    fn new(iter: Fuse<Iter>) -> Self {
        Self {
            iter: Mutex::new(iter),
            has_ended: AtomicBool::new(false),
            here: Mutex::default(),
            pulled: Mutex::default(),
        }
    }

    /// The iterator's `next` may itself wait for parallel work. Where a waiting worker runs other jobs, one of them may be another part of
    /// this very loop, which would then wait for the lock that its own thread holds. One part per thread is enough.
    fn come(&self) -> Option<Here<'_>> {
        let number = pool::thread_number();
        if let Some(number) = number {
            let mut here = lock(&self.here);
            if here.contains(&number) {
                return None;
            }
            here.push(number);
        }
        Some(Here { here: &self.here, number })
    }

    fn next(&self) -> Next<'_, Iter> {
        let mut since = None;
        loop {
            // ORDERING: Relaxed, here and below: a hint that saves taking the lock; the lock orders everything else.
            if self.has_ended.load(Ordering::Relaxed) {
                return self.steal().map_or(Next::Nothing, Next::Item);
            }
            match self.iter.try_lock() {
                Ok(iter) => return Next::Pull(iter),
                // `next` has panicked: it is not called again, and its panic travels by itself.
                Err(TryLockError::Poisoned(_)) => self.has_ended.store(true, Ordering::Relaxed),
                Err(TryLockError::WouldBlock)
                    if nanos_since(*since.get_or_insert_with(Moment::now)) < BLOCKED_NS =>
                {
                    thread::yield_now();
                }
                Err(TryLockError::WouldBlock) => {
                    return match self.steal() {
                        Some(item) => Next::Item(item),
                        None => match pool::blocking(|| self.iter.lock()) {
                            Ok(iter) => Next::Pull(iter),
                            Err(_) => Next::Nothing,
                        },
                    };
                }
            }
        }
    }

    /// An item of a part that has not got to it.
    fn steal(&self) -> Option<Iter::Item> {
        let pulled = lock(&self.pulled);
        pulled.iter().find_map(|part| {
            loop {
                match part.steal() {
                    Steal::Success(item) => return Some(item),
                    // LIVENESS: after the end everything has been shared, so another thief was faster.
                    Steal::Retry if self.has_ended.load(Ordering::Relaxed) => thread::yield_now(),
                    // Its owner is in the middle of a pull.
                    Steal::Retry | Steal::Empty => return None,
                }
            }
        })
    }

    /// Pulls and runs items until there are none.
    fn run_part<F: Folder<Iter::Item>>(&self, mut folder: F, mut size: usize) -> F {
        let Some(_here) = self.come() else { return folder };
        let (own, thief): (Owner<Iter::Item>, _) = heist_deque::deque();
        lock(&self.pulled).push(thief);
        while !folder.full() {
            let begun = Moment::now();
            match self.next() {
                Next::Nothing => break,
                Next::Item(item) => {
                    folder = folder.consume(item);
                    continue;
                }
                Next::Pull(mut iter) => {
                    let mut has_pulled = false;
                    let sure = surely(&*iter, size);
                    iter.by_ref().take(sure).for_each(|item| {
                        has_pulled = true;
                        own.push(item);
                    });
                    own.share_all();
                    if !has_pulled {
                        self.has_ended.store(true, Ordering::Relaxed);
                    }
                }
            }
            while let Some(item) = own.pop() {
                folder = folder.consume(item);
                if folder.full() {
                    break;
                }
            }
            size = next_size(size, nanos_since(begun));
        }
        folder
    }
}
