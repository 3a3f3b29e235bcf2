//! `try_fold` and `try_fold_with`.

use super::ParallelIterator;
use super::plumbing::{Consumer, Folder, UnindexedConsumer};
use super::try_kind::Try;
use std::marker::PhantomData;
use std::ops::ControlFlow::{self, Break, Continue};

/// What [`try_fold`](ParallelIterator::try_fold) returns.
///
/// ```
/// # use heist::prelude::*;
/// let sums = (0..5u8).into_par_iter().try_fold(|| 0u8, |sum, n| sum.checked_add(n));
/// assert_eq!(sums.try_reduce(|| 0, |a, b| a.checked_add(b)), Some(10));
/// ```
#[must_use = "iterators do nothing until they are driven"]
pub struct TryFold<I, U, ID, F> {
    base: I,
    identity: ID,
    fold_op: F,
    marker: PhantomData<U>,
}

impl_debug!(TryFold<I, U, ID, F>);

impl<I: Clone, U, ID: Clone, F: Clone> Clone for TryFold<I, U, ID, F> {
    fn clone(&self) -> Self {
        TryFold::new(self.base.clone(), self.identity.clone(), self.fold_op.clone())
    }
}

impl<I, U, ID, F> TryFold<I, U, ID, F> {
    pub(super) fn new(base: I, identity: ID, fold_op: F) -> Self {
        TryFold { base, identity, fold_op, marker: PhantomData }
    }
}

impl<U, I, ID, F> ParallelIterator for TryFold<I, U, ID, F>
where
    I: ParallelIterator,
    F: Fn(U::Output, I::Item) -> U + Sync + Send,
    ID: Fn() -> U::Output + Sync + Send,
    U: Try + Send,
{
    type Item = U;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<U>>(self, consumer: C) -> C::Result {
        self.base.drive_unindexed(TryFoldConsumer {
            base: consumer,
            identity: &self.identity,
            fold_op: &self.fold_op,
            marker: PhantomData,
        })
    }
}

struct TryFoldConsumer<'c, U, C, ID, F> {
    base: C,
    identity: &'c ID,
    fold_op: &'c F,
    marker: PhantomData<fn() -> U>,
}

impl<'c, T, U, C, ID, F> Consumer<T> for TryFoldConsumer<'c, U, C, ID, F>
where
    C: Consumer<U>,
    F: Fn(U::Output, T) -> U + Sync,
    ID: Fn() -> U::Output + Sync,
    U: Try + Send,
{
    type Folder = TryFoldFolder<'c, C::Folder, U, F>;
    type Reducer = C::Reducer;
    type Result = C::Result;

    fn split_at(self, index: usize) -> (Self, Self, C::Reducer) {
        let (left, right, reducer) = self.base.split_at(index);
        (TryFoldConsumer { base: left, ..self }, TryFoldConsumer { base: right, ..self }, reducer)
    }

    fn into_folder(self) -> Self::Folder {
        TryFoldFolder {
            base: self.base.into_folder(),
            value: Continue((self.identity)()),
            fold_op: self.fold_op,
        }
    }

    fn full(&self) -> bool {
        self.base.full()
    }
}

impl<T, U, C, ID, F> UnindexedConsumer<T> for TryFoldConsumer<'_, U, C, ID, F>
where
    C: UnindexedConsumer<U>,
    F: Fn(U::Output, T) -> U + Sync,
    ID: Fn() -> U::Output + Sync,
    U: Try + Send,
{
    const ANYWHERE: bool = C::ANYWHERE;

    fn split_off_left(&self) -> Self {
        TryFoldConsumer { base: self.base.split_off_left(), ..*self }
    }

    fn to_reducer(&self) -> C::Reducer {
        self.base.to_reducer()
    }
}

/// Folds a stretch until it ends or fails, and hands the outcome on.
struct TryFoldFolder<'c, B, U: Try, F> {
    base: B,
    value: ControlFlow<U::Residual, U::Output>,
    fold_op: &'c F,
}

impl<T, U, B, F> Folder<T> for TryFoldFolder<'_, B, U, F>
where
    B: Folder<U>,
    F: Fn(U::Output, T) -> U,
    U: Try,
{
    type Result = B::Result;

    #[inline]
    fn consume(self, item: T) -> Self {
        match self.value {
            Continue(value) => TryFoldFolder { value: (self.fold_op)(value, item).branch(), ..self },
            Break(_) => {
                drop(item);
                self
            }
        }
    }

    fn complete(self) -> B::Result {
        let outcome = match self.value {
            Continue(value) => U::from_output(value),
            Break(residual) => U::from_residual(residual),
        };
        self.base.consume(outcome).complete()
    }

    #[inline]
    fn full(&self) -> bool {
        self.value.is_break() || self.base.full()
    }
}

/// What [`try_fold_with`](ParallelIterator::try_fold_with) returns.
///
/// ```
/// # use heist::prelude::*;
/// let sums = (0..5u8).into_par_iter().try_fold_with(0u8, |sum, n| sum.checked_add(n));
/// assert_eq!(sums.try_reduce(|| 0, |a, b| a.checked_add(b)), Some(10));
/// ```
#[must_use = "iterators do nothing until they are driven"]
pub struct TryFoldWith<I, U: Try, F> {
    base: I,
    init: U::Output,
    fold_op: F,
}

impl<I: std::fmt::Debug, U: Try, F> std::fmt::Debug for TryFoldWith<I, U, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TryFoldWith").field("base", &self.base).finish_non_exhaustive()
    }
}

impl<I: Clone, U: Try<Output: Clone>, F: Clone> Clone for TryFoldWith<I, U, F> {
    fn clone(&self) -> Self {
        TryFoldWith { base: self.base.clone(), init: self.init.clone(), fold_op: self.fold_op.clone() }
    }
}

impl<I, U: Try, F> TryFoldWith<I, U, F> {
    pub(super) fn new(base: I, init: U::Output, fold_op: F) -> Self {
        TryFoldWith { base, init, fold_op }
    }
}

impl<U, I, F> ParallelIterator for TryFoldWith<I, U, F>
where
    I: ParallelIterator,
    F: Fn(U::Output, I::Item) -> U + Sync + Send,
    U: Try<Output: Clone + Send> + Send,
{
    type Item = U;
    const IS_UNCOUNTED: bool = true;

    fn drive_unindexed<C: UnindexedConsumer<U>>(self, consumer: C) -> C::Result {
        self.base.drive_unindexed(TryFoldWithConsumer {
            base: consumer,
            init: self.init,
            fold_op: &self.fold_op,
        })
    }
}

struct TryFoldWithConsumer<'c, U: Try, C, F> {
    base: C,
    init: U::Output,
    fold_op: &'c F,
}

impl<'c, T, U, C, F> Consumer<T> for TryFoldWithConsumer<'c, U, C, F>
where
    C: Consumer<U>,
    F: Fn(U::Output, T) -> U + Sync,
    U: Try<Output: Clone + Send> + Send,
{
    type Folder = TryFoldFolder<'c, C::Folder, U, F>;
    type Reducer = C::Reducer;
    type Result = C::Result;

    fn split_at(self, index: usize) -> (Self, Self, C::Reducer) {
        let (left, right, reducer) = self.base.split_at(index);
        let init = self.init.clone();
        (
            TryFoldWithConsumer { base: left, init, ..self },
            TryFoldWithConsumer { base: right, ..self },
            reducer,
        )
    }

    fn into_folder(self) -> Self::Folder {
        TryFoldFolder { base: self.base.into_folder(), value: Continue(self.init), fold_op: self.fold_op }
    }

    fn full(&self) -> bool {
        self.base.full()
    }
}

impl<T, U, C, F> UnindexedConsumer<T> for TryFoldWithConsumer<'_, U, C, F>
where
    C: UnindexedConsumer<U>,
    F: Fn(U::Output, T) -> U + Sync,
    U: Try<Output: Clone + Send> + Send,
{
    const ANYWHERE: bool = C::ANYWHERE;

    fn split_off_left(&self) -> Self {
        TryFoldWithConsumer {
            base: self.base.split_off_left(),
            init: self.init.clone(),
            fold_op: self.fold_op,
        }
    }

    fn to_reducer(&self) -> C::Reducer {
        self.base.to_reducer()
    }
}
