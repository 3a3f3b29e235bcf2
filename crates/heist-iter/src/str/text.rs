//! Text that may be cut between any two characters.

use super::ParallelString;
use super::pattern::Pattern;
use crate::iter::ParallelIterator;
use crate::iter::plumbing::{Folder, UnindexedConsumer, UnindexedProducer, bridge_unindexed};

/// The last place at or before `at` that lies between two characters.
pub(super) fn floor_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// How a stretch of text becomes items.
trait Read<'ch>: Copy + Send {
    type Item;

    /// Feeds `folder`; `offset` is where `text` begins in the whole.
    fn read<F: Folder<Self::Item>>(self, text: &'ch str, offset: usize, folder: F) -> F;
}

/// Text that may be cut between any two characters.
struct Text<'ch, R> {
    text: &'ch str,
    offset: usize,
    how: R,
}

impl<'ch, R: Read<'ch>> UnindexedProducer for Text<'ch, R> {
    type Item = R::Item;

    fn split(self) -> (Self, Option<Self>) {
        let at = floor_boundary(self.text, self.text.len() / 2);
        if at == 0 {
            return (self, None);
        }
        let (left, right) = self.text.split_at(at);
        (Text { text: left, ..self }, Some(Text { text: right, offset: self.offset + at, ..self }))
    }

    fn fold_with<F: Folder<Self::Item>>(self, folder: F) -> F {
        self.how.read(self.text, self.offset, folder)
    }
}

fn drive_text<'ch, R, C>(text: &'ch str, how: R, consumer: C) -> C::Result
where
    R: Read<'ch>,
    C: UnindexedConsumer<R::Item>,
{
    bridge_unindexed(Text { text, offset: 0, how }, consumer)
}

/// Yields the characters of a text; see [`par_chars`](ParallelString::par_chars).
///
/// ```
/// use heist::prelude::*;
///
/// assert!("heist".par_chars().all(char::is_alphabetic));
/// ```
#[derive(Debug, Clone)]
pub struct Chars<'ch> {
    pub(super) text: &'ch str,
}

#[derive(Clone, Copy)]
struct ReadChars;

impl<'ch> Read<'ch> for ReadChars {
    type Item = char;

    fn read<F: Folder<char>>(self, text: &'ch str, _offset: usize, folder: F) -> F {
        folder.consume_iter(text.chars())
    }
}

impl ParallelIterator for Chars<'_> {
    type Item = char;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<char>>(self, consumer: C) -> C::Result {
        drive_text(self.text, ReadChars, consumer)
    }
}

/// Yields characters and where they begin; see [`par_char_indices`](ParallelString::par_char_indices).
///
/// ```
/// use heist::prelude::*;
///
/// assert_eq!("abc".par_char_indices().find_any(|&(_, c)| c == 'c'), Some((2, 'c')));
/// ```
#[derive(Debug, Clone)]
pub struct CharIndices<'ch> {
    pub(super) text: &'ch str,
}

#[derive(Clone, Copy)]
struct ReadCharIndices;

impl<'ch> Read<'ch> for ReadCharIndices {
    type Item = (usize, char);

    fn read<F: Folder<Self::Item>>(self, text: &'ch str, offset: usize, folder: F) -> F {
        folder.consume_iter(text.char_indices().map(|(at, c)| (offset + at, c)))
    }
}

impl ParallelIterator for CharIndices<'_> {
    type Item = (usize, char);
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        drive_text(self.text, ReadCharIndices, consumer)
    }
}

/// Yields the bytes of a text; see [`par_bytes`](ParallelString::par_bytes).
///
/// ```
/// use heist::prelude::*;
///
/// assert_eq!("ab".par_bytes().map(u32::from).sum::<u32>(), 97 + 98);
/// ```
#[derive(Debug, Clone)]
pub struct Bytes<'ch> {
    pub(super) text: &'ch str,
}

#[derive(Clone, Copy)]
struct ReadBytes;

impl<'ch> Read<'ch> for ReadBytes {
    type Item = u8;

    fn read<F: Folder<u8>>(self, text: &'ch str, _offset: usize, folder: F) -> F {
        folder.consume_iter(text.bytes())
    }
}

impl ParallelIterator for Bytes<'_> {
    type Item = u8;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<u8>>(self, consumer: C) -> C::Result {
        drive_text(self.text, ReadBytes, consumer)
    }
}

/// Yields a text in UTF-16; see [`par_encode_utf16`](ParallelString::par_encode_utf16).
///
/// ```
/// use heist::prelude::*;
///
/// assert_eq!("𝄞".par_encode_utf16().count(), 2);
/// ```
#[derive(Debug, Clone)]
pub struct EncodeUtf16<'ch> {
    pub(super) text: &'ch str,
}

#[derive(Clone, Copy)]
struct ReadUtf16;

impl<'ch> Read<'ch> for ReadUtf16 {
    type Item = u16;

    fn read<F: Folder<u16>>(self, text: &'ch str, _offset: usize, folder: F) -> F {
        folder.consume_iter(text.encode_utf16())
    }
}

impl ParallelIterator for EncodeUtf16<'_> {
    type Item = u16;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<u16>>(self, consumer: C) -> C::Result {
        drive_text(self.text, ReadUtf16, consumer)
    }
}

/// Yields what matches; see [`par_matches`](ParallelString::par_matches).
///
/// ```
/// use heist::prelude::*;
///
/// assert_eq!("banana".par_matches('a').count(), 3);
/// ```
#[derive(Debug, Clone)]
pub struct Matches<'ch, P: Pattern> {
    pub(super) text: &'ch str,
    pub(super) pattern: P,
}

impl<'ch, P: Pattern> ParallelIterator for Matches<'ch, P> {
    type Item = &'ch str;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        self.text.par_match_indices(self.pattern).map(|(_, found)| found).drive_unindexed(consumer)
    }
}

/// Yields what matches and where; see [`par_match_indices`](ParallelString::par_match_indices).
///
/// ```
/// use heist::prelude::*;
///
/// assert_eq!("banana".par_match_indices('a').map(|(at, _)| at).sum::<usize>(), 1 + 3 + 5);
/// ```
#[derive(Debug, Clone)]
pub struct MatchIndices<'ch, P: Pattern> {
    pub(super) text: &'ch str,
    pub(super) pattern: P,
}

/// Reads matches of a pattern.
struct ReadMatches<'p, P>(&'p P);

impl<P> Clone for ReadMatches<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for ReadMatches<'_, P> {}

impl<'ch, P: Pattern> Read<'ch> for ReadMatches<'_, P> {
    type Item = (usize, &'ch str);

    fn read<F: Folder<Self::Item>>(self, text: &'ch str, offset: usize, folder: F) -> F {
        let mut from = 0;
        folder.consume_iter(std::iter::from_fn(|| {
            let found = self.0.find_in(&text[from..])?;
            let at = from + found.start..from + found.end;
            from = at.end;
            Some((offset + at.start, &text[at]))
        }))
    }
}

impl<'ch, P: Pattern> ParallelIterator for MatchIndices<'ch, P> {
    type Item = (usize, &'ch str);
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        drive_text(self.text, ReadMatches(&self.pattern), consumer)
    }
}
