//! Items that take no memory, and loops that would not end in anybody's lifetime.

use heist::ThreadPoolBuilder;
use heist_iter::iter::{repeat, repeat_n};
use heist_iter::prelude::*;
use std::collections::{BTreeSet, BinaryHeap, HashSet, LinkedList, VecDeque};
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static MADE: AtomicUsize = AtomicUsize::new(0);
static DROPPED: AtomicUsize = AtomicUsize::new(0);

/// Has no memory and no identity, so only the numbers can be compared.
#[derive(Debug)]
struct Nothing(());

fn nothing() -> Nothing {
    MADE.fetch_add(1, Relaxed);
    Nothing(())
}

impl Clone for Nothing {
    fn clone(&self) -> Self {
        nothing()
    }
}

impl Drop for Nothing {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Relaxed);
    }
}

impl PartialEq for Nothing {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Nothing {}

impl PartialOrd for Nothing {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Nothing {
    fn cmp(&self, _other: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl Hash for Nothing {
    fn hash<H: Hasher>(&self, _state: &mut H) {}
}

fn nothings(len: usize) -> Vec<Nothing> {
    (0..len).map(|_| nothing()).collect()
}

/// Passes items on, and panics at one of them.
struct Gate {
    calls: AtomicUsize,
    panics_at: Option<usize>,
}

impl Gate {
    fn pass<T>(&self, item: T) -> T {
        if Some(self.calls.fetch_add(1, Relaxed)) == self.panics_at {
            resume_unwind(Box::new("planted"));
        }
        item
    }
}

/// Runs with so many items.
type Drive = fn(usize, &Gate);

const LOOPS: &[(&str, Drive)] = &[
    ("collect", |n, gate| {
        let all: Vec<_> = nothings(n).into_par_iter().map(|i| gate.pass(i)).collect();
        assert_eq!(all.len(), n);
    }),
    ("collect made ones", |n, gate| {
        let all: Box<[_]> = (0..n).into_par_iter().map(|_| gate.pass(nothing())).collect();
        assert_eq!(all.len(), n);
    }),
    ("collect an unknown number", |n, gate| {
        let all: Vec<_> = nothings(n).into_par_iter().filter(|_| gate.pass(true)).collect();
        assert_eq!(all.len(), n);
    }),
    ("collect to lists and queues", |n, gate| {
        let all: LinkedList<_> = nothings(n).into_par_iter().map(|i| gate.pass(i)).collect();
        let all: VecDeque<_> = all.into_par_iter().collect();
        let all: BinaryHeap<_> = all.into_par_iter().collect();
        assert_eq!(all.into_par_iter().count(), n);
    }),
    ("collect to sets", |n, gate| {
        let one: BTreeSet<_> = nothings(n).into_par_iter().map(|i| gate.pass(i)).collect();
        assert_eq!(one.into_par_iter().count(), n.min(1));
        let mut one: HashSet<_> = nothings(n).into_par_iter().collect();
        assert_eq!(one.par_drain().count(), n.min(1));
    }),
    ("unzip", |n, gate| {
        let pairs = nothings(n).into_par_iter().map(|i| (gate.pass(nothing()), i));
        let (left, right): (Vec<_>, Vec<_>) = pairs.unzip();
        assert_eq!((left.len(), right.len()), (n, n));
    }),
    ("unzip_into_vecs", |n, gate| {
        let (mut left, mut right) = (nothings(3), nothings(1000));
        let pairs = nothings(n).into_par_iter().zip(nothings(n)).map(|pair| gate.pass(pair));
        pairs.unzip_into_vecs(&mut left, &mut right);
        assert_eq!((left.len(), right.len()), (n, n));
    }),
    ("partition", |n, gate| {
        let (left, right): (Vec<_>, Vec<_>) = nothings(n).into_par_iter().partition(|_| gate.pass(false));
        assert_eq!((left.len(), right.len()), (0, n));
    }),
    ("drain", |n, gate| {
        let mut all = nothings(n + 2);
        all.par_drain(1..=n).for_each(|i| drop(gate.pass(i)));
        assert_eq!(all.len(), 2);
        let mut all = VecDeque::from(all);
        assert_eq!((all.par_drain(1..).count(), all.len()), (1, 1));
    }),
    ("array", |_, gate| {
        let array: [Nothing; 40] = std::array::from_fn(|_| nothing());
        assert_eq!(array.into_par_iter().rev().map(|i| gate.pass(i)).count(), 40);
    }),
    ("chunks, skip, step_by, take", |n, gate| {
        let chunks = nothings(n).into_par_iter().map(|i| gate.pass(i)).chunks(3).skip(1).step_by(2).take(5);
        assert!(chunks.flat_map(|chunk| chunk).count() <= 15);
    }),
    ("interleave, chain, intersperse", |n, gate| {
        let all = nothings(n).into_par_iter().interleave(nothings(7)).chain(nothings(2));
        let all: Vec<_> = all.map(|i| gate.pass(i)).intersperse(nothing()).collect();
        assert_eq!(all.len(), 2 * (n + 9) - 1);
    }),
    ("repeat_n", |n, gate| assert_eq!(repeat_n(nothing(), n).map(|i| gate.pass(i)).count(), n)),
    ("find_any", |n, gate| {
        assert_eq!(nothings(n).into_par_iter().find_any(|_| gate.pass(true)).is_some(), n > 0);
    }),
    ("find_last", |n, gate| {
        assert_eq!(nothings(n).into_par_iter().find_last(|_| gate.pass(true)).is_some(), n > 0);
    }),
    ("reduce", |n, gate| {
        assert_eq!(nothings(n).into_par_iter().reduce_with(|a, _| gate.pass(a)).is_some(), n > 0);
    }),
    ("fold", |n, gate| {
        let parts = nothings(n).into_par_iter().fold(Vec::new, |mut all, i| {
            all.push(gate.pass(i));
            all
        });
        assert_eq!(parts.map(|part| part.len()).sum::<usize>(), n);
    }),
    ("par_bridge", |n, gate| {
        assert_eq!(nothings(n).into_iter().par_bridge().map(|i| gate.pass(i)).count(), n);
    }),
    ("sort", |n, gate| {
        let mut all = nothings(n);
        all.par_sort_by(|a, b| gate.pass(a.cmp(b)));
        all.par_sort_unstable_by(|a, b| gate.pass(a.cmp(b)));
        assert_eq!(all.len(), n);
    }),
    ("slices", |n, gate| {
        let mut all = nothings(n);
        assert_eq!(all.par_iter().cloned().map(|i| gate.pass(i)).count(), n);
        assert_eq!(all.par_chunks(3).map(<[_]>::len).sum::<usize>(), n);
        assert_eq!(all.par_rchunks_exact(3).count(), n / 3);
        assert_eq!(all.par_windows(2).count(), n.saturating_sub(1));
        all.par_iter_mut().for_each(|i| *i = nothing());
        assert_eq!(all.par_chunk_by(|a, b| a == b).count(), n.min(1));
    }),
];

#[test]
fn items_without_size_are_dropped_as_often_as_they_are_made() {
    for workers in [1, 3] {
        let pool = ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
        for len in [0_usize, 1, 2, 33, 1000] {
            for panics_at in [None, Some(0), Some(len / 2), Some(len.saturating_sub(1))] {
                for (name, drive) in LOOPS {
                    let gate = Gate { calls: AtomicUsize::new(0), panics_at };
                    let result = catch_unwind(AssertUnwindSafe(|| pool.install(|| drive(len, &gate))));
                    let what = format!("{name}: {len} items, panic at {panics_at:?}, {workers} workers");
                    match result {
                        Ok(()) => assert!(panics_at.is_none_or(|at| at >= gate.calls.into_inner()), "{what}"),
                        Err(payload) => assert!(payload.is::<&str>() && panics_at.is_some(), "{what}"),
                    }
                    assert_eq!(MADE.load(Relaxed), DROPPED.load(Relaxed), "{what}");
                }
            }
        }
    }
}

#[test]
fn more_items_than_memory() {
    let units = vec![(); usize::MAX];
    assert_eq!(units.par_iter().len(), usize::MAX);
    assert!(units.par_iter().any(|()| true));
    assert_eq!(units.par_iter().step_by(1 << 60).len(), 16);
    assert_eq!(units.par_chunks(1 << 62).map(<[()]>::len).collect::<Vec<_>>().len(), 4);
    assert_eq!(units.par_rchunks_exact(1 << 62).len(), 3);
    assert_eq!(units.par_windows(usize::MAX - 9).count(), 10);
    assert!(units.into_par_iter().rev().find_first(|()| true).is_some());
    assert!(repeat_n((), usize::MAX).find_first(|()| true).is_some());
}

/// Everything that may stop a loop early stops this one.
macro_rules! stops_early {
    ($($range:expr),* $(,)?) => {
        $(
            let few = $range.start_bound_value() + 1000;
            assert!($range.into_par_iter().any(|n| n > few));
            assert!(!$range.into_par_iter().all(|n| n < few));
            assert!($range.into_par_iter().find_any(|n| *n > few).is_some());
            assert_eq!($range.into_par_iter().find_first(|n| *n > few), Some(few + 1));
            assert!($range.into_par_iter().find_map_any(|n| (n > few).then_some(n)).is_some());
            assert_eq!($range.into_par_iter().try_for_each(|n| if n > few { Err(()) } else { Ok(()) }), Err(()));
            assert_eq!($range.into_par_iter().map(|n| (n <= few).then_some(n)).collect::<Option<Vec<_>>>(), None);
            assert!($range.into_par_iter().map(|n| (n <= few).then_some(n)).while_some().count() < 1 << 40);
            assert_eq!($range.into_par_iter().take_any(50).count(), 50);
            assert!($range.into_par_iter().take_any_while(|n| *n <= few).count() < 1 << 40);
            assert!($range.into_par_iter().filter(|n| *n > few).flat_map_iter(|n| [n, n]).any(|n| n > few));
            assert!($range.into_par_iter().chain($range).any(|n| n > few));
            let failed = $range.into_par_iter().map(|n| if n > few { None } else { Some(n) }).try_reduce_with(|a, _| Some(a));
            assert_eq!(failed, Some(None));
        )*
    };
}

/// The first number of a range of either kind.
trait StartBoundValue<T> {
    fn start_bound_value(&self) -> T;
}

impl<T: Copy> StartBoundValue<T> for std::ops::Range<T> {
    fn start_bound_value(&self) -> T {
        self.start
    }
}

impl<T: Copy> StartBoundValue<T> for std::ops::RangeInclusive<T> {
    fn start_bound_value(&self) -> T {
        *self.start()
    }
}

#[test]
fn endless_loops_end_when_they_may() {
    stops_early![0..u64::MAX, 0..=u64::MAX, 0..u128::MAX, i128::MIN..=i128::MAX];
}

#[test]
fn a_huge_range_can_be_cut_at_any_index() {
    let huge = || (0..usize::MAX).into_par_iter();
    assert_eq!(huge().take(5).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert_eq!(huge().rev().take(2).collect::<Vec<_>>(), [usize::MAX - 1, usize::MAX - 2]);
    assert_eq!(huge().step_by(usize::MAX / 2).collect::<Vec<_>>(), [0, usize::MAX / 2, usize::MAX - 1]);
    assert_eq!(huge().zip(7..9).collect::<Vec<_>>(), [(0, 7), (1, 8)]);
    assert_eq!(
        huge().enumerate().rev().zip(0..1).collect::<Vec<_>>(),
        [((usize::MAX - 1, usize::MAX - 1), 0)]
    );
    assert_eq!(huge().position_first(|n| n > 10), Some(11));
    assert!(huge().position_any(|n| n > 10).is_some());
    assert_eq!(huge().chunks(10).find_first(|_| true), Some((0..10).collect()));
    assert_eq!(huge().fold_chunks(10, || 0, |sum, n| sum + n).find_first(|_| true), Some(45));
    assert_eq!(huge().by_exponential_blocks().find_first(|n| *n > 10), Some(11));
    assert_eq!(huge().by_uniform_blocks(100).find_first(|n| *n > 10), Some(11));
    assert_eq!(huge().interleave_shortest(5..6).collect::<Vec<_>>(), [0, 5, 1]);
    assert!(huge().with_max_len(10).any(|n| n == 10));
    assert!(huge().with_min_len(1 << 20).any(|n| n == 10));
    assert!(huge().positions(|n| n % 2 == 1).any(|n| n == 11));
}

#[test]
fn what_repeats_for_ever_ends_when_it_may() {
    assert!(repeat(1).any(|n| n == 1));
    assert_eq!(repeat(1).take_any(10).count(), 10);
    assert_eq!(repeat(1).zip(0..10).count(), 10);
    let calls = AtomicUsize::new(0);
    let found = repeat(1).map(|_| calls.fetch_add(1, Relaxed)).find_first(|n| *n > 100);
    assert!(found.is_some());
}
