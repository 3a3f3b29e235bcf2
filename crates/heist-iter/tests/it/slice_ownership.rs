//! Elements that are moved out in parallel are dropped exactly once, whoever panics, and whatever is left behind.

use heist_iter::prelude::*;
use heist_sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::collections::{BinaryHeap, VecDeque};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

/// Counts its drops, by its identity, and panics in the drop that it is told to panic in.
#[derive(Debug, Clone)]
struct Counted {
    id: usize,
    drops: Arc<Vec<AtomicUsize>>,
    panics_in_drop: bool,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.drops[self.id].fetch_add(1, Relaxed);
        if self.panics_in_drop && !std::thread::panicking() {
            panic::resume_unwind(Box::new("planned"));
        }
    }
}

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}
impl Eq for Counted {}
impl PartialOrd for Counted {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Counted {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.id.cmp(&other.id)
    }
}

fn counted(len: usize) -> (Vec<Counted>, Arc<Vec<AtomicUsize>>) {
    let drops: Arc<Vec<AtomicUsize>> = Arc::new((0..len).map(|_| AtomicUsize::new(0)).collect());
    let v = (0..len).map(|id| Counted { id, drops: drops.clone(), panics_in_drop: false }).collect();
    (v, drops)
}

#[track_caller]
fn assert_each_dropped_once(drops: &[AtomicUsize]) {
    for (id, count) in drops.iter().enumerate() {
        assert_eq!(count.load(Relaxed), 1, "drops of {id}");
    }
}

const LEN: usize = 1000;

#[test]
fn into_par_iter_drops_each_element_once() {
    for panic_at in [None, Some(0), Some(1), Some(LEN / 2), Some(LEN - 1)] {
        let (v, drops) = counted(LEN);
        let result = panic::catch_unwind(AssertUnwindSafe(|| {
            v.into_par_iter().for_each(|x| {
                if Some(x.id) == panic_at {
                    panic::resume_unwind(Box::new("planned"));
                }
            })
        }));
        assert_eq!(result.is_err(), panic_at.is_some());
        assert_each_dropped_once(&drops);
    }
}

#[test]
fn what_is_not_consumed_is_dropped() {
    let (v, drops) = counted(LEN);
    drop(v.into_par_iter());
    assert_each_dropped_once(&drops);

    let (v, drops) = counted(LEN);
    assert!(v.into_par_iter().find_any(|x| x.id == 3).is_some());
    assert_each_dropped_once(&drops);

    let (v, drops) = counted(LEN);
    let few: Vec<Counted> = v.into_par_iter().skip(10).take(10).collect();
    assert!(few.iter().map(|x| x.id).eq(10..20));
    drop(few);
    assert_each_dropped_once(&drops);

    let (v, drops) = counted(LEN);
    assert_eq!(v.into_boxed_slice().into_par_iter().rev().step_by(3).count(), LEN.div_ceil(3));
    assert_each_dropped_once(&drops);
}

#[test]
fn a_drain_keeps_what_lies_around_it() {
    for range in [0..LEN, 0..0, LEN..LEN, 10..10, 10..20, 0..500, 500..LEN] {
        for panic_at in [None, Some(range.start), Some(range.end.wrapping_sub(1))] {
            for driven in [true, false] {
                let (mut v, drops) = counted(LEN);
                let drain = v.par_drain(range.clone());
                let expected = driven && panic_at.is_some_and(|at| range.contains(&at));
                let result = panic::catch_unwind(AssertUnwindSafe(|| {
                    if driven {
                        drain.for_each(|x| {
                            if Some(x.id) == panic_at {
                                panic::resume_unwind(Box::new("planned"));
                            }
                        });
                    } else {
                        drop(drain);
                    }
                }));
                assert_eq!(result.is_err(), expected);
                let kept = (0..range.start).chain(range.end..LEN);
                assert!(
                    v.iter().map(|x| x.id).eq(kept),
                    "{range:?}, panic at {panic_at:?}, driven: {driven}"
                );
                drop(v);
                assert_each_dropped_once(&drops);
            }
        }
    }
}

#[test]
fn a_drain_closes_the_gap_when_a_drop_panics() {
    let (mut v, drops) = counted(LEN);
    v[15].panics_in_drop = true;
    let result = panic::catch_unwind(AssertUnwindSafe(|| drop(v.par_drain(10..20))));
    assert!(result.is_err());
    assert!(v.iter().map(|x| x.id).eq((0..10).chain(20..LEN)));
    drop(v);
    assert_each_dropped_once(&drops);
}

#[test]
fn a_leaked_drain_leaks_and_no_more() {
    let (mut v, drops) = counted(10);
    std::mem::forget(v.par_drain(3..5));
    assert!(v.iter().map(|x| x.id).eq(0..3));
    drop(v);
    assert!(drops.iter().all(|count| count.load(Relaxed) <= 1));
}

#[test]
fn other_drains_keep_their_collections() {
    for panic_at in [None, Some(15)] {
        let body = |x: Counted| {
            if Some(x.id) == panic_at {
                panic::resume_unwind(Box::new("planned"));
            }
        };
        let (v, drops) = counted(LEN);
        let mut queue = VecDeque::from(v);
        queue.rotate_left(5);
        let result = panic::catch_unwind(AssertUnwindSafe(|| queue.par_drain(5..100).for_each(body)));
        assert_eq!(result.is_err(), panic_at.is_some());
        assert!(queue.iter().map(|x| x.id).eq((5..10).chain(105..LEN).chain(0..5)));
        drop(queue);
        assert_each_dropped_once(&drops);

        let (v, drops) = counted(LEN);
        let mut heap = BinaryHeap::from(v);
        let result = panic::catch_unwind(AssertUnwindSafe(|| heap.par_drain().for_each(body)));
        assert_eq!(result.is_err(), panic_at.is_some());
        assert!(heap.is_empty());
        assert_each_dropped_once(&drops);

        let mut text = String::from("heute ist Dienstag");
        let result = panic::catch_unwind(AssertUnwindSafe(|| {
            text.par_drain(5..9).for_each(|c| {
                if panic_at.is_some() && c == 't' {
                    panic::resume_unwind(Box::new("planned"));
                }
            })
        }));
        assert_eq!(result.is_err(), panic_at.is_some());
        assert_eq!(text, "heute Dienstag");
    }
}

#[test]
fn impossible_ranges_are_refused() {
    let refused = |f: &dyn Fn()| panic::catch_unwind(AssertUnwindSafe(f)).is_err();
    #[allow(clippy::reversed_empty_ranges, reason = "that is what is tested")]
    let reversed = 3..2;
    assert!(refused(&|| drop(vec![0; 4].par_drain(reversed.clone()))));
    assert!(refused(&|| drop(vec![0; 4].par_drain(2..5))));
    assert!(refused(&|| drop(vec![0; 4].par_drain(..=usize::MAX))));
    assert!(refused(&|| drop(VecDeque::from([0; 4]).par_drain(5..))));
    assert!(refused(&|| drop(String::from("ä").par_drain(1..))));
    assert_eq!(vec![0; 4].par_drain(4..).len(), 0);
}

#[test]
fn elements_without_a_size_are_counted() {
    struct Nothing;
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    impl Drop for Nothing {
        fn drop(&mut self) {
            DROPS.fetch_add(1, Relaxed);
        }
    }
    let mut v: Vec<Nothing> = (0..100).map(|_| Nothing).collect();
    assert_eq!(v.par_drain(10..30).count(), 20);
    assert_eq!((v.len(), DROPS.load(Relaxed)), (80, 20));
    assert!(v.into_par_iter().find_any(|_| true).is_some());
    assert_eq!(DROPS.load(Relaxed), 100);
}
