//! How much work the ticks of each index are, so that a new one goes where there is least.

use heist_sync::std_atomic::{AtomicU64, AtomicUsize, Ordering};

/// What a tick adds to its index: its mean run time by its period, in millionths. `None` as long as it has not run.
pub type Share = Option<u64>;

#[derive(Default)]
struct Load {
    /// Of those that have run.
    sum: AtomicU64,
    measured: AtomicUsize,
    unmeasured: AtomicUsize,
}

/// The load of each index. Written by the ticks themselves; a guess, so nothing is ordered by it.
pub struct Loads(Box<[Load]>);

impl Loads {
    pub(crate) fn new(indices: usize) -> Self {
        Self((0..indices).map(|_| Load::default()).collect())
    }

    /// The index with the least load among the first `indices`. A tick that has not run counts as the mean of those that have.
    pub fn least(&self, indices: usize) -> u16 {
        let loads = &self.0[..indices];
        let measured: usize = loads.iter().map(|load| load.measured.load(Ordering::Relaxed)).sum();
        let sum: u64 = loads.iter().map(|load| load.sum.load(Ordering::Relaxed)).sum();
        // Before anything has run, their number decides.
        let mean = (sum / measured.max(1) as u64).max(1);
        let total = |load: &Load| {
            load.sum.load(Ordering::Relaxed) + mean * load.unmeasured.load(Ordering::Relaxed) as u64
        };
        let least = loads.iter().enumerate().min_by_key(|(_, load)| total(load));
        least.map_or(0, |(index, _)| index as u16)
    }

    /// A tick is served at `index` from here on.
    pub fn add(&self, index: u16, share: Share) {
        let load = &self.0[usize::from(index)];
        match share {
            Some(share) => {
                load.sum.fetch_add(share, Ordering::Relaxed);
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
                load.sum.fetch_sub(share, Ordering::Relaxed);
                load.measured.fetch_sub(1, Ordering::Relaxed);
            }
            None => drop(load.unmeasured.fetch_sub(1, Ordering::Relaxed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_tick_goes_where_there_is_least_to_do() {
        let loads = Loads::new(3);
        for expected in [0, 1, 2, 0] {
            assert_eq!(loads.least(3), expected);
            loads.add(expected, None);
        }
        // Index 1 turns out to be heavy, the others light.
        for (index, share) in [(0, 10), (1, 500), (2, 20), (0, 15)] {
            loads.remove(index, None);
            loads.add(index, Some(share));
        }
        assert_eq!(loads.least(3), 2);
        // An unmeasured one counts as the mean, 136.
        loads.add(2, None);
        assert_eq!(loads.least(3), 0);
        assert_eq!(loads.least(1), 0, "a pool that could not start all its threads");
    }
}
