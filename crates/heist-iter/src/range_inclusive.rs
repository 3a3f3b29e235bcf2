//! Inclusive ranges of integers and characters.
//!
//! ```
//! use heist::prelude::*;
//!
//! let all: Vec<u8> = (0..=255u8).into_par_iter().collect();
//! assert_eq!(all.len(), 256);
//! ```

use crate::iter::plumbing::{Consumer, ProducerCallback, UnindexedConsumer};
use crate::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator, empty, once};
use crate::private::Sealed;
use crate::range::Chars;
use std::ops::RangeInclusive;

/// The values of an inclusive range.
///
/// ```
/// # use heist::prelude::*;
/// assert_eq!(('x'..='z').into_par_iter().collect::<String>(), "xyz");
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct Iter<T> {
    range: RangeInclusive<T>,
}

impl<T> IntoParallelIterator for RangeInclusive<T>
where
    Iter<T>: ParallelIterator,
{
    type Item = <Iter<T> as ParallelIterator>::Item;
    type Iter = Iter<T>;

    fn into_par_iter(self) -> Iter<T> {
        Iter { range: self }
    }
}

/// Public only as bounds: users cannot name them.
mod integer {
    use super::{IndexedParallelIterator, RangeInclusive, Sealed, UnindexedConsumer};

    /// The integers.
    #[allow(unreachable_pub, reason = "a bound of public impls")]
    pub trait RangeInteger: Sized + Send + Sealed {
        fn drive_unindexed<C: UnindexedConsumer<Self>>(range: RangeInclusive<Self>, consumer: C)
        -> C::Result;

        /// `None` if it does not fit.
        fn len(range: &RangeInclusive<Self>) -> Option<usize>;
    }

    /// The integers whose inclusive ranges are indexed: those whose number is less than `usize::MAX` on every platform.
    #[allow(unreachable_pub, reason = "a bound of public impls")]
    pub trait IndexedRangeInteger: RangeInteger {
        fn as_indexed(range: RangeInclusive<Self>) -> impl IndexedParallelIterator<Item = Self>;
    }
}
use integer::{IndexedRangeInteger, RangeInteger};

impl<T: RangeInteger> ParallelIterator for Iter<T> {
    type Item = T;

    fn drive_unindexed<C: UnindexedConsumer<T>>(self, consumer: C) -> C::Result {
        T::drive_unindexed(self.range, consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        T::len(&self.range)
    }
}

impl<T: IndexedRangeInteger> IndexedParallelIterator for Iter<T> {
    fn drive<C: Consumer<T>>(self, consumer: C) -> C::Result {
        T::as_indexed(self.range).drive(consumer)
    }

    fn len(&self) -> usize {
        T::len(&self.range).expect("indexed ranges fit")
    }

    fn with_producer<CB: ProducerCallback<T>>(self, callback: CB) -> CB::Output {
        T::as_indexed(self.range).with_producer(callback)
    }
}

macro_rules! indexed {
    ($($t:ty)*) => {
        $(
            impl RangeInteger for $t {
                fn drive_unindexed<C: UnindexedConsumer<$t>>(range: RangeInclusive<$t>, consumer: C) -> C::Result {
                    Self::as_indexed(range).drive_unindexed(consumer)
                }

                fn len(range: &RangeInclusive<$t>) -> Option<usize> {
                    Some(range.clone().len())
                }
            }

            impl IndexedRangeInteger for $t {
                fn as_indexed(range: RangeInclusive<$t>) -> impl IndexedParallelIterator<Item = $t> {
                    // A range that has been iterated to its end looks as if it still had its last value.
                    let end = if range.is_empty() { i32::from(*range.start()) } else { i32::from(*range.end()) + 1 };
                    (i32::from(*range.start())..end).into_par_iter().map(|value| value as $t)
                }
            }
        )*
    };
}

indexed! { u8 u16 i8 i16 }

macro_rules! unindexed {
    ($($t:ty, $unsigned:ty;)*) => {
        $(
            impl RangeInteger for $t {
                fn drive_unindexed<C: UnindexedConsumer<$t>>(range: RangeInclusive<$t>, consumer: C) -> C::Result {
                    if range.is_empty() {
                        return empty().drive_unindexed(consumer);
                    }
                    let (start, end) = range.into_inner();
                    if let Some(after) = end.checked_add(1) {
                        (start..after).into_par_iter().drive_unindexed(consumer)
                    } else if let Some(before) = start.checked_sub(1) {
                        (before..end).into_par_iter().map(|value| value + 1).drive_unindexed(consumer)
                    } else {
                        (start..end).into_par_iter().chain(once(end)).drive_unindexed(consumer)
                    }
                }

                fn len(range: &RangeInclusive<$t>) -> Option<usize> {
                    if range.is_empty() {
                        return Some(0);
                    }
                    let steps = range.end().wrapping_sub(*range.start()) as $unsigned;
                    usize::try_from(steps).ok()?.checked_add(1)
                }
            }
        )*
    };
}

unindexed! {
    u32, u32;
    i32, u32;
    usize, usize;
    isize, usize;
    u64, u64;
    i64, u64;
    u128, u128;
    i128, u128;
}

impl Iter<char> {
    fn chars(&self) -> Chars {
        let start = *self.range.start();
        let end = if self.range.is_empty() { u32::from(start) } else { u32::from(*self.range.end()) + 1 };
        Chars::new(start, end)
    }
}

impl ParallelIterator for Iter<char> {
    type Item = char;
    const IS_COUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<char>>(self, consumer: C) -> C::Result {
        self.chars().into_par_iter().drive_unindexed(consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.len())
    }
}

impl IndexedParallelIterator for Iter<char> {
    fn drive<C: Consumer<char>>(self, consumer: C) -> C::Result {
        self.chars().into_par_iter().drive(consumer)
    }

    fn len(&self) -> usize {
        self.chars().len as usize
    }

    fn with_producer<CB: ProducerCallback<char>>(self, callback: CB) -> CB::Output {
        self.chars().into_par_iter().with_producer(callback)
    }
}
