//! One owner and up to four thieves, and a ledger in which every item is ticked off exactly once.
//!
//! `HEIST_STRESS=100` runs a hundred times as many items; seeds are printed. Compiled twice: with narrow indices here, and
//! with those that ship in `tests/stress.rs`.

use crate::{Options, Owner, Steal, Thief, deque_with};
use heist_sync::atomic::{AtomicBool, AtomicU8, Ordering};
use heist_sync::rand::Random;

fn factor() -> u64 {
    std::env::var("HEIST_STRESS").ok().and_then(|v| v.parse().ok()).unwrap_or(1)
}

struct Ledger(Vec<AtomicU8>);

impl Ledger {
    fn new(items: u64) -> Self {
        Self((0..items).map(|_| AtomicU8::new(0)).collect())
    }

    fn tick(&self, item: Box<u64>) {
        assert_eq!(self.0[*item as usize].fetch_add(1, Ordering::Relaxed), 0, "item {item} was taken twice");
    }

    fn settle(&self) {
        let lost = self.0.iter().position(|n| n.load(Ordering::Relaxed) != 1);
        assert_eq!(lost, None, "this item was lost");
    }
}

fn own(owner: &Owner<Box<u64>>, items: std::ops::Range<u64>, live_max: usize, ledger: &Ledger, seed: u64) {
    let mut random = Random::new(seed);
    for item in items {
        owner.push(Box::new(item));
        match random.below(64) {
            0..24 => owner.pop().into_iter().for_each(|i| ledger.tick(i)),
            24 => std::iter::from_fn(|| owner.pop()).for_each(|i| ledger.tick(i)),
            25 => owner.share_all(),
            26 => heist_sync::thread::yield_now(),
            27 => {
                let here = owner.position();
                assert!(owner.pop_above(here).is_none());
            }
            _ => {}
        }
        while owner.len() > live_max {
            owner.pop().into_iter().for_each(|i| ledger.tick(i));
        }
    }
    std::iter::from_fn(|| owner.pop()).for_each(|i| ledger.tick(i));
}

fn rob(thief: &Thief<Box<u64>>, mine: Owner<Box<u64>>, done: &AtomicBool, ledger: &Ledger, seed: u64) {
    let mut random = Random::new(seed);
    while !done.load(Ordering::Acquire) || !thief.is_empty() {
        let got = match random.below(16) {
            0 if random.below(8) == 0 => {
                let _ = thief.force();
                Steal::Retry
            }
            1 => {
                heist_sync::thread::yield_now();
                Steal::Retry
            }
            2..8 => thief.steal_half(&mine),
            _ => thief.steal(),
        };
        got.success().into_iter().chain(std::iter::from_fn(|| mine.pop())).for_each(|i| ledger.tick(i));
    }
}

fn stress(thieves: usize, options: Options, items: u64, live_max: usize) {
    let seed = thieves as u64 * 1_000 + options.capacity as u64;
    println!("{thieves} thieves, {items} items, seed {seed}, {options:?}");
    let ledger = Ledger::new(items);
    let (owner, thief) = deque_with(options);
    let done = AtomicBool::new(false);
    std::thread::scope(|s| {
        for i in 0..thieves {
            let (thief, ledger, done) = (thief.clone(), &ledger, &done);
            s.spawn(move || rob(&thief, deque_with(options).0, done, ledger, seed + 1 + i as u64));
        }
        let (ledger, done) = (&ledger, &done);
        s.spawn(move || {
            own(&owner, 0..items, live_max, ledger, seed);
            done.store(true, Ordering::Release);
        });
    });
    ledger.settle();
}

#[test]
fn every_item_is_taken_exactly_once() {
    for fenced in [false, true] {
        for thieves in 1..=4 {
            for capacity in [2, 64] {
                let options = Options {
                    capacity,
                    start: 0u64.wrapping_sub(50) as u32 as u64,
                    fenced,
                    ..Options::default()
                };
                stress(thieves, options, 40_000 * factor(), 200);
            }
        }
    }
}

/// A thief that pops from its own deque while others steal from it: chains of `steal_half`.
#[test]
fn every_item_survives_being_passed_along() {
    let items = 20_000 * factor();
    let ledger = Ledger::new(items);
    let options = Options { capacity: 2, start: 0u64.wrapping_sub(50) as u32 as u64, ..Options::default() };
    let ends: Vec<_> = (0..3).map(|_| deque_with(options)).collect();
    let thieves: Vec<_> = ends.iter().map(|(_, t)| t.clone()).collect();
    let left = heist_sync::atomic::AtomicU64::new(items);
    std::thread::scope(|s| {
        for (i, (mine, _)) in ends.into_iter().enumerate() {
            let (thieves, ledger, left) = (&thieves, &ledger, &left);
            s.spawn(move || {
                let (mut next, mut round) = (0, 0);
                let run = |item| {
                    ledger.tick(item);
                    left.fetch_sub(1, Ordering::Relaxed);
                };
                while left.load(Ordering::Relaxed) > 0 {
                    if i == 0 && next < items && mine.len() < 100 {
                        let batch = next..(next + 20).min(items);
                        next = batch.end;
                        batch.for_each(|item| mine.push(Box::new(item)));
                    }
                    mine.pop().into_iter().for_each(run);
                    let victim = &thieves[(i + 1 + round % 2) % 3];
                    round += 1;
                    if mine.len() < 50 {
                        victim.steal_half(&mine).success().into_iter().for_each(run);
                    }
                    heist_sync::thread::yield_now();
                }
            });
        }
    });
    ledger.settle();
}
