#![doc = include_str!("../README.md")]
// A model of a protocol uses only what belongs to it.
#![cfg_attr(heist_model, allow(dead_code))]

mod buffer;
mod grow;
mod injector;
mod owner;
mod planted;
mod shared;
mod steal;
mod thief;
mod word;
#[cfg_attr(heist_model, path = "word_cell_model.rs")]
mod word_cell;

#[cfg(all(test, not(heist_model)))]
mod tests;

pub use injector::{Batch, Injector};
pub use owner::Owner;
pub use steal::Steal;
pub use thief::Thief;

use heist_sync::{Arc, barrier};

/// Slots of a new deque: a fork-join recursion fits without growing.
const CAPACITY: usize = 64;

/// A new deque: its owner's end and its thieves' end.
///
/// ```
/// let (owner, thief) = heist_deque::deque();
/// owner.push(1);
/// assert_eq!(owner.pop(), Some(1));
/// assert!(thief.is_empty());
/// ```
pub fn deque<T: Send>() -> (Owner<T>, Thief<T>) {
    deque_with_capacity(CAPACITY)
}

/// A new deque that holds at least `capacity` items before it grows.
///
/// # Panics
///
/// If `capacity` is above 2^28.
///
/// ```
/// let (owner, _thief) = heist_deque::deque_with_capacity(1_000);
/// (0..1_000).for_each(|i| owner.push(i));
/// ```
pub fn deque_with_capacity<T: Send>(capacity: usize) -> (Owner<T>, Thief<T>) {
    deque_with(Options { capacity, ..Options::default() })
}

/// What tests vary; not part of the stable surface.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Slots at first.
    pub capacity: usize,
    /// Added to the index of the first item.
    pub start: u64,
    /// Fence every pop, as if there were no asymmetric barrier.
    pub fenced: bool,
    /// Under loom: look at the thieves' word by a compare-exchange that fails. Otherwise ignored.
    ///
    /// loom remembers only the last access to an atomic. Where one thread loads and then writes a word that another thread
    /// loads, the first thread's own load hides the pair that has to be tried the other way round, and loom never does. A
    /// failing compare-exchange is not taken for a load; but it never sees an old value, so models need both.
    pub dependent_looks: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { capacity: CAPACITY, start: 0, fenced: !barrier::is_asymmetric(), dependent_looks: false }
    }
}

/// A deque as a test wants it.
#[doc(hidden)]
pub fn deque_with<T: Send>(options: Options) -> (Owner<T>, Thief<T>) {
    let Options { capacity, start, fenced, dependent_looks } = options;
    assert!(
        capacity <= word::CAPACITY_MAX,
        "a deque holds at most {} items, not {capacity}",
        word::CAPACITY_MAX
    );
    let capacity = capacity.next_power_of_two().max(2);
    // A deque that trusts the barrier must have one to trust.
    let fenced = fenced || !barrier::is_asymmetric();
    let shared = Arc::new(shared::Shared::new(capacity, shared::START + start, fenced, dependent_looks));
    (Owner::new(shared.clone()), Thief::new(shared))
}
