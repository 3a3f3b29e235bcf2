//! The shapes: how many rows, how long, how dear the items.

use std::ops::Range;

use crate::churn::churn;
use crate::loops::halving;
use crate::peers::Backend;

/// Items of an inner loop that are not split further.
const INNER_LEAF: u64 = 16;

/// What is done around the leaves of the inner loops.
pub trait Around: Sync {
    fn leaf(&self, work: impl FnOnce() -> u64) -> u64;
}

/// Where time is measured.
struct Nothing;

impl Around for Nothing {
    #[inline(always)]
    fn leaf(&self, work: impl FnOnce() -> u64) -> u64 {
        work()
    }
}

pub struct Shape {
    pub title: &'static str,
    pub rows: u64,
    /// The length of a row.
    len: fn(u64) -> u64,
    /// The steps of an item.
    steps: fn(u64, u64) -> u64,
}

pub const SHAPES: [Shape; 3] = [
    Shape {
        title: "64 rows x 1,000 uneven items",
        rows: 64,
        len: |_| 1_000,
        steps: |_, item| item % 100 + 1,
    },
    Shape {
        title: "1,000 rows x 64 uneven items",
        rows: 1_000,
        len: |_| 64,
        steps: |row, item| (row + item) % 100 + 1,
    },
    Shape {
        title: "256 rows, row r has r^2 / 16 items",
        rows: 256,
        len: |row| row * row / 16,
        steps: |_, _| 20,
    },
];

/// Leaves of some hundred microseconds, each worth a wait that gives its place away.
pub const COARSE: Shape = Shape {
    title: "64 rows x 128 dear and uneven items",
    rows: 64,
    len: |_| 128,
    steps: |row, item| (row + item) % 100 * 250,
};

impl Shape {
    pub fn serial(&self) -> u64 {
        self.rows_with(0..self.rows, |row| self.items(row, 0..(self.len)(row)))
    }

    pub fn parallel<B: Backend>(&self) -> u64 {
        self.parallel_around::<B>(&Nothing)
    }

    /// With something around each leaf.
    #[inline(always)]
    pub fn parallel_around<B: Backend>(&self, around: &impl Around) -> u64 {
        halving::sum::<B>(0..self.rows, 1, &|rows| self.rows_with(rows, |row| self.row::<B>(row, around)))
    }

    #[inline(always)]
    fn row<B: Backend>(&self, row: u64, around: &impl Around) -> u64 {
        halving::sum::<B>(0..(self.len)(row), INNER_LEAF, &|items| around.leaf(|| self.items(row, items)))
    }

    fn rows_with(&self, rows: Range<u64>, row: impl Fn(u64) -> u64) -> u64 {
        rows.fold(0, |sum, index| sum ^ row(index))
    }

    fn items(&self, row: u64, items: Range<u64>) -> u64 {
        items.fold(0, |sum, item| sum ^ churn(row << 32 | item, (self.steps)(row, item)))
    }
}
