//! Parallel iterators.
//!
//! A [`ParallelIterator`] is made from a collection by [`par_iter`](IntoParallelRefIterator::par_iter),
//! [`par_iter_mut`](IntoParallelRefMutIterator::par_iter_mut) or
//! [`into_par_iter`](IntoParallelIterator::into_par_iter), goes through adaptors such as
//! [`map`](ParallelIterator::map), and is driven by a method such as [`sum`](ParallelIterator::sum) or
//! [`collect`](ParallelIterator::collect). Only the last one does anything.
//!
//! ```
//! use heist::prelude::*;
//!
//! let words = ["a", "quiet", "night"];
//! let letters: usize = words.par_iter().map(|word| word.len()).sum();
//! assert_eq!(letters, 11);
//! ```
//!
//! How loops are divided, and how to write adaptors and sources, is told in [`plumbing`].

/// `Debug` for an adaptor with closures: they have nothing to show.
macro_rules! impl_debug {
    ($name:ident<$base:ident $(, $other:ident)*>) => {
        impl<$base: std::fmt::Debug $(, $other)*> std::fmt::Debug for $name<$base $(, $other)*> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name)).field("base", &self.base).finish_non_exhaustive()
            }
        }
    };
}

pub mod plumbing;

mod convert;
mod indexed;
mod parallel;

// What adaptors share.
mod one_to_one;
mod stage;
mod tickets;
mod total;
mod try_kind;

// Sources.
mod empty;
mod multizip;
mod once;
mod par_bridge;
mod repeat;
mod splitter;
mod walk_tree;

// Adaptors.
mod blocks;
mod chain;
mod chunks;
mod cloned;
mod copied;
mod enumerate;
mod filter;
mod filter_map;
mod flat_map;
mod flat_map_iter;
mod flatten;
mod flatten_iter;
mod fold;
mod fold_chunks;
mod fold_chunks_with;
mod inspect;
mod interleave;
mod interleave_shortest;
mod intersperse;
mod len;
mod map;
mod map_with;
mod panic_fuse;
mod positions;
mod rev;
mod skip;
mod skip_any;
mod skip_any_while;
mod step_by;
mod take;
mod take_any;
mod take_any_while;
mod try_fold;
mod update;
mod while_some;
mod zip;
mod zip_eq;

// Ends.
mod collect;
mod extend;
mod find;
mod find_first_last;
mod for_each;
mod from_par_iter;
mod product;
mod reduce;
mod reduce_with;
mod sum;
mod try_reduce;
mod try_reduce_with;
mod unzip;

#[allow(deprecated)]
pub use self::repeat::repeatn;
pub use self::{
    blocks::{ExponentialBlocks, UniformBlocks},
    chain::Chain,
    chunks::Chunks,
    cloned::Cloned,
    convert::{
        FromParallelIterator, IntoParallelIterator, IntoParallelRefIterator, IntoParallelRefMutIterator,
        ParallelDrainFull, ParallelDrainRange, ParallelExtend,
    },
    copied::Copied,
    empty::{Empty, empty},
    enumerate::Enumerate,
    filter::Filter,
    filter_map::FilterMap,
    flat_map::FlatMap,
    flat_map_iter::FlatMapIter,
    flatten::Flatten,
    flatten_iter::FlattenIter,
    fold::{Fold, FoldWith},
    fold_chunks::FoldChunks,
    fold_chunks_with::FoldChunksWith,
    indexed::IndexedParallelIterator,
    inspect::Inspect,
    interleave::Interleave,
    interleave_shortest::InterleaveShortest,
    intersperse::Intersperse,
    len::{MaxLen, MinLen},
    map::Map,
    map_with::{MapInit, MapWith},
    multizip::MultiZip,
    once::{Once, once},
    panic_fuse::PanicFuse,
    par_bridge::{IterBridge, ParallelBridge},
    parallel::ParallelIterator,
    positions::Positions,
    repeat::{Repeat, RepeatN, repeat, repeat_n},
    rev::Rev,
    skip::Skip,
    skip_any::SkipAny,
    skip_any_while::SkipAnyWhile,
    splitter::{Split, split},
    step_by::StepBy,
    take::Take,
    take_any::TakeAny,
    take_any_while::TakeAnyWhile,
    try_fold::{TryFold, TryFoldWith},
    update::Update,
    walk_tree::{WalkTree, WalkTreePostfix, WalkTreePrefix, walk_tree, walk_tree_postfix, walk_tree_prefix},
    while_some::WhileSome,
    zip::Zip,
    zip_eq::ZipEq,
};
pub use either::Either;
