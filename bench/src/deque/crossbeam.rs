//! crossbeam-deque, LIFO for the owner; the thief takes one, or a batch into a deque of its own.

use crossbeam_deque::{Steal, Stealer, Worker};

use super::Deque;

pub struct CrossbeamOne;

impl Deque for CrossbeamOne {
    const NAME: &'static str = "crossbeam";
    type Owner = Worker<u64>;
    type Thief = Stealer<u64>;

    fn new() -> (Worker<u64>, Stealer<u64>) {
        let owner = Worker::new_lifo();
        let thief = owner.stealer();
        (owner, thief)
    }

    #[inline(always)]
    fn push(owner: &mut Worker<u64>, item: u64) {
        owner.push(item);
    }

    #[inline(always)]
    fn pop(owner: &mut Worker<u64>) -> Option<u64> {
        owner.pop()
    }

    #[inline(always)]
    fn steal(thief: &mut Stealer<u64>) -> Option<u64> {
        match thief.steal() {
            Steal::Success(item) => Some(item),
            Steal::Empty | Steal::Retry => None,
        }
    }
}

pub struct CrossbeamBatch;

impl Deque for CrossbeamBatch {
    const NAME: &'static str = "crossbeam, batch";
    type Owner = Worker<u64>;
    type Thief = (Stealer<u64>, Worker<u64>);

    fn new() -> (Worker<u64>, (Stealer<u64>, Worker<u64>)) {
        let (owner, thief) = CrossbeamOne::new();
        (owner, (thief, Worker::new_lifo()))
    }

    #[inline(always)]
    fn push(owner: &mut Worker<u64>, item: u64) {
        owner.push(item);
    }

    #[inline(always)]
    fn pop(owner: &mut Worker<u64>) -> Option<u64> {
        owner.pop()
    }

    #[inline(always)]
    fn steal((thief, own): &mut (Stealer<u64>, Worker<u64>)) -> Option<u64> {
        own.pop().or_else(|| thief.steal_batch_and_pop(own).success())
    }
}
