//! `by_exponential_blocks` and `by_uniform_blocks`.

use super::plumbing::{
    Folder, Producer, ProducerCallback, Reducer, UnindexedConsumer, bridge_producer_lazily,
};
use super::{IndexedParallelIterator, ParallelIterator};
use crate::pool;

/// What [`by_exponential_blocks`](IndexedParallelIterator::by_exponential_blocks) returns.
///
/// ```
/// # use heist::prelude::*;
/// assert_eq!((0..1000).into_par_iter().by_exponential_blocks().find_first(|n| *n > 3), Some(4));
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct ExponentialBlocks<I> {
    base: I,
}

impl<I> ExponentialBlocks<I> {
    pub(super) fn new(base: I) -> Self {
        ExponentialBlocks { base }
    }
}

impl<I: IndexedParallelIterator> ParallelIterator for ExponentialBlocks<I> {
    type Item = I::Item;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        let first = pool::workers();
        let sizes = std::iter::successors(Some(first), |size| Some(size.saturating_mul(2)));
        in_blocks(self.base, sizes, consumer)
    }
}

/// What [`by_uniform_blocks`](IndexedParallelIterator::by_uniform_blocks) returns.
///
/// ```
/// # use heist::prelude::*;
/// assert_eq!((0..1000).into_par_iter().by_uniform_blocks(100).sum::<i32>(), 499_500);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Debug, Clone)]
pub struct UniformBlocks<I> {
    base: I,
    size: usize,
}

impl<I> UniformBlocks<I> {
    /// `size` is not 0.
    pub(super) fn new(base: I, size: usize) -> Self {
        UniformBlocks { base, size }
    }
}

impl<I: IndexedParallelIterator> ParallelIterator for UniformBlocks<I> {
    type Item = I::Item;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        in_blocks(self.base, std::iter::repeat(self.size), consumer)
    }
}

/// Drives blocks of the given sizes, all of them at least 1, one after the other.
fn in_blocks<I, S, C>(base: I, sizes: S, consumer: C) -> C::Result
where
    I: IndexedParallelIterator,
    S: Iterator<Item = usize>,
    C: UnindexedConsumer<I::Item>,
{
    struct Callback<S, C> {
        len: usize,
        sizes: S,
        consumer: C,
    }

    impl<T, S, C> ProducerCallback<T> for Callback<S, C>
    where
        S: Iterator<Item = usize>,
        C: UnindexedConsumer<T>,
    {
        type Output = C::Result;

        fn callback<P: Producer<Item = T>>(self, mut producer: P) -> C::Result {
            let Callback { mut len, mut sizes, consumer } = self;
            let mut done = None;
            while len > 0 && !consumer.full() {
                let size = sizes.next().map_or(len, |size| size.min(len));
                let (block, rest) = producer.split_at(size);
                (producer, len) = (rest, len - size);
                let reducer = consumer.to_reducer();
                let result = bridge_producer_lazily(size, block, consumer.split_off_left());
                done = Some(match done {
                    None => result,
                    Some(done) => reducer.reduce(done, result),
                });
            }
            drop(producer);
            match done {
                Some(done) => {
                    drop(consumer);
                    done
                }
                None => consumer.into_folder().complete(),
            }
        }
    }

    let len = base.len();
    base.with_producer(Callback { len, sizes, consumer })
}
