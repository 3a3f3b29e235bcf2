//! All timers of a pool: as many shards as make two threads at one lock rare.

use super::shard::Shard;
use crate::driver::board::Board;
use heist_sync::atomic::Ordering;
use std::cell::Cell;
use std::sync::{Arc, OnceLock};

/// Shards per thread that runs at once.
const PER_THREAD: usize = 2;

#[derive(Debug)]
pub(crate) struct Timers {
    /// Made on first use. A power of two.
    shards: Box<[OnceLock<&'static Shard>]>,
}

impl Timers {
    /// How many shards a pool has.
    pub fn shards_for(parallelism: usize) -> usize {
        (parallelism * PER_THREAD).next_power_of_two()
    }

    /// For a board with `shards` shards, a power of two.
    pub fn new(shards: usize) -> Self {
        assert!(shards.is_power_of_two());
        Self { shards: (0..shards).map(|_| OnceLock::new()).collect() }
    }

    /// The calling thread's shard.
    #[inline]
    pub fn here(&self, board: &Arc<Board>) -> &'static Shard {
        let index = thread_number() & (self.shards.len() - 1);
        self.shards[index].get_or_init(|| Shard::lease(board, index))
    }

    /// Wakes what is due at `now`.
    pub fn fire(&self, board: &Board, now: u64) {
        for (earliest, shard) in board.shards().iter().zip(&self.shards) {
            // ORDERING: a timer that is missed here is one that was set just now; the next turn sees it (E3).
            if earliest.load(Ordering::Relaxed) <= now
                && let Some(shard) = shard.get()
            {
                shard.fire(now);
            }
        }
    }

    /// Wakes everything: nobody looks any more.
    pub fn close(&self) {
        self.shards.iter().filter_map(OnceLock::get).for_each(|shard| shard.close());
    }
}

/// Threads in the order in which they first set a timer.
fn thread_number() -> usize {
    // std's counter in every build: it only spreads the threads, and says nothing about anything else.
    use heist_sync::std_atomic::AtomicUsize;
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    std::thread_local! {
        static NUMBER: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    let number = NUMBER.get();
    if number != usize::MAX {
        return number;
    }
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    NUMBER.set(number);
    number
}
