//! Words and lines of a text.

use super::lib::prelude::*;

/// How many words have an `e`.
#[inline(never)]
pub fn split(text: &str) -> usize {
    text.par_split(' ').filter(|word| word.contains('e')).count()
}

/// The length of the longest line.
#[inline(never)]
pub fn lines(text: &str) -> Option<usize> {
    text.par_lines().map(str::len).max()
}
