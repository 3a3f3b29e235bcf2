//! What hashbrown and indexmap implement for rayon is heist's, and runs on heist's workers.

use hashbrown::{HashMap, HashSet};
use heist::iter::{IndexedParallelIterator, ParallelIterator};
use indexmap::{IndexMap, IndexSet};
use rayon::prelude::{FromParallelIterator, IntoParallelIterator, IntoParallelRefIterator, ParallelExtend};
use std::collections::BTreeSet;
use std::sync::Mutex;

/// Which threads came by. On one of rayon's own, or outside of a pool, this panics.
#[derive(Default)]
struct Seen(Mutex<BTreeSet<String>>);

impl Seen {
    fn here(&self) {
        assert!(heist::current_thread_index().is_some(), "not in heist's pool");
        let name = std::thread::current().name().unwrap_or("unnamed").to_owned();
        self.0.lock().unwrap().insert(name);
    }
}

/// Only what implements heist's trait can be given here; the crates below have never heard of it.
fn sum(numbers: impl ParallelIterator<Item = u64>) -> u64 {
    let seen = Seen::default();
    let sum = numbers.inspect(|_| seen.here()).sum();
    assert!(!seen.0.into_inner().unwrap().is_empty());
    sum
}

#[test]
fn a_map_of_hashbrown_is_heists_parallel_iterator() {
    let map: HashMap<u64, u64> = (0..1000).map(|n| (n, n)).collect();
    assert_eq!(sum(map.par_iter().map(|(_, n)| *n)), 499_500);
    assert_eq!(sum(map.into_par_iter().map(|(n, _)| n)), 499_500);
}

#[test]
fn collections_are_made_by_heists_iterators() {
    let set: HashSet<u64> = heist::iter::repeat_n(7, 100).collect();
    assert_eq!(set.len(), 1);
    let mut ordered = IndexSet::<u64>::from_par_iter((0..1000u32).into_par_iter().rev().map(u64::from));
    assert_eq!(ordered.first(), Some(&999));
    ordered.par_extend(990..1010u64);
    assert_eq!(ordered.last(), Some(&1009));
    ordered.par_sort();
    assert!(ordered.iter().copied().eq(0..1010));
}

#[test]
fn what_indexmap_adds_is_indexed() {
    let map: IndexMap<u64, &str> = [(3, "c"), (1, "a"), (2, "b")].into();
    fn places<'a, I>(map: &'a I) -> Vec<(usize, u64)>
    where
        &'a I: IntoParallelIterator<Item = (&'a u64, &'a &'static str), Iter: IndexedParallelIterator>,
    {
        map.into_par_iter().enumerate().map(|(place, (key, _))| (place, *key)).collect()
    }
    assert_eq!(places(&map), [(0, 3), (1, 1), (2, 2)]);
    assert_eq!(sum(map.par_keys().copied()), 6);
}

/// A consumer of the program's own, through rayon's plumbing.
#[test]
fn the_plumbing_is_heists() {
    use rayon::iter::plumbing::{Folder, bridge};
    struct Last(Option<u64>);
    impl Folder<u64> for Last {
        type Result = Option<u64>;
        fn consume(self, item: u64) -> Self {
            Last(Some(item))
        }
        fn complete(self) -> Option<u64> {
            self.0
        }
        fn full(&self) -> bool {
            false
        }
    }
    struct Lasts;
    impl rayon::iter::plumbing::Reducer<Option<u64>> for Lasts {
        fn reduce(self, left: Option<u64>, right: Option<u64>) -> Option<u64> {
            right.or(left)
        }
    }
    impl rayon::iter::plumbing::Consumer<u64> for Lasts {
        type Folder = Last;
        type Reducer = Lasts;
        type Result = Option<u64>;
        fn split_at(self, _: usize) -> (Self, Self, Lasts) {
            (Lasts, Lasts, Lasts)
        }
        fn into_folder(self) -> Last {
            Last(None)
        }
        fn full(&self) -> bool {
            false
        }
    }
    assert_eq!(bridge((0..1000u32).into_par_iter().map(u64::from), Lasts), Some(999));
}

/// Both names are one pool: a job that was spawned by one sees the index that the other gives it.
#[test]
fn rayon_and_heist_are_one_pool() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    assert_eq!(pool.install(heist::current_num_threads), 2);
    let both = heist::broadcast(|_| (rayon::current_thread_index(), heist::current_thread_index()));
    assert!(both.iter().all(|(a, b)| a.is_some() && a == b));
}
