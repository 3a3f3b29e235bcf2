//! Parallel sorts built on the standard library's.
//!
//! On one thread the standard library's sorts are the fastest known general ones, so every piece of work here ends in
//! one of them. What is added is only what lets several threads share the work:
//!
//! * the **stable** sort ([`stable`]) sorts equal chunks, each by `slice::sort_by`, and then merges them level by
//!   level between the slice and one buffer of its length;
//! * the **unstable** sort ([`unstable`]) partitions in place around sampled pivots until the parts are small enough
//!   for one thread each, and leaves them to `slice::sort_unstable_by`.
//!
//! Both leave to one thread what others are not worth waking for ([`worth`]), and look for a slice that is already in
//! order or in reverse ([`run`]).
//!
//! # One element, one thread
//!
//! The elements are `Send`, not `Sync`, and comparing may change them: `RefCell<u8>` is `Ord`, and its comparison
//! counts borrows without atomics. So no element may be compared by two threads at once, not even a pivot. Every
//! function here that hands work to another thread hands over `&mut` parts that do not overlap, which is how the
//! compiler checks the rule for us.
//!
//! # Panics and inconsistent orders
//!
//! A comparison may panic, and may contradict itself; only the first makes the sort panic ([`leaf`]). Partitioning only ever swaps, so that the slice is a permutation
//! of its input at any comparison. Merging reads one array and writes another, and the array that is read stays whole
//! until a level is complete; the slice is restored from it if a comparison unwinds. No index is derived from the
//! outcome of a comparison without being bounded by a count.

mod cached;
mod group;
mod leaf;
mod merge;
mod partition;
mod run;
mod sample;
mod splitters;
mod stable;
mod unstable;
mod worth;

pub(super) use cached::by_cached_key;
pub(super) use stable::stable;
pub(super) use unstable::unstable;
