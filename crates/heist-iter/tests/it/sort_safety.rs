//! What the sorts promise when comparisons panic, contradict each other, or change what they compare.

use heist::ThreadPoolBuilder;
use heist_iter::slice::ParallelSliceMut;
use heist_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::panic::{self, AssertUnwindSafe};

/// Long enough to be shared whatever a comparison costs.
const LEN: usize = 1 << 15;

/// The sorts by their three ways of moving elements.
#[derive(Clone, Copy, Debug)]
enum Sort {
    Stable,
    Unstable,
    Cached,
}

const SORTS: [Sort; 3] = [Sort::Stable, Sort::Unstable, Sort::Cached];

impl Sort {
    fn run<T: HasKey + Send>(self, v: &mut [T], cmp: impl Fn(&T, &T) -> Ordering + Sync) {
        match self {
            Sort::Stable => v.par_sort_by(cmp),
            Sort::Unstable => v.par_sort_unstable_by(cmp),
            Sort::Cached => {
                // The key is compared by the same function, through a stand-in for the element.
                let by_key = |a, b| cmp(&T::from_key(a), &T::from_key(b));
                v.par_sort_by_cached_key(|x| Key { key: x.key(), cmp: &by_key });
            }
        }
    }
}

trait HasKey {
    fn key(&self) -> u32;
    fn from_key(key: u32) -> Self;
}

struct Key<'a> {
    key: u32,
    cmp: &'a (dyn Fn(u32, u32) -> Ordering + Sync),
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Key<'_> {}
impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.cmp)(self.key, other.key)
    }
}

/// An element that counts how often it is dropped, by its identity, and is `PAD` words larger than it need be: how an
/// element is moved depends on its size.
struct Counted<'a, const PAD: usize> {
    key: u32,
    id: usize,
    drops: Option<&'a [AtomicUsize]>,
    _pad: [usize; PAD],
}

impl<const PAD: usize> Drop for Counted<'_, PAD> {
    fn drop(&mut self) {
        if let Some(drops) = self.drops {
            drops[self.id].fetch_add(1, Relaxed);
        }
    }
}

impl<const PAD: usize> HasKey for Counted<'_, PAD> {
    fn key(&self) -> u32 {
        self.key
    }
    fn from_key(key: u32) -> Self {
        Counted { key, id: 0, drops: None, _pad: [0; PAD] }
    }
}

fn keys(kind: &str) -> Vec<u32> {
    let mut random = fastrand::Rng::with_seed(1);
    match kind {
        "random" => (0..LEN).map(|_| random.u32(..)).collect(),
        "few" => (0..LEN).map(|_| random.u32(..5)).collect(),
        // Sorted but for the end: the look for runs gets far, and merges copy much.
        "tail" => (0..LEN).map(|i| if i < LEN - 100 { i as u32 } else { random.u32(..LEN as u32) }).collect(),
        "reversed" => (0..LEN as u32).rev().collect(),
        _ => unreachable!(),
    }
}

/// Sorts counted elements, after `before` comparisons by a comparison that panics; checks that every element is there
/// exactly once, and dropped exactly once at the end. Returns the number of comparisons.
fn sort_until<const PAD: usize>(sort: Sort, keys: &[u32], before: u64) -> u64 {
    let drops: Vec<AtomicUsize> = keys.iter().map(|_| AtomicUsize::new(0)).collect();
    let new = |(id, &key)| Counted { key, id, drops: Some(&drops), _pad: [id; PAD] };
    let mut v: Vec<Counted<'_, PAD>> = keys.iter().enumerate().map(new).collect();
    let compared = AtomicU64::new(0);
    let result = panic::catch_unwind(AssertUnwindSafe(|| {
        sort.run(&mut v, |a, b| {
            if compared.fetch_add(1, Relaxed) >= before {
                panic::resume_unwind(Box::new("planned"));
            }
            a.key.cmp(&b.key)
        });
    }));
    let compared = compared.into_inner();
    assert_eq!(result.is_err(), compared > before, "{sort:?} swallowed or invented a panic");
    if result.is_ok() {
        assert!(v.is_sorted_by_key(|x| x.key), "{sort:?}");
    }
    let mut there = vec![false; keys.len()];
    for x in &v {
        assert!(!there[x.id], "{sort:?} doubled {} after {before} comparisons", x.id);
        there[x.id] = true;
        assert_eq!(x.key, keys[x.id]);
    }
    assert!(drops.iter().all(|d| d.load(Relaxed) == 0), "{sort:?} dropped an element");
    drop(v);
    assert!(drops.iter().all(|d| d.load(Relaxed) == 1), "{sort:?} lost an element");
    compared
}

/// Panics at comparisons all over a sort of every kind of input.
fn panic_everywhere<const PAD: usize>(sorts: &[Sort], points: u64) {
    for threads in [2, 4] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for &sort in sorts {
            for kind in ["random", "few", "tail", "reversed"] {
                let keys = keys(kind);
                let all = pool.install(|| sort_until::<PAD>(sort, &keys, u64::MAX));
                // Evenly over the whole sort, and closely at both ends: the last comparisons are those of the last
                // merges and of the seams.
                let spread = (0..points).map(|i| all * i / points);
                let ends = (0..4).flat_map(|i| [i, all.saturating_sub(1 + i * i * i)]);
                for before in spread.chain(ends) {
                    pool.install(|| sort_until::<PAD>(sort, &keys, before));
                }
            }
        }
    }
}

#[test]
fn a_panic_at_any_comparison_loses_and_doubles_nothing() {
    panic_everywhere::<0>(&SORTS, 16);
}

#[test]
fn a_panic_loses_and_doubles_no_large_element() {
    panic_everywhere::<16>(&[Sort::Stable, Sort::Unstable], 6);
}

#[test]
fn a_panic_loses_and_doubles_none_of_many() {
    // Enough for the unstable sort to group its parts by buckets.
    let mut random = fastrand::Rng::with_seed(20);
    let keys: Vec<u32> = (0..(1 << 20) + 100).map(|_| random.u32(..)).collect();
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let all = pool.install(|| sort_until::<0>(Sort::Unstable, &keys, u64::MAX));
    for before in (1..4).map(|i| all * i / 4) {
        pool.install(|| sort_until::<0>(Sort::Unstable, &keys, before));
    }
}

#[test]
fn an_order_that_contradicts_itself_neither_panics_nor_loses_anything() {
    let pool = ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    for seed in 0..12 {
        for sort in SORTS {
            let drops: Vec<AtomicUsize> = (0..LEN).map(|_| AtomicUsize::new(0)).collect();
            let new = |id| Counted { key: id as u32, id, drops: Some(&drops), _pad: [] };
            let mut v: Vec<Counted<'_, 0>> = (0..LEN).map(new).collect();
            let state = AtomicU64::new(seed);
            pool.install(|| {
                sort.run(&mut v, |_, _| {
                    let n = state.fetch_add(0x9e37_79b9_7f4a_7c15, Relaxed);
                    match (n ^ (n >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 62 {
                        0 => Ordering::Less,
                        1 => Ordering::Equal,
                        _ => Ordering::Greater,
                    }
                })
            });
            let mut ids: Vec<usize> = v.iter().map(|x| x.id).collect();
            ids.sort_unstable();
            assert!(ids.into_iter().eq(0..LEN), "{sort:?}, seed {seed}");
            drop(v);
            assert!(drops.iter().all(|d| d.load(Relaxed) == 1), "{sort:?}, seed {seed}");
        }
    }
}

#[test]
fn a_constant_order_loses_and_doubles_nothing() {
    for answer in [Ordering::Less, Ordering::Equal, Ordering::Greater] {
        let mut v: Vec<usize> = (0..LEN).collect();
        v.par_sort_by(|_, _| answer);
        v.par_sort_unstable_by(|_, _| answer);
        v.sort_unstable();
        assert!(v.into_iter().eq(0..LEN));
    }
}

/// An element that remembers how often it was compared, in a box that is replaced each time: a stale copy of the
/// element would forget comparisons, and free a box twice.
struct Restless {
    key: u32,
    compared: Cell<Box<u64>>,
}

impl Restless {
    fn touch(&self) {
        let count = self.compared.replace(Box::new(0));
        self.compared.set(Box::new(*count + 1));
    }
}

#[test]
fn comparisons_may_change_what_they_compare() {
    let pool = ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    for kind in ["random", "few", "tail"] {
        for stable in [true, false] {
            let mut v: Vec<Restless> = keys(kind)
                .into_iter()
                .map(|key| Restless { key, compared: Cell::new(Box::new(0)) })
                .collect();
            let comparisons = AtomicU64::new(0);
            let cmp = |a: &Restless, b: &Restless| {
                comparisons.fetch_add(1, Relaxed);
                a.touch();
                b.touch();
                a.key.cmp(&b.key)
            };
            pool.install(|| if stable { v.par_sort_by(cmp) } else { v.par_sort_unstable_by(cmp) });
            assert!(v.is_sorted_by_key(|x| x.key));
            let remembered: u64 = v.into_iter().map(|x| *x.compared.into_inner()).sum();
            assert_eq!(remembered, 2 * comparisons.into_inner(), "{kind}, stable: {stable}");
        }
    }
}

#[test]
fn no_element_is_compared_by_two_threads_at_once() {
    /// Owns something, though nothing of any size: those that do are grouped by buckets.
    struct Shy {
        key: u32,
        busy: AtomicBool,
        _owned: Box<()>,
    }
    let pool = ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    let disturbed = AtomicBool::new(false);
    let cmp = |a: &Shy, b: &Shy| {
        if a.busy.swap(true, AcqRel) | b.busy.swap(true, AcqRel) {
            disturbed.store(true, Relaxed);
        }
        let order = a.key.cmp(&b.key);
        a.busy.store(false, Release);
        b.busy.store(false, Release);
        order
    };
    for kind in ["random", "few", "tail", "reversed"] {
        for stable in [true, false] {
            let keys = keys(kind).into_iter().cycle().take(4 * LEN);
            let mut v: Vec<Shy> =
                keys.map(|key| Shy { key, busy: AtomicBool::new(false), _owned: Box::new(()) }).collect();
            pool.install(|| if stable { v.par_sort_by(cmp) } else { v.par_sort_unstable_by(cmp) });
            assert!(v.is_sorted_by_key(|x| x.key));
            assert!(!disturbed.load(Relaxed), "{kind}, stable: {stable}");
        }
    }
}

#[test]
fn cells_are_sorted_though_they_are_not_sync() {
    let mut v: Vec<RefCell<u32>> = keys("random").into_iter().map(RefCell::new).collect();
    v.par_sort_unstable_by(|a, b| a.borrow_mut().cmp(&b.borrow_mut()));
    assert!(v.is_sorted());
    v.reverse();
    v.swap(0, LEN / 2);
    v.par_sort();
    assert!(v.is_sorted());
}

#[test]
fn a_panic_in_a_key_leaves_the_slice_alone() {
    let mut v: Vec<String> = (0..LEN).rev().map(|i| i.to_string()).collect();
    let before = v.clone();
    let result = panic::catch_unwind(AssertUnwindSafe(|| {
        v.par_sort_by_cached_key(|s| {
            if s == "77" {
                panic::resume_unwind(Box::new("planned"));
            }
            s.clone()
        })
    }));
    assert!(result.is_err());
    assert_eq!(v, before);
}
