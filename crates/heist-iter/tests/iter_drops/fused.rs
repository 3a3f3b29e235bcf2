//! Loops with all their types, as users write them; several panics at once; and vectors that are collected into.

use crate::ledger::{Item, Ledger, Place, Planted, Trap};
use heist::ThreadPoolBuilder;
use heist_iter::prelude::*;
use std::collections::LinkedList;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Drives the same loop to a few ends, each with a ledger of its own.
macro_rules! drive {
    ($trap:expr, |$ledger:ident| $make:expr) => {
        drive!(@one $trap, |$ledger| $make.collect::<Vec<_>>());
        drive!(@one $trap, |$ledger| $make.filter(|i| i.id % 3 > 0).collect::<LinkedList<_>>());
        drive!(@one $trap, |$ledger| $make.find_first(|i| i.id > 100));
        drive!(@one $trap, |$ledger| $make.map(|i| (i.id, i)).unzip::<_, _, Vec<_>, Vec<_>>());
        drive!(@one $trap, |$ledger| $make.reduce_with(|a, b| if a.id < b.id { a } else { b }));
    };
    (@one $trap:expr, |$ledger:ident| $body:expr) => {
        let ledger = Ledger::new($trap);
        let result = catch_unwind(AssertUnwindSafe(|| {
            let $ledger = &ledger;
            ledger.arm();
            drop($body);
        }));
        assert_eq!(result.is_err(), ledger.has_sprung());
        assert_eq!(ledger.complaint(false), None, "{:?}: {}", $trap, stringify!($body));
    };
}

fn through(ledger: &Ledger, item: Item) -> Item {
    ledger.reach(Place::Adaptor);
    item
}

fn drive_all(len: usize, trap: Option<Trap>) {
    drive!(trap, |l| l.items(0..len).into_par_iter().map(|i| through(l, i)));
    drive!(trap, |l| (0..len).into_par_iter().map(|id| through(l, l.item(id))));
    drive!(trap, |l| l
        .items(0..len)
        .into_par_iter()
        .map(|i| through(l, i))
        .rev()
        .zip(l.items(0..len))
        .map(|p| p.0));
    drive!(trap, |l| l.items(0..len).into_par_iter().chunks(3).flat_map_iter(|c| c).map(|i| through(l, i)));
    drive!(trap, |l| l.items(0..len).into_par_iter().map_init(|| l.item(0), |_, i| through(l, i)).skip(3));
    drive!(trap, |l| l.items(0..len).into_iter().par_bridge().map(|i| through(l, i)));
}

#[test]
fn loops_with_all_their_types() {
    for workers in [1, 3] {
        let pool = ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
        pool.install(|| {
            for len in [0, 1, 2, 5, 300] {
                drive_all(len, None);
                for call in [0, len / 2, len.saturating_sub(1)] {
                    drive_all(len, Some(Trap { place: Place::Adaptor, call }));
                }
            }
        });
    }
}

#[test]
fn of_several_panics_one_arrives() {
    let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    for round in 0..50 {
        let ledger = Ledger::new(None);
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.install(|| {
                let items = ledger.items(0..300).into_par_iter().with_max_len(1);
                items.for_each(|item| {
                    if item.id % 7 == round % 7 {
                        resume_unwind(Box::new(item.id));
                    }
                });
            });
        }));
        let id = *result.unwrap_err().downcast::<usize>().unwrap();
        assert_eq!(id % 7, round % 7);
        assert_eq!(ledger.complaint(false), None);
    }
}

#[test]
fn a_panic_arrives_once_and_the_pool_goes_on() {
    let calls = AtomicUsize::new(0);
    let result = catch_unwind(AssertUnwindSafe(|| {
        (0..100_000u32).into_par_iter().for_each(|n| {
            if n == 77_777 {
                calls.fetch_add(1, Relaxed);
                resume_unwind(Box::new(n));
            }
        });
    }));
    assert_eq!(*result.unwrap_err().downcast::<u32>().unwrap(), 77_777);
    assert_eq!(calls.into_inner(), 1);
    assert_eq!((0..1000u32).into_par_iter().sum::<u32>(), 499_500);
}

#[test]
fn collecting_in_place_drops_what_was_there_and_what_was_written() {
    let collect = |ledger: &Arc<Ledger>| {
        let (mut left, mut right) = (ledger.items(1000..1010), ledger.items(2000..2400));
        let pairs =
            ledger.items(0..300).into_par_iter().map(|i| through(ledger, i)).zip(ledger.items(300..600));
        pairs.unzip_into_vecs(&mut left, &mut right);
        assert!(left.iter().map(|i| i.id).eq(0..300) && right.iter().map(|i| i.id).eq(300..600));
        ledger.items(0..300).into_par_iter().collect_into_vec(&mut left);
        left.par_extend(ledger.items(300..310));
        assert!(left.iter().map(|i| i.id).eq(0..310));
    };
    for call in [None, Some(0), Some(150), Some(299)] {
        let ledger = Ledger::new(call.map(|call| Trap { place: Place::Adaptor, call }));
        ledger.arm();
        match catch_unwind(AssertUnwindSafe(|| collect(&ledger))) {
            Ok(()) => assert_eq!(call, None),
            Err(payload) => assert!(call.is_some() && payload.is::<Planted>()),
        }
        assert_eq!(ledger.complaint(false), None);
    }
}
