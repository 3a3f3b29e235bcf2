//! st3, LIFO for the owner; the thief takes one, or half into a deque of its own.

use st3::lifo::{Stealer, Worker};

use super::{DEPTH, Deque};

/// st3 is bounded. Twice the depth leaves room for what a thief is still copying.
const CAPACITY: usize = 2 * DEPTH as usize;

pub struct St3One;
pub struct St3Half;

type Thief = (Stealer<u64>, Worker<u64>);

fn ends() -> (Worker<u64>, Thief) {
    let owner = Worker::new(CAPACITY);
    let thief = owner.stealer();
    (owner, (thief, Worker::new(CAPACITY)))
}

#[inline(always)]
fn push(owner: &mut Worker<u64>, mut item: u64) {
    // Room comes back when the thief has finished its copy.
    while let Err(back) = owner.push(item) {
        item = back;
        std::hint::spin_loop();
    }
}

impl Deque for St3One {
    const NAME: &'static str = "st3";
    type Owner = Worker<u64>;
    type Thief = Thief;

    fn new() -> (Worker<u64>, Thief) {
        ends()
    }

    #[inline(always)]
    fn push(owner: &mut Worker<u64>, item: u64) {
        push(owner, item);
    }

    #[inline(always)]
    fn pop(owner: &mut Worker<u64>) -> Option<u64> {
        owner.pop()
    }

    #[inline(always)]
    fn steal((thief, own): &mut Thief) -> Option<u64> {
        thief.steal_and_pop(own, |_| 1).ok().map(|(item, _)| item)
    }
}

impl Deque for St3Half {
    const NAME: &'static str = "st3, half";
    type Owner = Worker<u64>;
    type Thief = Thief;

    fn new() -> (Worker<u64>, Thief) {
        ends()
    }

    #[inline(always)]
    fn push(owner: &mut Worker<u64>, item: u64) {
        push(owner, item);
    }

    #[inline(always)]
    fn pop(owner: &mut Worker<u64>) -> Option<u64> {
        owner.pop()
    }

    #[inline(always)]
    fn steal((thief, own): &mut Thief) -> Option<u64> {
        own.pop().or_else(|| thief.steal_and_pop(own, |len| len.div_ceil(2)).ok().map(|(item, _)| item))
    }
}
