//! The workloads, written against rayon's interface; `lib` is whoever provides it.

use super::lib;

pub mod any;
pub mod bridge;
pub mod chunks;
pub mod filter_collect;
pub mod find_first;
pub mod flat_map;
pub mod fold_reduce;
pub mod group;
pub mod life;
pub mod map_collect;
pub mod matmul;
pub mod mergesort;
pub mod min_by_key;
pub mod nbody;
pub mod nested;
pub mod nqueens;
pub mod quicksort;
pub mod sieve;
pub mod sorts;
pub mod strings;
pub mod sum;
pub mod tsp;
pub mod uneven;
pub mod zip_for_each;
