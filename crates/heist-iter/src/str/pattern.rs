//! What text is searched for.

use std::ops::Range;

/// What a character may match: the standard library's patterns as far as they are about single characters.
///
/// Not nameable from outside, so that patterns can become more than characters one day.
pub trait Pattern: Sized + Sync + Send {
    /// The first match.
    fn find_in(&self, text: &str) -> Option<Range<usize>>;

    /// The last match.
    fn rfind_in(&self, text: &str) -> Option<Range<usize>>;
}

/// Forwards to `str::find` and `str::rfind`, which know a faster way for each kind of pattern.
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
