//! heist-deque; the thief takes one, or half into a deque of its own.

use heist_deque::{Owner, Steal, Thief, deque};

use super::Deque;

pub struct HeistOne;

impl Deque for HeistOne {
    const NAME: &'static str = "heist";
    type Owner = Owner<u64>;
    type Thief = Thief<u64>;

    fn new() -> (Owner<u64>, Thief<u64>) {
        deque()
    }

    #[inline(always)]
    fn push(owner: &mut Owner<u64>, item: u64) {
        owner.push(item);
    }

    #[inline(always)]
    fn pop(owner: &mut Owner<u64>) -> Option<u64> {
        owner.pop()
    }

    #[inline(always)]
    fn steal(thief: &mut Thief<u64>) -> Option<u64> {
        match thief.steal() {
            Steal::Success(item) => Some(item),
            Steal::Empty | Steal::Retry => None,
        }
    }

    #[inline(always)]
    fn share(owner: &mut Owner<u64>) {
        owner.share_all();
    }

    #[inline(always)]
    fn answer(owner: &mut Owner<u64>) {
        if owner.is_asked() {
            owner.share_all();
        }
    }
}

pub struct HeistHalf;

impl Deque for HeistHalf {
    const NAME: &'static str = "heist, half";
    type Owner = Owner<u64>;
    /// The deque that the thief fills, and the end that keeps it one that could be robbed.
    type Thief = (Thief<u64>, Owner<u64>, Thief<u64>);

    fn new() -> (Owner<u64>, Self::Thief) {
        let (owner, thief) = deque();
        let (own, robbers) = deque();
        (owner, (thief, own, robbers))
    }

    #[inline(always)]
    fn push(owner: &mut Owner<u64>, item: u64) {
        owner.push(item);
    }

    #[inline(always)]
    fn pop(owner: &mut Owner<u64>) -> Option<u64> {
        owner.pop()
    }

    #[inline(always)]
    fn steal((thief, own, _): &mut Self::Thief) -> Option<u64> {
        own.pop().or_else(|| thief.steal_half(own).success())
    }

    #[inline(always)]
    fn share(owner: &mut Owner<u64>) {
        owner.share_all();
    }

    #[inline(always)]
    fn answer(owner: &mut Owner<u64>) {
        if owner.is_asked() {
            owner.share_all();
        }
    }
}
