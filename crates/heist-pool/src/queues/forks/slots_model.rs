//! The memory of a fork stack under a checker, where there are few slots.

use super::Slot;
use std::ops::Deref;

#[derive(Debug)]
pub(in super::super) struct Slots(Box<[Slot]>);

impl Slots {
    pub fn new(n: usize) -> Self {
        Self((0..n).map(|_| Slot::default()).collect())
    }
}

impl Deref for Slots {
    type Target = [Slot];

    fn deref(&self) -> &[Slot] {
        &self.0
    }
}
