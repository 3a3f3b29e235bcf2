//! Data parallelism: iterators, sorts and collections that use every worker of the pool.
//!
//! Put `par_` before `iter` and the loop runs on all cores:
//!
//! ```
//! use heist::prelude::*;
//!
//! let squares: u64 = (1..=1000u64).into_par_iter().map(|n| n * n).sum();
//! assert_eq!(squares, 333_833_500);
//! ```
//!
//! Names and signatures are those of rayon 1.12, so programs and third-party adaptors move over unchanged. What is
//! different is how loops are divided: see [`iter::plumbing`].

#[macro_use]
mod inner;

mod compile_fail;
mod par_either;
mod pool;
mod private;

pub mod array;
pub mod collections;
pub mod iter;
pub mod option;
pub mod prelude;
pub mod range;
pub mod range_inclusive;
pub mod result;
pub mod slice;
pub mod str;
pub mod string;
pub mod vec;
