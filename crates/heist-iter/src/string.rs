//! Draining strings in parallel.

use crate::iter::plumbing::UnindexedConsumer;
use crate::iter::{ParallelDrainRange, ParallelIterator};
use crate::slice::resolve_range;
use crate::str::ParallelString;
use std::ops::{Range, RangeBounds};

impl<'a> ParallelDrainRange<usize> for &'a mut String {
    type Iter = Drain<'a>;
    type Item = char;

    fn par_drain<R: RangeBounds<usize>>(self, range: R) -> Self::Iter {
        let range = resolve_range(range, self.len());
        // Now rather than when the iterator is dropped, perhaps while something else unwinds.
        assert!(self.is_char_boundary(range.start), "byte {} is not a character boundary", range.start);
        assert!(self.is_char_boundary(range.end), "byte {} is not a character boundary", range.end);
        Drain { string: self, range }
    }
}

/// Yields the characters of a range of bytes, and removes them from the string when it is dropped.
///
/// ```
/// use heist::prelude::*;
///
/// let mut word = String::from("stronghold");
/// let strong: Vec<char> = word.par_drain(..6).collect();
/// assert_eq!((strong.len(), word.as_str()), (6, "hold"));
/// ```
#[derive(Debug)]
pub struct Drain<'a> {
    string: &'a mut String,
    range: Range<usize>,
}

impl ParallelIterator for Drain<'_> {
    type Item = char;

    fn drive_unindexed<C: UnindexedConsumer<char>>(self, consumer: C) -> C::Result {
        self.string[self.range.clone()].par_chars().drive_unindexed(consumer)
    }
}

impl Drop for Drain<'_> {
    fn drop(&mut self) {
        self.string.drain(self.range.clone());
    }
}
