//! Pieces of a sequence between its separators, found by several threads.
//!
//! Splitting slices and strings by separators, and grouping the neighbours of a slice, differ in what is cut and in
//! what counts as a separator, and in nothing else. Here is the rest: cutting near the middle, at a separator, without
//! searching the same stretch again and again when there are none.

use crate::iter::plumbing::{Folder, UnindexedProducer};
use std::mem;
use std::ops::Range;

/// What can be cut: a slice or a string.
pub(crate) trait Sequence: Default + Send {
    fn len(&self) -> usize;

    /// A place near the middle of the first `end` where a cut is allowed.
    fn middle(&self, end: usize) -> usize;

    fn cut(self, at: usize) -> (Self, Self);
}

impl<T: Sync> Sequence for &[T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn middle(&self, end: usize) -> usize {
        end / 2
    }

    fn cut(self, at: usize) -> (Self, Self) {
        self.split_at(at)
    }
}

impl<T: Send> Sequence for &mut [T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn middle(&self, end: usize) -> usize {
        end / 2
    }

    fn cut(self, at: usize) -> (Self, Self) {
        self.split_at_mut(at)
    }
}

/// What lies between two pieces. It may be empty, but not at the very beginning.
pub(crate) trait Separator<S>: Sync {
    /// The first separator that begins in `within`.
    fn first(&self, sequence: &S, within: Range<usize>) -> Option<Range<usize>>;

    /// The last separator that begins in `within`.
    fn last(&self, sequence: &S, within: Range<usize>) -> Option<Range<usize>>;

    /// Feeds all pieces of `sequence` to `folder`, until it is full. Where somebody knows a faster way than one search after
    /// the other, this is the place.
    fn fold_pieces<F: Folder<S>>(&self, sequence: S, keep: Keep, clear_from: usize, folder: F) -> F
    where
        S: Sequence,
        Self: Sized,
    {
        Pieces::resumed(sequence, self, keep, clear_from).fold_one_by_one(folder)
    }
}

/// What becomes of the separators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// They are left out, and there is one more piece than separators.
    Between,
    /// They are left out, and the last piece is too if it is empty.
    Terminated,
    /// They end the piece before them, and the last piece is left out if it is empty.
    Inclusive,
}

/// The pieces that are left of a sequence.
pub(crate) struct Pieces<'sep, S, P> {
    rest: S,
    separator: &'sep P,
    keep: Keep,
    /// No separator begins from here on.
    clear_from: usize,
}

impl<'sep, S: Sequence, P: Separator<S>> Pieces<'sep, S, P> {
    pub(crate) fn new(sequence: S, separator: &'sep P, keep: Keep) -> Self {
        Pieces { clear_from: sequence.len(), rest: sequence, separator, keep }
    }

    /// The pieces of a sequence in which no separator begins from `clear_from` on.
    pub(crate) fn resumed(rest: S, separator: &'sep P, keep: Keep, clear_from: usize) -> Self {
        Pieces { rest, separator, keep, clear_from }
    }

    /// Finds one separator after the other.
    pub(crate) fn fold_one_by_one<F: Folder<S>>(mut self, mut folder: F) -> F {
        while let Some(separator) = self.separator.first(&self.rest, 0..self.clear_from) {
            let end = if self.keep == Keep::Inclusive { separator.end } else { separator.start };
            folder = folder.consume(self.take_until(separator, end));
            if folder.full() {
                return folder;
            }
        }
        if self.rest.len() > 0 || self.keep == Keep::Between { folder.consume(self.rest) } else { folder }
    }

    /// Takes the first `end` elements, and leaves what comes after `separator`.
    fn take_until(&mut self, separator: Range<usize>, end: usize) -> S {
        let (piece, rest) = mem::take(&mut self.rest).cut(end);
        self.rest = rest.cut(separator.end - end).1;
        self.clear_from = self.clear_from.saturating_sub(separator.end);
        piece
    }
}

impl<S: Sequence, P: Separator<S>> UnindexedProducer for Pieces<'_, S, P> {
    type Item = S;

    fn split(mut self) -> (Self, Option<Self>) {
        let middle = self.rest.middle(self.clear_from);
        let (separator, left_clear_from) =
            if let Some(found) = self.separator.first(&self.rest, middle..self.clear_from) {
                (found, middle)
            } else if let Some(found) = self.separator.last(&self.rest, 0..middle) {
                self.clear_from = 0;
                let start = found.start;
                (found, start)
            } else {
                self.clear_from = 0;
                return (self, None);
            };
        // The last piece on the left is there even if it is empty, because a separator follows.
        let (end, keep) = match self.keep {
            Keep::Inclusive => (separator.end, Keep::Inclusive),
            Keep::Between | Keep::Terminated => (separator.start, Keep::Between),
        };
        let before = self.take_until(separator, end);
        let left = Pieces { rest: before, separator: self.separator, keep, clear_from: left_clear_from };
        (left, Some(self))
    }

    fn fold_with<F: Folder<S>>(self, folder: F) -> F {
        self.separator.fold_pieces(self.rest, self.keep, self.clear_from, folder)
    }
}
