//! Every item is dropped exactly once, through every adaptor and end, wherever a closure panics.

use heist_iter::ThreadPoolBuilder;
use heist_iter::iter::Either;
use heist_iter::prelude::*;
use std::collections::{BTreeMap, HashMap, LinkedList, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

const NEW: u8 = 0;
const ALIVE: u8 = 1;
const DROPPED: u8 = 2;

/// The states of all items of a run.
#[derive(Default)]
struct Ledger {
    items: std::sync::Mutex<Vec<Arc<AtomicU8>>>,
    double_drops: Arc<AtomicUsize>,
}

impl Ledger {
    fn item(&self, id: usize) -> Item {
        let state = Arc::new(AtomicU8::new(NEW));
        assert_eq!(state.swap(ALIVE, Ordering::Relaxed), NEW);
        self.items.lock().unwrap().push(state.clone());
        Item { id, state, double_drops: self.double_drops.clone(), pad: Box::new(id) }
    }

    fn check(self, what: &str) {
        assert_eq!(self.double_drops.load(Ordering::Relaxed), 0, "{what}: dropped twice");
        let leaked =
            self.items.into_inner().unwrap().iter().filter(|s| s.load(Ordering::Relaxed) != DROPPED).count();
        assert_eq!(leaked, 0, "{what}: leaked");
    }
}

/// An item with memory of its own, so that a sanitizer or Miri sees misuse too.
struct Item {
    id: usize,
    state: Arc<AtomicU8>,
    double_drops: Arc<AtomicUsize>,
    pad: Box<usize>,
}

impl Drop for Item {
    fn drop(&mut self) {
        assert_eq!(*self.pad, self.id);
        if self.state.swap(DROPPED, Ordering::Relaxed) != ALIVE {
            self.double_drops.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Panics at the item with the given id, if any.
fn trip(at: Option<usize>) -> impl Fn(Item) -> Item + Clone + Sync + Send {
    move |item| {
        if Some(item.id) == at {
            std::panic::resume_unwind(Box::new("tripped"));
        }
        item
    }
}

macro_rules! ends {
    ($what:expr, $len:expr, $at:expr, $make:expr) => {{
        ends!(@one $what, $len, $at, $make, "collect to Vec", |i| { let _v: Vec<_> = i.collect(); });
        ends!(@one $what, $len, $at, $make, "collect to LinkedList", |i| { let _v: LinkedList<_> = i.collect(); });
        ends!(@one $what, $len, $at, $make, "collect to VecDeque", |i| { let _v: VecDeque<_> = i.collect(); });
        ends!(@one $what, $len, $at, $make, "collect_vec_list", |i| { let _v = i.collect_vec_list(); });
        ends!(@one $what, $len, $at, $make, "collect to Option", |i| {
            let _v: Option<Vec<_>> = i.map(Some).collect();
        });
        ends!(@one $what, $len, $at, $make, "collect to Err", |i| {
            let middle = $len / 3;
            let _v: Result<Vec<_>, Item> = i.map(|i: Item| if i.id == middle { Err(i) } else { Ok(i) }).collect();
        });
        ends!(@one $what, $len, $at, $make, "for_each", |i| i.for_each(drop));
        ends!(@one $what, $len, $at, $make, "reduce_with", |i| { let _v = i.reduce_with(|a, b| if a.id < b.id { a } else { b }); });
        ends!(@one $what, $len, $at, $make, "min_by_key", |i| { let _v = i.min_by_key(|i| i.id); });
        ends!(@one $what, $len, $at, $make, "find_any", |i| { let m = $len / 2; let _v = i.find_any(|i| i.id == m); });
        ends!(@one $what, $len, $at, $make, "find_first", |i| { let m = $len / 2; let _v = i.find_first(|i| i.id >= m); });
        ends!(@one $what, $len, $at, $make, "find_last", |i| { let m = $len / 2; let _v = i.find_last(|i| i.id <= m); });
        ends!(@one $what, $len, $at, $make, "partition", |i| {
            let _v: (Vec<_>, Vec<_>) = i.partition(|i| i.id % 3 == 0);
        });
        ends!(@one $what, $len, $at, $make, "partition_map", |i| {
            let _v: (Vec<_>, LinkedList<_>) =
                i.partition_map(|i| if i.id % 3 == 0 { Either::Left(i) } else { Either::Right(i) });
        });
        ends!(@one $what, $len, $at, $make, "unzip", |i| {
            let _v: (Vec<_>, Vec<_>) = i.map(|i| (i.id, i)).unzip();
        });
        ends!(@one $what, $len, $at, $make, "unzip to maps", |i| {
            let _v: (HashMap<usize, Item>, BTreeMap<usize, usize>) = i.map(|i| { let id = i.id; ((id, i), (id, id)) }).unzip();
        });
        ends!(@one $what, $len, $at, $make, "fold", |i| {
            let _v: Vec<_> = i.fold(Vec::new, |mut v, i| { v.push(i); v }).collect();
        });
        ends!(@one $what, $len, $at, $make, "try_fold", |i| {
            let m = $len / 2;
            let _v: Vec<_> = i
                .try_fold(Vec::new, |mut v, i: Item| if i.id == m { Err(i) } else { v.push(i); Ok(v) })
                .collect();
        });
        ends!(@one $what, $len, $at, $make, "take_any", |i| { let _v: Vec<_> = i.take_any($len / 2).collect(); });
        ends!(@one $what, $len, $at, $make, "skip_any", |i| { let _v: Vec<_> = i.skip_any($len / 2).collect(); });
        ends!(@one $what, $len, $at, $make, "while_some", |i| {
            let m = $len / 2;
            let _v: Vec<_> = i.map(|i: Item| (i.id != m).then_some(i)).while_some().collect();
        });
        ends!(@one $what, $len, $at, $make, "panic_fuse", |i| { let _v: Vec<_> = i.panic_fuse().collect(); });
    }};
    (@one $what:expr, $len:expr, $at:expr, $make:expr, $end:expr, $drive:expr) => {{
        let ledger = Ledger::default();
        let what = format!("{} of {} to {}, panic at {:?}", $what, $len, $end, $at);
        let result = catch_unwind(AssertUnwindSafe(|| call($make(&ledger), $drive)));
        if let Err(payload) = result {
            assert!($at.is_some(), "{what}: panicked");
            assert_eq!(payload.downcast_ref::<&str>(), Some(&"tripped"), "{what}");
        }
        ledger.check(&what);
    }};
}

/// Lets the types of closures be inferred.
fn call<I, R>(iter: I, drive: impl FnOnce(I) -> R) -> R {
    drive(iter)
}

fn items(ledger: &Ledger, range: std::ops::Range<usize>) -> Vec<Item> {
    range.map(|id| ledger.item(id)).collect()
}

fn run(len: usize, at: Option<usize>) {
    let trip = &trip(at);
    ends!("vec", len, at, |l| items(l, 0..len).into_par_iter().map(trip.clone()));
    ends!("range", len, at, |l| made(l, len).map(trip.clone()));
    ends!("rev", len, at, |l| items(l, 0..len).into_par_iter().map(trip.clone()).rev());
    ends!("chain", len, at, |l| {
        items(l, 0..len / 2).into_par_iter().chain(items(l, len / 2..len)).map(trip.clone())
    });
    ends!("zip", len, at, |l| {
        items(l, 0..len).into_par_iter().map(trip.clone()).zip(items(l, len..2 * len)).map(|(a, _)| a)
    });
    ends!("interleave", len, at, |l| {
        items(l, 0..len / 2).into_par_iter().interleave(items(l, len / 2..len)).map(trip.clone())
    });
    ends!("chunks", len, at, |l| {
        items(l, 0..len).into_par_iter().map(trip.clone()).chunks(3).flat_map_iter(|chunk| chunk)
    });
    ends!("flat_map", len, at, |l| {
        items(l, 0..len).into_par_iter().flat_map(|item| vec![item]).map(trip.clone())
    });
    ends!("filter", len, at, |l| items(l, 0..len)
        .into_par_iter()
        .map(trip.clone())
        .filter(|i| i.id % 2 == 0));
    ends!("skip", len, at, |l| items(l, 0..len).into_par_iter().map(trip.clone()).skip(len / 3));
    ends!("take", len, at, |l| items(l, 0..len).into_par_iter().map(trip.clone()).take(len / 3));
    ends!("step_by", len, at, |l| items(l, 0..len).into_par_iter().map(trip.clone()).step_by(3));
    ends!("map_with", len, at, |l: &Ledger| {
        let own = Arc::new(l.item(usize::MAX));
        items(l, 0..len).into_par_iter().map_with(own, move |_own, i| trip(i))
    });
    ends!("fold_chunks", len, at, |l| {
        let iter = items(l, 0..len).into_par_iter().map(trip.clone());
        iter.fold_chunks(4, || None, |_, i| Some(i)).map(|last| last.unwrap())
    });
    ends!("par_bridge", len, at, |l| items(l, 0..len).into_iter().par_bridge().map(trip.clone()));
}

/// Items that are made on the way.
fn made(ledger: &Ledger, len: usize) -> impl IndexedParallelIterator<Item = Item> {
    (0..len).into_par_iter().map(|id| ledger.item(id))
}

#[test]
fn every_item_is_dropped_exactly_once() {
    for workers in [1, 3] {
        let pool = ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
        pool.install(|| {
            for len in [0, 1, 2, 5, 300] {
                run(len, None);
                for at in [0, len / 2, len.saturating_sub(1)] {
                    run(len, Some(at));
                }
            }
        });
    }
}

#[test]
fn collecting_in_place_drops_what_was_there_and_what_was_written() {
    for at in [None, Some(0), Some(150), Some(299)] {
        let ledger = Ledger::default();
        let result = catch_unwind(AssertUnwindSafe(|| {
            let (mut left, mut right) = (items(&ledger, 1000..1010), items(&ledger, 2000..2400));
            let pairs = items(&ledger, 0..300).into_par_iter().map(trip(at)).zip(items(&ledger, 300..600));
            pairs.unzip_into_vecs(&mut left, &mut right);
            assert!(left.iter().map(|i| i.id).eq(0..300) && right.iter().map(|i| i.id).eq(300..600));
            items(&ledger, 0..300).into_par_iter().collect_into_vec(&mut left);
            left.par_extend(items(&ledger, 300..310));
            assert!(left.iter().map(|i| i.id).eq(0..310));
        }));
        assert_eq!(result.is_err(), at.is_some());
        ledger.check("in place");
    }
}

#[test]
fn a_panic_arrives_once_with_its_payload() {
    let calls = AtomicUsize::new(0);
    let result = catch_unwind(AssertUnwindSafe(|| {
        (0..100_000u32).into_par_iter().for_each(|n| {
            if n == 77_777 {
                calls.fetch_add(1, Ordering::Relaxed);
                std::panic::resume_unwind(Box::new(n));
            }
        });
    }));
    assert_eq!(*result.unwrap_err().downcast::<u32>().unwrap(), 77_777);
    assert_eq!(calls.into_inner(), 1);
    // The pool goes on working.
    assert_eq!((0..1000u32).into_par_iter().sum::<u32>(), 499_500);
}
