//! Ranges of integers and characters.
//!
//! Ranges of types up to the size of `usize` are indexed on every platform; longer ones, `u64` included, are not, so
//! that programs do not depend on the platform. They still know their length if it fits a `usize`.
//!
//! ```
//! use heist::prelude::*;
//!
//! let even: Vec<char> = ('a'..'g').into_par_iter().step_by(2).collect();
//! assert_eq!(even, ['a', 'c', 'e']);
//! assert_eq!((0..1u128 << 100).into_par_iter().find_any(|n| *n == 7), Some(7));
//! ```

use crate::iter::plumbing::{
    Consumer, Folder, Producer, ProducerCallback, UnindexedConsumer, UnindexedProducer, bridge,
    bridge_lazily, bridge_producer_lazily, bridge_unindexed,
};
use crate::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use crate::private::Sealed;
use std::ops::Range;

/// The values of a range.
///
/// ```
/// # use heist::prelude::*;
/// assert_eq!((1..=10u32).into_par_iter().product::<u32>(), 3_628_800);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct Iter<T> {
    range: Range<T>,
}

impl<T> IntoParallelIterator for Range<T>
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
    use super::{ProducerCallback, Range, Sealed, UnindexedConsumer};

    /// The integers.
    #[allow(unreachable_pub, reason = "a bound of public impls")]
    pub trait RangeInteger: Sized + Send + Sealed {
        fn drive_unindexed<C: UnindexedConsumer<Self>>(range: Range<Self>, consumer: C) -> C::Result;

        /// `None` if it does not fit.
        fn len(range: &Range<Self>) -> Option<usize>;
    }

    /// The integers whose ranges are indexed.
    #[allow(unreachable_pub, reason = "a bound of public impls")]
    pub trait IndexedRangeInteger: RangeInteger {
        fn with_producer<CB: ProducerCallback<Self>>(range: Range<Self>, callback: CB) -> CB::Output;
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
        bridge(self, consumer)
    }

    fn len(&self) -> usize {
        T::len(&self.range).expect("indexed ranges fit")
    }

    fn with_producer<CB: ProducerCallback<T>>(self, callback: CB) -> CB::Output {
        T::with_producer(self.range, callback)
    }
}

/// A range whose length fits a `usize`.
struct RangeProducer<T>(Range<T>);

macro_rules! producer {
    ($t:ty, $iter:ty, $into:expr) => {
        impl Producer for RangeProducer<$t> {
            type Item = $t;
            type IntoIter = $iter;

            fn into_iter(self) -> Self::IntoIter {
                $into(self.0)
            }

            fn split_at(self, index: usize) -> (Self, Self) {
                // An index within the range may still overflow a narrow signed type, as 200 does in -100..100i8.
                let middle = self.0.start.wrapping_add(index as $t);
                (RangeProducer(self.0.start..middle), RangeProducer(middle..self.0.end))
            }
        }
    };
}

macro_rules! indexed {
    ($($t:ty, $unsigned:ty;)*) => {
        $(
            impl Sealed for $t {}

            impl RangeInteger for $t {
                fn drive_unindexed<C: UnindexedConsumer<$t>>(range: Range<$t>, consumer: C) -> C::Result {
                    bridge_lazily(Iter { range }, consumer)
                }

                fn len(range: &Range<$t>) -> Option<usize> {
                    let len = if range.is_empty() { 0 } else { range.end.wrapping_sub(range.start) as $unsigned };
                    usize::try_from(len).ok()
                }
            }

            impl IndexedRangeInteger for $t {
                fn with_producer<CB: ProducerCallback<$t>>(range: Range<$t>, callback: CB) -> CB::Output {
                    callback.callback(RangeProducer(range))
                }
            }

            producer!($t, Range<$t>, |range| range);
        )*
    };
}

indexed! {
    u8, u8;
    u16, u16;
    u32, u32;
    usize, usize;
    i8, u8;
    i16, u16;
    i32, u32;
    isize, usize;
}

macro_rules! unindexed {
    ($($t:ty, $unsigned:ty;)*) => {
        $(
            impl Sealed for $t {}

            impl RangeInteger for $t {
                fn drive_unindexed<C: UnindexedConsumer<$t>>(range: Range<$t>, consumer: C) -> C::Result {
                    match Self::len(&range) {
                        Some(len) => bridge_producer_lazily(len, RangeProducer(range), consumer),
                        None => bridge_unindexed(RangeProducer(range), consumer),
                    }
                }

                fn len(range: &Range<$t>) -> Option<usize> {
                    let len = if range.is_empty() { 0 } else { range.end.wrapping_sub(range.start) as $unsigned };
                    usize::try_from(len).ok()
                }
            }

            producer!($t, Exact<Range<$t>>, Exact);

            impl UnindexedProducer for RangeProducer<$t> {
                type Item = $t;

                fn split(self) -> (Self, Option<Self>) {
                    let Range { start, end } = self.0;
                    let half = (end.wrapping_sub(start) as $unsigned) / 2;
                    if start >= end || half == 0 {
                        return (RangeProducer(start..end), None);
                    }
                    let middle = start.wrapping_add(half as $t);
                    (RangeProducer(start..middle), Some(RangeProducer(middle..end)))
                }

                fn fold_with<F: Folder<$t>>(self, folder: F) -> F {
                    folder.consume_iter(self.0)
                }
            }
        )*
    };
}

unindexed! {
    u64, u64;
    i64, u64;
    u128, u128;
    i128, u128;
}

/// An iterator that knows its exact length, although its type does not promise that on every platform.
#[derive(Debug, Clone)]
struct Exact<I>(I);

impl<I: Iterator> Iterator for Exact<I> {
    type Item = I::Item;

    #[inline]
    fn next(&mut self) -> Option<I::Item> {
        self.0.next()
    }

    #[inline]
    fn nth(&mut self, n: usize) -> Option<I::Item> {
        self.0.nth(n)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }

    #[inline]
    fn fold<A, F: FnMut(A, I::Item) -> A>(self, init: A, fold: F) -> A {
        self.0.fold(init, fold)
    }
}

impl<I: DoubleEndedIterator> DoubleEndedIterator for Exact<I> {
    #[inline]
    fn next_back(&mut self) -> Option<I::Item> {
        self.0.next_back()
    }

    #[inline]
    fn rfold<A, F: FnMut(A, I::Item) -> A>(self, init: A, fold: F) -> A {
        self.0.rfold(init, fold)
    }
}

impl<I: Iterator> ExactSizeIterator for Exact<I> {}

/// Between these two there are no characters.
const BEFORE_SURROGATES: u32 = 0xD800;
const AFTER_SURROGATES: u32 = 0xE000;

/// The characters of a range by their number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chars {
    start: u32,
    pub(crate) len: u32,
}

impl Chars {
    /// From `start` up to `end`, which need not be a character.
    pub(crate) fn new(start: char, end: u32) -> Chars {
        let start = u32::from(start);
        let surrogates = if start < BEFORE_SURROGATES && end >= AFTER_SURROGATES {
            AFTER_SURROGATES - BEFORE_SURROGATES
        } else {
            0
        };
        Chars { start, len: end.saturating_sub(start).saturating_sub(surrogates) }
    }

    pub(crate) fn get(self, index: u32) -> char {
        let mut code = self.start + index;
        if self.start < BEFORE_SURROGATES && code >= BEFORE_SURROGATES {
            code += AFTER_SURROGATES - BEFORE_SURROGATES;
        }
        char::from_u32(code).expect("the range ends at a character, and the gap is skipped")
    }

    pub(crate) fn into_par_iter(self) -> impl IndexedParallelIterator<Item = char> {
        (0..self.len).into_par_iter().map(move |index| self.get(index))
    }
}

impl ParallelIterator for Iter<char> {
    type Item = char;
    const IS_COUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<char>>(self, consumer: C) -> C::Result {
        Chars::new(self.range.start, self.range.end.into()).into_par_iter().drive_unindexed(consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.len())
    }
}

impl IndexedParallelIterator for Iter<char> {
    fn drive<C: Consumer<char>>(self, consumer: C) -> C::Result {
        Chars::new(self.range.start, self.range.end.into()).into_par_iter().drive(consumer)
    }

    fn len(&self) -> usize {
        Chars::new(self.range.start, self.range.end.into()).len as usize
    }

    fn with_producer<CB: ProducerCallback<char>>(self, callback: CB) -> CB::Output {
        Chars::new(self.range.start, self.range.end.into()).into_par_iter().with_producer(callback)
    }
}
