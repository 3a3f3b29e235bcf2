//! Every trait that a parallel program needs, for `use heist::prelude::*`.
//!
//! ```
//! use heist::prelude::*;
//!
//! let mut words = vec!["pearl", "onyx", "ruby"];
//! words.par_sort_unstable();
//! assert_eq!(words.par_iter().map(|w| w.len()).sum::<usize>(), 13);
//! ```

pub use crate::iter::{
    FromParallelIterator, IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator,
    IntoParallelRefMutIterator, ParallelBridge, ParallelDrainFull, ParallelDrainRange, ParallelExtend,
    ParallelIterator,
};
pub use crate::slice::{ParallelSlice, ParallelSliceMut};
pub use crate::str::ParallelString;
