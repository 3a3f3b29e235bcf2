//! `par_bridge`: a sequential iterator as the source of a parallel loop.

use super::ParallelIterator;
use super::plumbing::{Folder, UnindexedConsumer, UnindexedProducer, bridge_unindexed};
use crate::pool;
use heist_sync::Mutex;
use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::iter::Fuse;

/// Sequential iterators whose items can be handled in parallel.
///
/// ```
/// # use heist_iter::prelude::*;
/// let (sender, receiver) = std::sync::mpsc::channel();
/// std::thread::spawn(move || (0..100).for_each(|n| sender.send(n).unwrap()));
/// assert_eq!(receiver.into_iter().par_bridge().map(|n| n * 2).sum::<i32>(), 9900);
/// ```
pub trait ParallelBridge: Sized {
    /// Handles the items in parallel, in any order. The iterator itself runs on one thread at a time: each worker takes
    /// one item when it is done with the last.
    ///
    /// The collection that the iterator comes from may have a parallel iterator of its own, which is faster.
    ///
    /// ```
    /// # use heist_iter::prelude::*;
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
/// # use heist_iter::prelude::*;
/// assert_eq!((0..10).par_bridge().count(), 10);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct IterBridge<Iter> {
    iter: Iter,
}

impl<Iter: Iterator<Item: Send> + Send> ParallelIterator for IterBridge<Iter> {
    type Item = Iter::Item;

    fn drive_unindexed<C: UnindexedConsumer<Iter::Item>>(self, consumer: C) -> C::Result {
        let workers = pool::current_num_threads();
        let shared = Shared {
            parts_left: AtomicUsize::new(workers),
            iter: Mutex::new(self.iter.fuse()),
            has_ended: AtomicBool::new(false),
            here: Mutex::new(Vec::with_capacity(workers)),
        };
        let result = bridge_unindexed(&shared, consumer);
        drop(shared);
        result
    }
}

/// The iterator, and who takes part.
struct Shared<Iter> {
    /// How many more parts there may be.
    parts_left: AtomicUsize,
    iter: Mutex<Fuse<Iter>>,
    has_ended: AtomicBool,
    /// The threads that have come here, by number.
    here: Mutex<Vec<usize>>,
}

impl<Iter: Iterator<Item: Send> + Send> UnindexedProducer for &Shared<Iter> {
    type Item = Iter::Item;
    const TAKES_ALL: bool = true;

    fn split(self) -> (Self, Option<Self>) {
        // ORDERING: Relaxed: only the count matters.
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        let part = self.parts_left.fetch_update(set, fetch, |parts| parts.checked_sub(1));
        (self, part.is_ok().then_some(self))
    }

    fn fold_with<F: Folder<Iter::Item>>(self, mut folder: F) -> F {
        // The iterator's `next` may itself wait for parallel work. Where a waiting worker runs other jobs, one of them
        // may be another part of this very loop, which would then wait for the lock that its own thread holds. One part
        // per thread is enough: it goes on until the end.
        if let Some(number) = pool::thread_number() {
            let mut here = heist_sync::lock(&self.here);
            if here.contains(&number) {
                return folder;
            }
            here.push(number);
        }
        // ORDERING: Relaxed, here and below: a hint that saves taking the lock; the lock orders everything else.
        while !folder.full() && !self.has_ended.load(Ordering::Relaxed) {
            // A poisoned lock means that `next` has panicked; it is not called again, and its panic travels by itself.
            let Ok(mut iter) = self.iter.lock() else { return folder };
            let Some(item) = iter.next() else {
                self.has_ended.store(true, Ordering::Relaxed);
                return folder;
            };
            drop(iter);
            folder = folder.consume(item);
        }
        folder
    }
}
