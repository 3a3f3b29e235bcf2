//! `sum`.

use super::ParallelIterator;
use super::total::{Total, total};
use std::iter::Sum;

pub(super) fn sum<I, S>(par_iter: I) -> S
where
    I: ParallelIterator,
    S: Send + Sum<I::Item> + Sum<S>,
{
    total::<Adding, I, S>(par_iter)
}

struct Adding;

impl<T, S: Sum<T>> Total<T, S> for Adding {
    #[inline]
    fn of(items: impl Iterator<Item = T>) -> S {
        items.sum()
    }
}
