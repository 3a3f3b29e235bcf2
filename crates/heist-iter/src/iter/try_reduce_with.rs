//! `try_reduce_with`.

use super::ParallelIterator;
use super::plumbing::{Consumer, Folder, Reducer, UnindexedConsumer};
use super::try_kind::Try;
use super::try_reduce::{is_set, set};
use heist_sync::atomic::AtomicBool;
use std::ops::ControlFlow::{self, Break, Continue};

pub(super) fn try_reduce_with<I, R, T>(par_iter: I, op: R) -> Option<T>
where
    I: ParallelIterator<Item = T>,
    R: Fn(T::Output, T::Output) -> T + Sync,
    T: Try + Send,
{
    let failed = AtomicBool::new(false);
    par_iter.drive_unindexed(TryReduceWith { op: &op, failed: &failed })
}

/// Consumer and reducer in one.
struct TryReduceWith<'r, R> {
    op: &'r R,
    /// Whether some part has failed, so that the others may stop.
    failed: &'r AtomicBool,
}

impl<R> Clone for TryReduceWith<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for TryReduceWith<'_, R> {}

impl<'r, R, T> Consumer<T> for TryReduceWith<'r, R>
where
    R: Fn(T::Output, T::Output) -> T + Sync,
    T: Try + Send,
{
    type Folder = TryReduceWithFolder<'r, R, T>;
    type Reducer = Self;
    type Result = Option<T>;

    fn split_at(self, _index: usize) -> (Self, Self, Self) {
        (self, self, self)
    }

    fn into_folder(self) -> Self::Folder {
        TryReduceWithFolder { op: self.op, failed: self.failed, value: None }
    }

    fn full(&self) -> bool {
        is_set(self.failed)
    }
}

impl<R, T> UnindexedConsumer<T> for TryReduceWith<'_, R>
where
    R: Fn(T::Output, T::Output) -> T + Sync,
    T: Try + Send,
{
    const ANYWHERE: bool = true;

    fn split_off_left(&self) -> Self {
        *self
    }

    fn to_reducer(&self) -> Self {
        *self
    }
}

impl<R, T> Reducer<Option<T>> for TryReduceWith<'_, R>
where
    R: Fn(T::Output, T::Output) -> T + Sync,
    T: Try,
{
    fn reduce(self, left: Option<T>, right: Option<T>) -> Option<T> {
        let (left, right) = match (left, right) {
            (Some(left), Some(right)) => (left, right),
            (left, right) => return left.or(right),
        };
        Some(match (left.branch(), right.branch()) {
            (Continue(left), Continue(right)) => (self.op)(left, right),
            (Break(residual), unused) | (unused, Break(residual)) => {
                drop(unused);
                T::from_residual(residual)
            }
        })
    }
}

struct TryReduceWithFolder<'r, R, T: Try> {
    op: &'r R,
    failed: &'r AtomicBool,
    value: Option<ControlFlow<T::Residual, T::Output>>,
}

impl<R, T> Folder<T> for TryReduceWithFolder<'_, R, T>
where
    R: Fn(T::Output, T::Output) -> T,
    T: Try,
{
    type Result = Option<T>;

    fn consume(mut self, item: T) -> Self {
        let value = match (self.value, item.branch()) {
            (None, item) => item,
            (Some(Continue(left)), Continue(right)) => (self.op)(left, right).branch(),
            (Some(failure @ Break(_)), unused) | (Some(unused), failure) => {
                drop(unused);
                failure
            }
        };
        if value.is_break() {
            set(self.failed);
        }
        self.value = Some(value);
        self
    }

    fn complete(self) -> Option<T> {
        self.value.map(|value| match value {
            Continue(output) => T::from_output(output),
            Break(residual) => T::from_residual(residual),
        })
    }

    #[inline]
    fn full(&self) -> bool {
        matches!(self.value, Some(Break(_))) || is_set(self.failed)
    }
}
