//! All timers of a pool: as many shards as make two threads at one lock rare.

use super::shard::Shard;
use crate::driver::board::Board;
use heist_sync::atomic::Ordering;
use std::cell::Cell;
use std::sync::{Arc, OnceLock};

/// How many shards there are for each thread that runs at once.
const PER_THREAD: usize = 2;

#[derive(Debug)]
pub(crate) struct Timers {
    /// The shards, each leased on first use. Their number is a power of two.
    shards: Box<[OnceLock<&'static Shard>]>,
}

impl Timers {
    /// Says how many shards a pool with this parallelism has.
    pub fn shards_for(parallelism: usize) -> usize {
        (parallelism * PER_THREAD).next_power_of_two()
    }

    /// Makes the timers for a board with `shards` shards, a power of two.
    pub fn new(shards: usize) -> Self {
        assert!(shards.is_power_of_two());
        Self { shards: (0..shards).map(|_| OnceLock::new()).collect() }
    }

    /// Returns the shard in which the calling thread sets its timers.
    #[inline]
    pub fn here(&self, board: &Arc<Board>) -> &'static Shard {
        let index = thread_number() & (self.shards.len() - 1);
        self.shards[index].get_or_init(|| Shard::lease(board, index))
    }

    /// Wakes what is due at `now`.
    pub fn fire(&self, board: &Board, now: u64) {
        for (earliest, shard) in board.shards().iter().zip(&self.shards) {
            // ORDERING: a timer that is missed here is one that was set just now; the next turn sees it (DRIVER-E3).
            if earliest.load(Ordering::Relaxed) <= now
                && let Some(shard) = shard.get()
            {
                shard.fire(now);
            }
        }
    }

    /// Whether a timer is set that was not cancelled. It takes the lock of every shard, so only a closing pool asks.
    pub fn is_used(&self) -> bool {
        // All of them, so that those without a timer say so.
        self.shards.iter().filter_map(OnceLock::get).filter(|shard| shard.is_used()).count() > 0
    }

    /// Wakes every timer, because nobody looks after them any more.
    pub fn close(&self) {
        self.shards.iter().filter_map(OnceLock::get).for_each(|shard| shard.close());
    }
}

/// Numbers threads in the order in which they first set a timer.
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
