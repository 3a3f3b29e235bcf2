//! `fold` and `fold_with`.

use super::ParallelIterator;
use super::plumbing::{Consumer, Folder, UnindexedConsumer};

/// What [`fold`](ParallelIterator::fold) returns.
///
/// ```
/// # use heist::prelude::*;
/// let sum: i32 = (0..5).into_par_iter().fold(|| 0, |sum, n| sum + n).sum();
/// assert_eq!(sum, 10);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Clone)]
pub struct Fold<I, ID, F> {
    base: I,
    identity: ID,
    fold_op: F,
}

impl_debug!(Fold<I, ID, F>);

impl<I, ID, F> Fold<I, ID, F> {
    pub(super) fn new(base: I, identity: ID, fold_op: F) -> Self {
        Fold { base, identity, fold_op }
    }
}

impl<T, I, ID, F> ParallelIterator for Fold<I, ID, F>
where
    I: ParallelIterator,
    F: Fn(T, I::Item) -> T + Sync + Send,
    ID: Fn() -> T + Sync + Send,
    T: Send,
{
    type Item = T;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<T>>(self, consumer: C) -> C::Result {
        self.base.drive_unindexed(FoldConsumer {
            base: consumer,
            identity: &self.identity,
            fold_op: &self.fold_op,
        })
    }
}

struct FoldConsumer<'c, C, ID, F> {
    base: C,
    identity: &'c ID,
    fold_op: &'c F,
}

impl<'c, T, U, C, ID, F> Consumer<T> for FoldConsumer<'c, C, ID, F>
where
    C: Consumer<U>,
    F: Fn(U, T) -> U + Sync,
    ID: Fn() -> U + Sync,
{
    type Folder = FoldFolder<'c, C::Folder, U, F>;
    type Reducer = C::Reducer;
    type Result = C::Result;

    fn split_at(self, index: usize) -> (Self, Self, C::Reducer) {
        let (left, right, reducer) = self.base.split_at(index);
        (FoldConsumer { base: left, ..self }, FoldConsumer { base: right, ..self }, reducer)
    }

    fn into_folder(self) -> Self::Folder {
        FoldFolder { base: self.base.into_folder(), value: (self.identity)(), fold_op: self.fold_op }
    }

    fn full(&self) -> bool {
        self.base.full()
    }
}

impl<T, U, C, ID, F> UnindexedConsumer<T> for FoldConsumer<'_, C, ID, F>
where
    C: UnindexedConsumer<U>,
    F: Fn(U, T) -> U + Sync,
    ID: Fn() -> U + Sync,
{
    const ANYWHERE: bool = C::ANYWHERE;

    fn split_off_left(&self) -> Self {
        FoldConsumer { base: self.base.split_off_left(), ..*self }
    }

    fn to_reducer(&self) -> C::Reducer {
        self.base.to_reducer()
    }
}

/// Folds a stretch into a value, and hands that on when it ends.
struct FoldFolder<'c, B, U, F> {
    base: B,
    value: U,
    fold_op: &'c F,
}

impl<T, U, B, F> Folder<T> for FoldFolder<'_, B, U, F>
where
    B: Folder<U>,
    F: Fn(U, T) -> U,
{
    type Result = B::Result;

    #[inline]
    fn consume(self, item: T) -> Self {
        FoldFolder { value: (self.fold_op)(self.value, item), ..self }
    }

    #[inline]
    fn consume_iter<I: IntoIterator<Item = T>>(self, iter: I) -> Self {
        let FoldFolder { base, mut value, fold_op } = self;
        for item in iter {
            value = fold_op(value, item);
            if base.full() {
                break;
            }
        }
        FoldFolder { base, value, fold_op }
    }

    fn complete(self) -> B::Result {
        self.base.consume(self.value).complete()
    }

    #[inline]
    fn full(&self) -> bool {
        self.base.full()
    }
}

/// What [`fold_with`](ParallelIterator::fold_with) returns.
///
/// ```
/// # use heist::prelude::*;
/// let sum: i32 = (0..5).into_par_iter().fold_with(0, |sum, n| sum + n).sum();
/// assert_eq!(sum, 10);
/// ```
#[must_use = "iterators do nothing until they are driven"]
#[derive(Clone)]
pub struct FoldWith<I, U, F> {
    base: I,
    init: U,
    fold_op: F,
}

impl_debug!(FoldWith<I, U, F>);

impl<I, U, F> FoldWith<I, U, F> {
    pub(super) fn new(base: I, init: U, fold_op: F) -> Self {
        FoldWith { base, init, fold_op }
    }
}

impl<U, I, F> ParallelIterator for FoldWith<I, U, F>
where
    I: ParallelIterator,
    F: Fn(U, I::Item) -> U + Sync + Send,
    U: Send + Clone,
{
    type Item = U;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<U>>(self, consumer: C) -> C::Result {
        self.base.drive_unindexed(FoldWithConsumer {
            base: consumer,
            init: self.init,
            fold_op: &self.fold_op,
        })
    }
}

struct FoldWithConsumer<'c, C, U, F> {
    base: C,
    init: U,
    fold_op: &'c F,
}

impl<'c, T, U, C, F> Consumer<T> for FoldWithConsumer<'c, C, U, F>
where
    C: Consumer<U>,
    F: Fn(U, T) -> U + Sync,
    U: Send + Clone,
{
    type Folder = FoldFolder<'c, C::Folder, U, F>;
    type Reducer = C::Reducer;
    type Result = C::Result;

    fn split_at(self, index: usize) -> (Self, Self, C::Reducer) {
        let (left, right, reducer) = self.base.split_at(index);
        let init = self.init.clone();
        (FoldWithConsumer { base: left, init, ..self }, FoldWithConsumer { base: right, ..self }, reducer)
    }

    fn into_folder(self) -> Self::Folder {
        FoldFolder { base: self.base.into_folder(), value: self.init, fold_op: self.fold_op }
    }

    fn full(&self) -> bool {
        self.base.full()
    }
}

impl<T, U, C, F> UnindexedConsumer<T> for FoldWithConsumer<'_, C, U, F>
where
    C: UnindexedConsumer<U>,
    F: Fn(U, T) -> U + Sync,
    U: Send + Clone,
{
    const ANYWHERE: bool = C::ANYWHERE;

    fn split_off_left(&self) -> Self {
        FoldWithConsumer { base: self.base.split_off_left(), init: self.init.clone(), fold_op: self.fold_op }
    }

    fn to_reducer(&self) -> C::Reducer {
        self.base.to_reducer()
    }
}
