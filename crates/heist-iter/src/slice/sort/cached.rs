//! Sorting by keys that are made once.

use super::unstable::unstable;
use crate::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};

/// Sorts by the keys that `make_key` makes; elements with equal keys keep their order.
pub(crate) fn by_cached_key<T, K, F>(v: &mut [T], make_key: &F)
where
    T: Send,
    K: Ord + Send,
    F: Fn(&T) -> K + Sync,
{
    if v.len() < 2 {
        return;
    }
    if u32::try_from(v.len()).is_ok() {
        by_keys_and_places::<T, K, u32, F>(v, make_key);
    } else {
        by_keys_and_places::<T, K, usize, F>(v, make_key);
    }
}

/// Where an element was. A narrow type makes the pairs of keys and places smaller, and so faster to sort.
trait Place: Copy + Ord + Send {
    /// The caller has checked that `place` fits.
    fn new(place: usize) -> Self;
    fn get(self) -> usize;
}

impl Place for u32 {
    fn new(place: usize) -> Self {
        place as u32
    }

    fn get(self) -> usize {
        self as usize
    }
}

impl Place for usize {
    fn new(place: usize) -> Self {
        place
    }

    fn get(self) -> usize {
        self
    }
}

fn by_keys_and_places<T, K, P, F>(v: &mut [T], make_key: &F)
where
    T: Send,
    K: Ord + Send,
    P: Place,
    F: Fn(&T) -> K + Sync,
{
    // By exclusive reference, since `&T` need not be `Send`.
    let mut order: Vec<(K, P)> =
        v.par_iter_mut().enumerate().map(|(place, x)| (make_key(x), P::new(place))).collect();
    // No two are equal, so an unstable sort gives the one order there is.
    unstable(&mut order, &<(K, P)>::cmp);

    for to in 0..v.len() {
        let mut from = order[to].1.get();
        // What was at a place before `to` has been swapped away, to the place that is noted there.
        while from < to {
            from = order[from].1.get();
        }
        order[to].1 = P::new(from);
        v.swap(to, from);
    }
}
