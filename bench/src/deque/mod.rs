//! The deque alone: the owner's push and pop, a steal, and the two together.

mod crossbeam;
#[cfg(feature = "heist")]
mod heist;
mod st3;

use std::hint::{self, black_box};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use crossbeam::{CrossbeamBatch, CrossbeamOne};
#[cfg(feature = "heist")]
use heist::{HeistHalf, HeistOne};
use st3::{St3Half, St3One};

use crate::race::{Plan, Race};
use crate::report::{Judged, Table};
use crate::visit::{Visit, once, repeat};

/// A deque with an owner's end and a thief's.
pub trait Deque: 'static {
    const NAME: &'static str;
    type Owner: Send;
    type Thief: Send;

    fn new() -> (Self::Owner, Self::Thief);
    /// Only ever called with at most [`DEPTH`] items inside.
    fn push(owner: &mut Self::Owner, item: u64);
    fn pop(owner: &mut Self::Owner) -> Option<u64>;
    /// None if there was nothing or the race was lost.
    fn steal(thief: &mut Self::Thief) -> Option<u64>;
    /// What the owner must do before its items can be stolen, if they are not at once.
    fn share(_: &mut Self::Owner) {}
    /// What an owner that neither pushes nor pops must do now and then for the thieves, if anything.
    fn answer(_: &mut Self::Owner) {}
}

/// As deep as a deque gets in a divide and conquer with a few levels.
const DEPTH: u64 = 64;

pub fn line(plan: &mut Plan) -> Vec<Table> {
    vec![push_pop(plan), steal(plan), together(plan, Owner::PushesAndPops), together(plan, Owner::Pushes)]
}

fn push_pop(plan: &mut Plan) -> Table {
    let mut race = Race::new();
    enter_push_pop::<CrossbeamOne>(&mut race);
    enter_push_pop::<St3One>(&mut race);
    #[cfg(feature = "heist")]
    enter_push_pop::<HeistOne>(&mut race);
    let series = race.run(plan.rounds(25, 10), &mut plan.rng);
    let title = format!("push and pop, {DEPTH} deep");
    let mut table = Table::new("deque", title, ("ns a pair", 1.0), Judged::Best, &series);
    #[cfg(feature = "heist")]
    table.at_most(HeistOne::NAME, 0.5, CrossbeamOne::NAME);
    table
}

fn enter_push_pop<D: Deque>(race: &mut Race<'_, u64>) {
    let (mut owner, thief) = D::new();
    race.enter(D::NAME, move || {
        // The thief's end stays alive: a deque must not get cheaper because nobody could steal.
        black_box(&thief);
        repeat(20, 100, || {
            for item in 0..DEPTH {
                D::push(&mut owner, black_box(item));
            }
            (0..DEPTH).map(|_| D::pop(&mut owner).expect("nobody steals here")).sum()
        })
        .per(DEPTH)
    });
}

fn steal(plan: &mut Plan) -> Table {
    let mut race = Race::new();
    enter_steal::<CrossbeamOne>(&mut race);
    enter_steal::<St3One>(&mut race);
    #[cfg(feature = "heist")]
    enter_steal::<HeistOne>(&mut race);
    let series = race.run(plan.rounds(25, 10), &mut plan.rng);
    let title = format!("steal without contention, {DEPTH} in a row");
    let mut table = Table::new("deque", title, ("ns a steal", 1.0), Judged::Best, &series);
    #[cfg(feature = "heist")]
    table.at_most(HeistOne::NAME, 1.05, CrossbeamOne::NAME);
    table
}

fn enter_steal<D: Deque>(race: &mut Race<'_, u64>) {
    let (mut owner, mut thief) = D::new();
    race.enter(D::NAME, move || {
        let mut all = Visit { value: 0, samples_ns: Vec::new() };
        for _ in 0..200 {
            for item in 0..DEPTH {
                D::push(&mut owner, black_box(item));
            }
            D::share(&mut owner);
            let visit = once(|| {
                let steal = |_| D::steal(&mut thief).expect("all items are shared, and nobody else steals");
                (0..DEPTH).map(steal).sum::<u64>()
            });
            all.value = visit.value;
            all.samples_ns.extend(visit.samples_ns);
        }
        all.per(DEPTH)
    });
}

/// What the owner does while the thief steals.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// Pushes [`DEPTH`] items and pops what is left of them, again and again.
    PushesAndPops,
    /// Only pushes, at most [`DEPTH`] items ahead of the thief.
    Pushes,
}

fn together(plan: &mut Plan, what: Owner) -> Table {
    let items = plan.size(1_000_000, 200_000);
    let mut race = Race::new();
    enter_together::<CrossbeamOne>(&mut race, what, items);
    enter_together::<CrossbeamBatch>(&mut race, what, items);
    enter_together::<St3One>(&mut race, what, items);
    enter_together::<St3Half>(&mut race, what, items);
    #[cfg(feature = "heist")]
    {
        enter_together::<HeistOne>(&mut race, what, items);
        enter_together::<HeistHalf>(&mut race, what, items);
    }
    let names: Vec<String> = race.names().map(str::to_owned).collect();
    let series = race.run(plan.rounds(15, 7), &mut plan.rng);
    let title = match what {
        Owner::PushesAndPops => "1 owner and 1 thief: the owner pushes and pops",
        Owner::Pushes => "1 owner and 1 thief: the thief takes all",
    };
    let mut table = Table::new("deque", title, ("ns an item", 1.0), Judged::Median, &series);
    for name in &names {
        table.report_rate(name);
    }
    table
}

fn enter_together<D: Deque>(race: &mut Race<'_, u64>, what: Owner, items: u64) {
    race.enter(D::NAME, move || owner_and_thief::<D>(what, items).per(items));
}

/// The value is the sum of what both got: every item exactly once.
fn owner_and_thief<D: Deque>(what: Owner, items: u64) -> Visit<u64> {
    let (mut owner, mut thief) = D::new();
    let (ball, taken) = (AtomicU64::new(0), AtomicU64::new(0));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let thief = scope.spawn(|| {
            rally(&ball, 1);
            steal_all::<D>(&mut thief, &taken, &done)
        });
        rally(&ball, 0);
        let popped = once(|| {
            let sum = match what {
                Owner::PushesAndPops => push_and_pop::<D>(&mut owner, items),
                Owner::Pushes => push_ahead::<D>(&mut owner, &taken, items),
            };
            done.store(true, Ordering::Release);
            sum
        });
        popped.map(|popped| popped + thief.join().expect("the thief only steals"))
    })
}

/// Plays a ball to and fro without ever yielding: at the end both players have a core each. The kernel often
/// starts a thread on its parent's core, where the thief would sleep through the race.
fn rally(ball: &AtomicU64, side: u64) {
    const HITS: u64 = 200;
    for hit in (side..HITS).step_by(2) {
        while ball.load(Ordering::Acquire) != hit {
            hint::spin_loop();
        }
        ball.store(hit + 1, Ordering::Release);
    }
}

fn steal_all<D: Deque>(thief: &mut D::Thief, taken: &AtomicU64, done: &AtomicBool) -> u64 {
    let (mut sum, mut count) = (0, 0);
    loop {
        // Read first: what is found empty after the owner is done stays empty.
        let last_look = done.load(Ordering::Acquire);
        match D::steal(thief) {
            Some(item) => {
                sum += item;
                count += 1;
                taken.store(count, Ordering::Release);
            }
            None if last_look => return sum,
            None => hint::spin_loop(),
        }
    }
}

fn push_and_pop<D: Deque>(owner: &mut D::Owner, items: u64) -> u64 {
    let mut sum = 0;
    for start in (0..items).step_by(DEPTH as usize) {
        for item in start..items.min(start + DEPTH) {
            D::push(owner, item);
        }
        while let Some(item) = D::pop(owner) {
            sum += item;
        }
    }
    sum
}

fn push_ahead<D: Deque>(owner: &mut D::Owner, taken: &AtomicU64, items: u64) -> u64 {
    let wait_for = |owner: &mut D::Owner, count: u64| {
        while taken.load(Ordering::Acquire) < count {
            D::answer(owner);
            hint::spin_loop();
        }
    };
    for start in (0..items).step_by(DEPTH as usize / 2) {
        // The thief always has half of the depth to work on while the owner pushes the other half.
        wait_for(owner, start.saturating_sub(DEPTH / 2));
        for item in start..items.min(start + DEPTH / 2) {
            D::push(owner, item);
        }
    }
    wait_for(owner, items);
    0
}
