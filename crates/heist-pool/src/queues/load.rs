//! How much work the ticks of each index are, so that a new one goes where there is least.

use heist_policy::tick as policy;
use heist_sync::std_atomic::{AtomicU32, AtomicU64, Ordering};
use std::ops::Range;

/// What a tick adds to its index: how long it runs, in nanoseconds per second. `None` as long as it has not run.
pub type Share = Option<u64>;

#[derive(Default)]
struct Load {
    /// Of those that have run.
    busy_ns: AtomicU64,
    measured: AtomicU32,
    unmeasured: AtomicU32,
}

/// The load of each index. Written by the ticks themselves; a guess, so nothing is ordered by it.
pub struct Loads(Box<[Load]>);

impl Loads {
    pub(crate) fn new(indices: usize) -> Self {
        Self((0..indices).map(|_| Load::default()).collect())
    }

    /// The index with the least load among those of `indices` that are nearest, for a new tick.
    pub fn least(&self, indices: Range<usize>, rank: impl Fn(u16) -> u8) -> u16 {
        let ranked = || indices.clone().map(|index| (index as u16, rank(index as u16)));
        let nearest = ranked().map(|(_, rank)| rank).min();
        let near: Vec<u16> =
            ranked().filter(|&(_, rank)| Some(rank) == nearest).map(|(index, _)| index).collect();
        let loads = near.iter().map(|&index| &self.0[usize::from(index)]).map(|load| policy::Load {
            busy_ns: load.busy_ns.load(Ordering::Relaxed),
            measured: load.measured.load(Ordering::Relaxed),
            unmeasured: load.unmeasured.load(Ordering::Relaxed),
        });
        policy::place(loads).map_or(0, |place| near[place])
    }

    /// A tick is served at `index` from here on.
    pub fn add(&self, index: u16, share: Share) {
        let load = &self.0[usize::from(index)];
        match share {
            Some(share) => {
                load.busy_ns.fetch_add(share, Ordering::Relaxed);
                load.measured.fetch_add(1, Ordering::Relaxed);
            }
            None => drop(load.unmeasured.fetch_add(1, Ordering::Relaxed)),
        }
    }

    /// A tick that was added there is not any more.
    pub fn remove(&self, index: u16, share: Share) {
        let load = &self.0[usize::from(index)];
        match share {
            Some(share) => {
                load.busy_ns.fetch_sub(share, Ordering::Relaxed);
                load.measured.fetch_sub(1, Ordering::Relaxed);
            }
            None => drop(load.unmeasured.fetch_sub(1, Ordering::Relaxed)),
        }
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    #[test]
    fn a_new_tick_goes_where_there_is_least_to_do() {
        let loads = Loads::new(3);
        for expected in [0, 1, 2, 0] {
            assert_eq!(loads.least(0..3, |_| 0), expected);
            loads.add(expected, None);
        }
        // Index 1 turns out to be heavy, the others light.
        for (index, share) in [(0, 10), (1, 500), (2, 20), (0, 15)] {
            loads.remove(index, None);
            loads.add(index, Some(share));
        }
        assert_eq!(loads.least(0..3, |_| 0), 2);
        loads.add(2, None);
        assert_eq!(loads.least(0..3, |_| 0), 0, "one that has not run counts as the mean");
        assert_eq!(loads.least(0..1, |_| 0), 0, "a pool that could not start all its threads");
        assert_eq!(loads.least(0..3, |index| u8::from(index != 1)), 1, "the only one that is near");
        assert_eq!(loads.least(0..3, |index| u8::from(index == 0)), 2);
        assert_eq!(loads.least(1..2, |_| 0), 1, "a pool whose first thread has no loop");
    }
}
