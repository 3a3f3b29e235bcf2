//! Models of the deque for loom. Each says which bug it hunts; `check/planted.sh` plants those bugs and expects these to fail.
//!
//! Indices are 12 bits wide here, and every model starts two below their wrap-around.
//!
//! Every model runs four times: with the owner first and with a thief first, and with both ways of looking at the word (see
//! `Options::dependent_looks`). loom starts from one order and reverses pairs of accesses, but overlooks some pairs; the four
//! starting points make up for each other.
#![cfg(heist_loom)]

use heist_deque::{Options, Owner, Steal, Thief, deque_with};
use heist_sync::thread;
use loom::model::Builder;

/// One of the four ways to run a model.
#[derive(Clone, Copy)]
struct Way {
    owner_first: bool,
    dependent_looks: bool,
}

type Taken = Vec<u32>;
type Theft = Box<dyn FnOnce() -> Taken + Send>;

impl Way {
    fn deque(self, capacity: usize, fenced: bool) -> (Owner<u32>, Thief<u32>) {
        let start = (1 << 12) - 2;
        deque_with(Options { capacity, start, fenced, dependent_looks: self.dependent_looks })
    }

    /// Runs the owner and the thieves against each other; returns the owner and what each took.
    fn race<const N: usize>(
        self,
        owner: Owner<u32>,
        work: impl FnOnce(&Owner<u32>) -> Taken + Send + 'static,
        thefts: [Theft; N],
    ) -> (Owner<u32>, Vec<Taken>) {
        let mut taken = Vec::new();
        let mut thefts = thefts.into_iter();
        let owner = if self.owner_first {
            let thieves: Vec<_> = thefts.map(thread::spawn).collect();
            taken.push(work(&owner));
            taken.extend(thieves.into_iter().map(|t| t.join().unwrap()));
            owner
        } else {
            let first = thefts.next().unwrap();
            let thieves: Vec<_> = thefts.map(thread::spawn).collect();
            let owner = thread::spawn(move || {
                let mine = work(&owner);
                (owner, mine)
            });
            taken.push(first());
            taken.extend(thieves.into_iter().map(|t| t.join().unwrap()));
            let (owner, mine) = owner.join().unwrap();
            taken.push(mine);
            owner
        };
        (owner, taken)
    }
}

/// Bounds the preemptions, so that the whole file takes about half a minute; `LOOM_MAX_PREEMPTIONS` may ask for more.
fn check(preemptions: usize, model: impl Fn(Way) + Send + Sync + Copy + 'static) {
    for owner_first in [true, false] {
        for dependent_looks in [true, false] {
            let mut builder = Builder::new();
            builder.preemption_bound = builder.preemption_bound.max(Some(preemptions));
            builder.check(move || model(Way { owner_first, dependent_looks }));
        }
    }
}

/// Every item that went in came out once: what the threads took and what is left in the deque.
#[track_caller]
fn settle((owner, taken): (Owner<u32>, Vec<Taken>), pushed: u32) {
    let mut all: Taken = taken.into_iter().flatten().collect();
    all.extend(std::iter::from_fn(|| owner.pop()));
    all.sort_unstable();
    assert_eq!(all, (0..pushed).collect::<Vec<_>>(), "each item exactly once");
    assert!(owner.is_empty());
}

fn push(owner: &Owner<u32>, items: std::ops::Range<u32>) {
    items.for_each(|i| owner.push(i));
}

fn pop(owner: &Owner<u32>, times: usize) -> Taken {
    (0..times).filter_map(|_| owner.pop()).collect()
}

/// A thief that tries `times` times.
fn steal(thief: &Thief<u32>, times: usize) -> Theft {
    let thief = thief.clone();
    Box::new(move || (0..times).filter_map(|_| thief.steal().success()).collect())
}

/// A thief that forces and then tries `times` times.
fn force(thief: &Thief<u32>, times: usize) -> Theft {
    let then = steal(thief, times);
    let thief = thief.clone();
    Box::new(move || {
        let _ = thief.force();
        then()
    })
}

/// Bug hunted: the last shared item taken by the owner and a thief (`last_without_cas`).
#[test]
fn owner_and_thief_on_the_last_shared_item() {
    check(3, |way| {
        let (owner, thief) = way.deque(2, false);
        push(&owner, 0..1);
        owner.share_all();
        settle(way.race(owner, |o| pop(o, 1), [steal(&thief, 1)]), 1);
    });
}

/// Bugs hunted: contents that arrive after the word (`relaxed_publish`); a slot that is read while the owner takes it back
/// and overwrites it (`read_before_claim`).
#[test]
fn push_share_pop_push_against_a_thief() {
    check(3, |way| {
        let (owner, thief) = way.deque(2, false);
        let work = |o: &Owner<u32>| {
            o.push(0);
            o.share_all();
            let mut mine = pop(o, 1);
            o.push(1);
            o.share_all();
            mine.extend(o.pop());
            mine
        };
        settle(way.race(owner, work, [steal(&thief, 1)]), 2);
    });
}

/// Bug hunted: two thieves with one item, and an owner that takes back half meanwhile.
#[test]
fn two_thieves_and_an_owner_that_takes_back() {
    check(3, |way| {
        let (owner, thief) = way.deque(4, false);
        push(&owner, 0..3);
        owner.share_all();
        settle(way.race(owner, |o| pop(o, 2), [steal(&thief, 1), steal(&thief, 1)]), 3);
    });
}

/// Bug hunted: an answer to a request that publishes an item which the same pop takes, or that loses one.
#[test]
fn a_request_is_answered_by_pops() {
    check(3, |way| {
        let (owner, thief) = way.deque(4, false);
        push(&owner, 0..3);
        settle(way.race(owner, |o| pop(o, 2), [steal(&thief, 2)]), 3);
    });
}

/// LIVENESS(L1): a request that is made while another is being answered is not wiped out: after one more push by the owner a
/// thief that asked finds something shared (`restore_after_word`).
#[test]
fn a_request_survives_the_answer_to_another() {
    check(3, |way| {
        let (owner, thief) = way.deque(4, false);
        push(&owner, 0..1);
        let (asker, tries) = (thief.clone(), steal(&thief, 2));
        let ask_again: Theft = Box::new(move || {
            let got = tries();
            asker.ask();
            got
        });
        let (owner, mut taken) = way.race(
            owner,
            |o| {
                o.push(1);
                Vec::new()
            },
            [ask_again],
        );
        owner.push(2);
        let last: Taken = thief.steal().success().into_iter().collect();
        assert!(!last.is_empty(), "asked before the last push, and there is something to share");
        taken.push(last);
        settle((owner, taken), 3);
    });
}

fn force_against_pops(preemptions: usize, fenced: bool) {
    check(preemptions, move |way| {
        let (owner, thief) = way.deque(2, fenced);
        push(&owner, 0..2);
        settle(way.race(owner, |o| pop(o, 2), [force(&thief, 2)]), 2);
    });
}

/// Bugs hunted: a pop and a force that miss each other (`no_barrier`); a force that succeeds with a head from before the owner
/// restored its limit (`restore_keeps_word`).
#[test]
fn force_against_pops_with_the_asymmetric_barrier() {
    force_against_pops(3, false);
}

/// Bug hunted: the same without the barrier (`no_fence`).
#[test]
fn force_against_pops_fenced() {
    force_against_pops(2, true);
}

/// Bug hunted: a force that begins after the owner changed the word and whose poison the owner then wipes out
/// (`restore_after_word`).
#[test]
fn force_against_an_answer_to_an_earlier_request() {
    check(2, |way| {
        let (owner, thief) = way.deque(4, false);
        push(&owner, 0..3);
        thief.ask();
        let (once, again) = (steal(&thief, 1), force(&thief, 2));
        let theft: Theft = Box::new(|| [once(), again()].concat());
        settle(way.race(owner, |o| pop(o, 3), [theft]), 3);
    });
}

/// Bug hunted: a force that begins after the owner took items back and reads the head from before (`relaxed_take_back`).
/// Fenced, because otherwise loom's full fence in every pop covers it.
#[test]
fn force_after_the_owner_took_items_back() {
    check(2, |way| {
        let (owner, thief) = way.deque(4, true);
        push(&owner, 0..3);
        owner.share_all();
        let (once, again) = (steal(&thief, 1), force(&thief, 2));
        let theft: Theft = Box::new(|| [once(), again()].concat());
        settle(way.race(owner, |o| pop(o, 1), [theft]), 3);
    });
}

/// Bug hunted: a forcing thief that shares items whose contents it has not seen (`relaxed_head`).
#[test]
fn force_against_pushes() {
    check(3, |way| {
        let (owner, thief) = way.deque(4, false);
        let work = |o: &Owner<u32>| {
            push(o, 0..2);
            pop(o, 1)
        };
        settle(way.race(owner, work, [force(&thief, 2)]), 2);
    });
}

/// Bug hunted: items that one thief has forced open and another takes without their contents (`relaxed_expose`).
#[test]
fn a_force_on_behalf_of_another_thief() {
    check(2, |way| {
        let (owner, thief) = way.deque(2, false);
        // Two, because the forcing thief's first look at the head and its barrier cover what was pushed before them.
        let work = |o: &Owner<u32>| {
            push(o, 0..2);
            Vec::new()
        };
        settle(way.race(owner, work, [force(&thief, 0), steal(&thief, 2)]), 2);
    });
}

/// Bug hunted: two forces, of which one ends the other's, and an owner in between.
#[test]
fn two_forces_against_pops() {
    check(1, |way| {
        let (owner, thief) = way.deque(4, false);
        push(&owner, 0..2);
        settle(way.race(owner, |o| pop(o, 2), [force(&thief, 1), force(&thief, 1)]), 2);
    });
}

/// Bugs hunted: a claimed slot that is overwritten before it is read (`reuse_unread`, `relaxed_done`).
#[test]
fn a_slot_is_reused_only_after_it_was_read() {
    check(3, |way| {
        let (owner, thief) = way.deque(2, false);
        push(&owner, 0..2);
        owner.share_all();
        let work = |o: &Owner<u32>| {
            o.push(2);
            pop(o, 1)
        };
        settle(way.race(owner, work, [steal(&thief, 1)]), 3);
    });
}

/// Bugs hunted: a thief that takes its item from the ring it knew before the claim (`stale_buffer`, RUSTSEC-2021-0093), or
/// from the newest although it claimed in the one before (`newest_buffer`).
#[test]
fn growth_against_a_thief() {
    check(2, |way| {
        let (owner, thief) = way.deque(2, false);
        push(&owner, 0..2);
        owner.share_all();
        let work = |o: &Owner<u32>| {
            push(o, 2..4);
            let mut mine = pop(o, 3);
            // Where the owner got back the item at the second index, that index gets other contents in the new ring than it
            // has in the old one.
            if mine.contains(&1) {
                o.push(4);
                o.share_all();
            } else {
                mine.push(4);
            }
            mine
        };
        settle(way.race(owner, work, [steal(&thief, 2)]), 5);
    });
}

/// Bug hunted: a force that shares items while growth copies them (`grow_unheld`): a thief would finish in the old ring, and
/// the owner would wait for it in the new one and grow for nothing.
#[test]
fn growth_against_a_force() {
    check(3, |way| {
        let (owner, thief) = way.deque(2, false);
        push(&owner, 0..2);
        let work = |o: &Owner<u32>| {
            o.push(2);
            Vec::new()
        };
        let (owner, taken) = way.race(owner, work, [force(&thief, 1)]);
        let before = owner.capacity();
        let stolen = taken.iter().flatten().count() as u32;
        // Once round the ring, which every thief has left.
        push(&owner, 3..3 + before as u32 - (3 - stolen));
        assert_eq!(owner.capacity(), before, "a slot was left unfinished");
        settle((owner, taken), before as u32 + stolen);
    });
}

/// Bug hunted: a deque that is stolen into while it is stolen from (tokio #2387): A takes half of B's while C takes from A.
#[test]
fn half_of_b_into_a_while_c_steals_from_a() {
    check(3, |way| {
        let (b, from_b) = way.deque(4, false);
        let (a, from_a) = way.deque(2, false);
        push(&b, 0..3);
        b.share_all();
        from_a.ask();
        let b = thread::spawn(move || {
            let popped = pop(&b, 1);
            (b, popped)
        });
        let half = move |a: &Owner<u32>| {
            let oldest = match from_b.steal_half(a) {
                Steal::Success(item) => vec![item],
                Steal::Empty | Steal::Retry => vec![],
            };
            [oldest, pop(a, 1)].concat()
        };
        let (a, mut taken) = way.race(a, half, [steal(&from_a, 1)]);
        let (b, popped) = b.join().unwrap();
        taken.extend([popped, std::iter::from_fn(|| b.pop()).collect()]);
        settle((a, taken), 3);
    });
}

/// Bug hunted: an owner that leaves while a thief forces: what it leaves is stolen, once.
#[test]
fn the_owner_leaves_while_a_thief_forces() {
    check(3, |way| {
        let (owner, thief) = way.deque(2, false);
        push(&owner, 0..2);
        let theft = force(&thief, 1);
        let mut got = if way.owner_first {
            let t = thread::spawn(theft);
            drop(owner);
            t.join().unwrap()
        } else {
            let o = thread::spawn(move || drop(owner));
            let got = theft();
            o.join().unwrap();
            got
        };
        got.extend(std::iter::from_fn(|| thief.steal().success()));
        assert_eq!(got, [0, 1]);
        assert!(thief.is_empty());
    });
}
