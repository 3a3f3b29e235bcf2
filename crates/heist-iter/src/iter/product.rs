//! `product`.

use super::ParallelIterator;
use super::total::{Total, total};
use std::iter::Product;

pub(super) fn product<I, S>(par_iter: I) -> S
where
    I: ParallelIterator,
    S: Send + Product<I::Item> + Product<S>,
{
    total::<Multiplying, I, S>(par_iter)
}

struct Multiplying;

impl<T, S: Product<T>> Total<T, S> for Multiplying {
    #[inline]
    fn of(items: impl Iterator<Item = T>) -> S {
        items.product()
    }
}
