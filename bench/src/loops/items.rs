//! The items and what each costs.

use std::ops::Range;

use crate::churn::churn;

pub const ITEMS: u64 = 1_000_000;

/// Steps of a cheap item of the skewed loop; a dear one costs 891 times as much, which makes the last 1 % of the
/// items 90 % of the cost.
const SKEWED_STEPS: u64 = 5;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Items {
    /// Item x takes x % 100 + 1 steps.
    Uneven,
    /// The last 1 % of the items is 90 % of the cost.
    Skewed,
}

impl Items {
    pub fn title(self) -> &'static str {
        match self {
            Items::Uneven => "uneven loop, 1 M items",
            Items::Skewed => "skewed loop (last 1 % of 1 M items = 90 % of the cost)",
        }
    }

    #[inline]
    pub fn steps(self, item: u64) -> u64 {
        match self {
            Items::Uneven => item % 100 + 1,
            Items::Skewed if item < ITEMS / 100 * 99 => SKEWED_STEPS,
            Items::Skewed => SKEWED_STEPS * 891,
        }
    }

    #[inline]
    pub fn cost(self, item: u64) -> u64 {
        churn(item, self.steps(item))
    }

    /// The block one after the other.
    #[inline]
    pub fn sum(self, block: Range<u64>) -> u64 {
        block.fold(0, |sum, item| sum ^ self.cost(item))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_percent_is_nine_tenths_of_the_cost() {
        let steps = |items: Range<u64>| items.map(|item| Items::Skewed.steps(item)).sum::<u64>() as f64;
        let share = steps(ITEMS / 100 * 99..ITEMS) / steps(0..ITEMS);
        assert!((0.899..0.901).contains(&share), "{share}");
    }
}
