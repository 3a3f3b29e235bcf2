//! Parallel iterators, slices and sorts against what the standard library does in sequence.

mod iter_division;
mod iter_extremes;
mod iter_panics;
mod iter_par_bridge;
mod iter_ranges;
mod iter_results;
mod slice_iterators;
mod slice_ownership;
mod sort_order;
mod sort_safety;
