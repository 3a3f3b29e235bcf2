//! Pieces of a text between separators.

use super::ParallelString;
use super::pattern::Pattern;
use super::text::floor_boundary;
use crate::iter::ParallelIterator;
use crate::iter::plumbing::{Folder, UnindexedConsumer, bridge_unindexed};
use crate::slice::pieces::{Keep, Pieces, Separator, Sequence};
use std::ops::Range;

impl Sequence for &str {
    fn len(&self) -> usize {
        str::len(self)
    }

    fn middle(&self, end: usize) -> usize {
        floor_boundary(self, end / 2)
    }

    fn cut(self, at: usize) -> (Self, Self) {
        self.split_at(at)
    }
}

impl<'ch, P: Pattern> Separator<&'ch str> for P {
    fn first(&self, text: &&'ch str, within: Range<usize>) -> Option<Range<usize>> {
        let base = within.start;
        self.find_in(&text[within]).map(|found| base + found.start..base + found.end)
    }

    fn last(&self, text: &&'ch str, within: Range<usize>) -> Option<Range<usize>> {
        let base = within.start;
        self.rfind_in(&text[within]).map(|found| base + found.start..base + found.end)
    }

    fn fold_pieces<F: Folder<&'ch str>>(
        &self,
        text: &'ch str,
        keep: Keep,
        clear_from: usize,
        folder: F,
    ) -> F {
        // Nothing is found from `clear_from` on, but when little is left to search, that is not worth knowing.
        if clear_from < text.len() / 2 {
            return Pieces::resumed(text, self, keep, clear_from).fold_one_by_one(folder);
        }
        match keep {
            Keep::Between => self.fold_split(text, folder),
            Keep::Terminated => self.fold_split_terminator(text, folder),
            Keep::Inclusive => self.fold_split_inclusive(text, folder),
        }
    }
}

/// Yields the pieces between separators; see [`par_split`](ParallelString::par_split).
///
/// ```
/// use heist::prelude::*;
///
/// assert_eq!("a-b_c".par_split(['-', '_']).count(), 3);
/// ```
#[derive(Debug, Clone)]
pub struct Split<'ch, P: Pattern> {
    pub(super) text: &'ch str,
    pub(super) separator: P,
}

impl<'ch, P: Pattern> ParallelIterator for Split<'ch, P> {
    type Item = &'ch str;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        bridge_unindexed(Pieces::new(self.text, &self.separator, Keep::Between), consumer)
    }
}

/// Yields pieces that end with a separator; see [`par_split_inclusive`](ParallelString::par_split_inclusive).
///
/// ```
/// use heist::prelude::*;
///
/// assert_eq!("a. b.".par_split_inclusive('.').collect::<Vec<_>>(), ["a.", " b."]);
/// ```
#[derive(Debug, Clone)]
pub struct SplitInclusive<'ch, P: Pattern> {
    pub(super) text: &'ch str,
    pub(super) separator: P,
}

impl<'ch, P: Pattern> ParallelIterator for SplitInclusive<'ch, P> {
    type Item = &'ch str;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        bridge_unindexed(Pieces::new(self.text, &self.separator, Keep::Inclusive), consumer)
    }
}

/// Yields pieces that a terminator ends; see [`par_split_terminator`](ParallelString::par_split_terminator).
///
/// ```
/// use heist::prelude::*;
///
/// assert_eq!("((a)".par_split_terminator(['(', ')']).collect::<Vec<_>>(), ["", "", "a"]);
/// ```
#[derive(Debug, Clone)]
pub struct SplitTerminator<'ch, P: Pattern> {
    pub(super) text: &'ch str,
    pub(super) terminator: P,
}

impl<'ch, P: Pattern> ParallelIterator for SplitTerminator<'ch, P> {
    type Item = &'ch str;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        bridge_unindexed(Pieces::new(self.text, &self.terminator, Keep::Terminated), consumer)
    }
}

/// Yields the lines of a text; see [`par_lines`](ParallelString::par_lines).
///
/// ```
/// use heist::prelude::*;
///
/// assert_eq!("a\nb\r\n".par_lines().collect::<Vec<_>>(), ["a", "b"]);
/// ```
#[derive(Debug, Clone)]
pub struct Lines<'ch> {
    pub(super) text: &'ch str,
}

/// A carriage return belongs to the end of a line only if a line feed follows.
fn without_line_end(line: &str) -> &str {
    let Some(line) = line.strip_suffix('\n') else { return line };
    line.strip_suffix('\r').unwrap_or(line)
}

impl<'ch> ParallelIterator for Lines<'ch> {
    type Item = &'ch str;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        self.text.par_split_inclusive('\n').map(without_line_end).drive_unindexed(consumer)
    }
}

/// Yields the words between white space; see [`par_split_whitespace`](ParallelString::par_split_whitespace).
///
/// ```
/// use heist::prelude::*;
///
/// assert_eq!("in and\tout".par_split_whitespace().count(), 3);
/// ```
#[derive(Debug, Clone)]
pub struct SplitWhitespace<'ch> {
    pub(super) text: &'ch str,
}

fn is_word(piece: &&str) -> bool {
    !piece.is_empty()
}

impl<'ch> ParallelIterator for SplitWhitespace<'ch> {
    type Item = &'ch str;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        self.text.par_split(char::is_whitespace).filter(is_word).drive_unindexed(consumer)
    }
}

/// Yields the words between ASCII white space; see
/// [`par_split_ascii_whitespace`](ParallelString::par_split_ascii_whitespace).
///
/// ```
/// use heist::prelude::*;
///
/// assert_eq!("in and\tout".par_split_ascii_whitespace().count(), 3);
/// ```
#[derive(Debug, Clone)]
pub struct SplitAsciiWhitespace<'ch> {
    pub(super) text: &'ch str,
}

impl<'ch> ParallelIterator for SplitAsciiWhitespace<'ch> {
    type Item = &'ch str;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        self.text.par_split(|c: char| c.is_ascii_whitespace()).filter(is_word).drive_unindexed(consumer)
    }
}
