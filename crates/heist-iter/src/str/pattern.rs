//! What text is searched for.

use crate::iter::plumbing::Folder;
use std::ops::Range;

/// What a character may match: the standard library's patterns as far as they are about single characters.
///
/// Not nameable from outside, so that patterns can become more than characters one day.
pub trait Pattern: Sized + Sync + Send {
    /// The first match.
    fn find_in(&self, text: &str) -> Option<Range<usize>>;

    /// The last match.
    fn rfind_in(&self, text: &str) -> Option<Range<usize>>;

    /// Feeds what `str::split` yields.
    fn fold_split<'ch, F: Folder<&'ch str>>(&self, text: &'ch str, folder: F) -> F;

    /// Feeds what `str::split_terminator` yields.
    fn fold_split_terminator<'ch, F: Folder<&'ch str>>(&self, text: &'ch str, folder: F) -> F;

    /// Feeds what `str::split_inclusive` yields.
    fn fold_split_inclusive<'ch, F: Folder<&'ch str>>(&self, text: &'ch str, folder: F) -> F;
}

/// Forwards to the methods of `str`, which know a faster way for each kind of pattern.
macro_rules! std_pattern {
    ($(impl[$($generics:tt)*] $pattern:ty: |$this:ident| $std:expr;)*) => {$(
        impl<$($generics)*> Pattern for $pattern {
            #[inline]
            fn find_in(&self, text: &str) -> Option<Range<usize>> {
                let $this = self;
                text.find($std).map(|start| whole_char(text, start))
            }

            #[inline]
            fn rfind_in(&self, text: &str) -> Option<Range<usize>> {
                let $this = self;
                text.rfind($std).map(|start| whole_char(text, start))
            }

            fn fold_split<'ch, Fold: Folder<&'ch str>>(&self, text: &'ch str, folder: Fold) -> Fold {
                let $this = self;
                folder.consume_iter(text.split($std))
            }

            fn fold_split_terminator<'ch, Fold: Folder<&'ch str>>(
                &self,
                text: &'ch str,
                folder: Fold,
            ) -> Fold {
                let $this = self;
                folder.consume_iter(text.split_terminator($std))
            }

            fn fold_split_inclusive<'ch, Fold: Folder<&'ch str>>(
                &self,
                text: &'ch str,
                folder: Fold,
            ) -> Fold {
                let $this = self;
                folder.consume_iter(text.split_inclusive($std))
            }
        }
    )*};
}

std_pattern! {
    impl[] char: |this| *this;
    impl[] &[char]: |this| *this;
    impl[const N: usize] [char; N]: |this| *this;
    impl[const N: usize] &[char; N]: |this| *this;
    impl[F: Fn(char) -> bool + Sync + Send] F: |this| this;
}

fn whole_char(text: &str, start: usize) -> Range<usize> {
    start..start + text[start..].chars().next().map_or(0, char::len_utf8)
}
