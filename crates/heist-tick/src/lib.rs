//! Ticks: work that recurs with a deadline, on the same workers that run jobs and tasks.

// The recorder is for the ticks themselves.
#![cfg_attr(not(test), expect(dead_code))]

mod stats;

pub use stats::{Distribution, Histogram, Stats, Totals, Window, WindowStats};
