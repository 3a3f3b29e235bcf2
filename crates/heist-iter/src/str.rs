//! Parallel iterators for strings.
//!
//! [`ParallelString`] adds them to `str`, and with that to `String` and whatever else can be borrowed as text. Text is
//! cut between characters, so nothing here is indexed: how many characters there are is not known in advance.

mod pattern;
mod split;
mod text;

pub use split::{Lines, Split, SplitAsciiWhitespace, SplitInclusive, SplitTerminator, SplitWhitespace};
pub use text::{Bytes, CharIndices, Chars, EncodeUtf16, MatchIndices, Matches};

use pattern::Pattern;

/// Parallel iterators over text.
///
/// Separators and patterns are characters: a `char`, an array or slice of them, or a predicate `Fn(char) -> bool`.
///
/// ```
/// use heist::prelude::*;
///
/// let total: u32 = "10 20 12".par_split_whitespace().map(|n| n.parse::<u32>().unwrap()).sum();
/// assert_eq!(total, 42);
/// ```
pub trait ParallelString {
    /// The text itself. The other methods are provided, and use this one.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!("vault".as_parallel_string(), "vault");
    /// ```
    fn as_parallel_string(&self) -> &str;

    /// Iterates over the characters.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!("größe".par_chars().filter(|c| !c.is_ascii()).count(), 2);
    /// ```
    fn par_chars(&self) -> Chars<'_> {
        Chars { text: self.as_parallel_string() }
    }

    /// Iterates over the characters and the byte positions where they begin.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!("äb".par_char_indices().collect::<Vec<_>>(), [(0, 'ä'), (2, 'b')]);
    /// ```
    fn par_char_indices(&self) -> CharIndices<'_> {
        CharIndices { text: self.as_parallel_string() }
    }

    /// Iterates over the bytes.
    ///
    /// The bytes as a slice, `text.as_bytes().par_iter()`, are indexed; these are not.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!("abc".par_bytes().max(), Some(b'c'));
    /// ```
    fn par_bytes(&self) -> Bytes<'_> {
        Bytes { text: self.as_parallel_string() }
    }

    /// Iterates over the text in UTF-16.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!("a𝄞".par_encode_utf16().collect::<Vec<_>>(), [0x61, 0xd834, 0xdd1e]);
    /// ```
    fn par_encode_utf16(&self) -> EncodeUtf16<'_> {
        EncodeUtf16 { text: self.as_parallel_string() }
    }

    /// Iterates over the pieces between separators, as [`str::split`] does.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!("a,b,".par_split(',').collect::<Vec<_>>(), ["a", "b", ""]);
    /// ```
    fn par_split<P: Pattern>(&self, separator: P) -> Split<'_, P> {
        Split { text: self.as_parallel_string(), separator }
    }

    /// Iterates over pieces that end with a separator, as [`str::split_inclusive`] does.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!("a,b".par_split_inclusive(',').collect::<Vec<_>>(), ["a,", "b"]);
    /// ```
    fn par_split_inclusive<P: Pattern>(&self, separator: P) -> SplitInclusive<'_, P> {
        SplitInclusive { text: self.as_parallel_string(), separator }
    }

    /// Iterates over pieces that a terminator ends, as [`str::split_terminator`] does: after the last one there is no
    /// empty piece.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!("a;b;".par_split_terminator(';').collect::<Vec<_>>(), ["a", "b"]);
    /// ```
    fn par_split_terminator<P: Pattern>(&self, terminator: P) -> SplitTerminator<'_, P> {
        SplitTerminator { text: self.as_parallel_string(), terminator }
    }

    /// Iterates over the lines without their ends, `\n` or `\r\n`, as [`str::lines`] does.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let longest = "one\r\nthree\ntwo".par_lines().max_by_key(|line| line.len());
    /// assert_eq!(longest, Some("three"));
    /// ```
    fn par_lines(&self) -> Lines<'_> {
        Lines { text: self.as_parallel_string() }
    }

    /// Iterates over the words between white space of any kind, as [`str::split_whitespace`] does.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!(" a \u{2003} b".par_split_whitespace().collect::<Vec<_>>(), ["a", "b"]);
    /// ```
    fn par_split_whitespace(&self) -> SplitWhitespace<'_> {
        SplitWhitespace { text: self.as_parallel_string() }
    }

    /// Iterates over the words between ASCII white space, as [`str::split_ascii_whitespace`] does.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!("\ta  b\n".par_split_ascii_whitespace().collect::<Vec<_>>(), ["a", "b"]);
    /// ```
    fn par_split_ascii_whitespace(&self) -> SplitAsciiWhitespace<'_> {
        SplitAsciiWhitespace { text: self.as_parallel_string() }
    }

    /// Iterates over the characters that match, as strings.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let digits: String = "a1b22".par_matches(char::is_numeric).collect();
    /// assert_eq!(digits, "122");
    /// ```
    fn par_matches<P: Pattern>(&self, pattern: P) -> Matches<'_, P> {
        Matches { text: self.as_parallel_string(), pattern }
    }

    /// Iterates over the characters that match, as strings, and the byte positions where they begin.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!("a1b2".par_match_indices(['1', '2']).collect::<Vec<_>>(), [(1, "1"), (3, "2")]);
    /// ```
    fn par_match_indices<P: Pattern>(&self, pattern: P) -> MatchIndices<'_, P> {
        MatchIndices { text: self.as_parallel_string(), pattern }
    }
}

impl ParallelString for str {
    #[inline]
    fn as_parallel_string(&self) -> &str {
        self
    }
}
