//! `try_reduce`.

use super::ParallelIterator;
use super::plumbing::{Consumer, Folder, Reducer, UnindexedConsumer};
use super::try_kind::Try;
use heist_sync::atomic::{AtomicBool, Ordering};
use std::ops::ControlFlow::{self, Break, Continue};

pub(super) fn try_reduce<I, ID, R, T>(par_iter: I, identity: ID, op: R) -> T
where
    I: ParallelIterator<Item = T>,
    ID: Fn() -> T::Output + Sync,
    R: Fn(T::Output, T::Output) -> T + Sync,
    T: Try + Send,
{
    let failed = AtomicBool::new(false);
    par_iter.drive_unindexed(TryReduce { identity: &identity, op: &op, failed: &failed })
}

/// Consumer and reducer in one.
struct TryReduce<'r, ID, R> {
    identity: &'r ID,
    op: &'r R,
    /// Whether some part has failed, so that the others may stop.
    failed: &'r AtomicBool,
}

impl<ID, R> Clone for TryReduce<'_, ID, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<ID, R> Copy for TryReduce<'_, ID, R> {}

impl<'r, ID, R, T> Consumer<T> for TryReduce<'r, ID, R>
where
    ID: Fn() -> T::Output + Sync,
    R: Fn(T::Output, T::Output) -> T + Sync,
    T: Try + Send,
{
    type Folder = TryReduceFolder<'r, R, T>;
    type Reducer = Self;
    type Result = T;

    fn split_at(self, _index: usize) -> (Self, Self, Self) {
        (self, self, self)
    }

    fn into_folder(self) -> Self::Folder {
        TryReduceFolder { op: self.op, failed: self.failed, value: Continue((self.identity)()) }
    }

    fn full(&self) -> bool {
        is_set(self.failed)
    }
}

impl<ID, R, T> UnindexedConsumer<T> for TryReduce<'_, ID, R>
where
    ID: Fn() -> T::Output + Sync,
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

impl<ID, R, T> Reducer<T> for TryReduce<'_, ID, R>
where
    R: Fn(T::Output, T::Output) -> T + Sync,
    T: Try,
{
    fn reduce(self, left: T, right: T) -> T {
        match (left.branch(), right.branch()) {
            (Continue(left), Continue(right)) => (self.op)(left, right),
            (Break(residual), unused) | (unused, Break(residual)) => {
                drop(unused);
                T::from_residual(residual)
            }
        }
    }
}

struct TryReduceFolder<'r, R, T: Try> {
    op: &'r R,
    failed: &'r AtomicBool,
    value: ControlFlow<T::Residual, T::Output>,
}

impl<R, T> Folder<T> for TryReduceFolder<'_, R, T>
where
    R: Fn(T::Output, T::Output) -> T,
    T: Try,
{
    type Result = T;

    fn consume(mut self, item: T) -> Self {
        if let Continue(left) = self.value {
            self.value = match item.branch() {
                Continue(right) => (self.op)(left, right).branch(),
                failure => failure,
            };
            if self.value.is_break() {
                set(self.failed);
            }
        }
        self
    }

    fn complete(self) -> T {
        match self.value {
            Continue(output) => T::from_output(output),
            Break(residual) => T::from_residual(residual),
        }
    }

    #[inline]
    fn full(&self) -> bool {
        self.value.is_break() || is_set(self.failed)
    }
}

/// Tells the other parts to stop.
pub(super) fn set(failed: &AtomicBool) {
    // ORDERING: Relaxed: a flag that publishes nothing; the failure itself travels with the part's result.
    failed.store(true, Ordering::Relaxed);
}

#[inline]
pub(super) fn is_set(failed: &AtomicBool) -> bool {
    // ORDERING: Relaxed: see `set`.
    failed.load(Ordering::Relaxed)
}
