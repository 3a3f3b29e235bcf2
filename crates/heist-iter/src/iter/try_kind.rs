//! What the `try_` methods accept: the types that `?` works on.

use crate::private::Sealed;
use std::convert::Infallible;
use std::ops::ControlFlow::{self, Break, Continue};
use std::task::Poll;

/// Stands in for [`std::ops::Try`], which is not stable. Users cannot name or implement it.
#[allow(unreachable_pub, reason = "a bound of public methods")]
pub trait Try: Sealed {
    /// What a success carries.
    type Output;

    /// What a failure carries.
    type Residual;

    fn from_output(output: Self::Output) -> Self;

    fn from_residual(residual: Self::Residual) -> Self;

    fn branch(self) -> ControlFlow<Self::Residual, Self::Output>;
}

impl<B, C> Sealed for ControlFlow<B, C> {}

impl<B, C> Try for ControlFlow<B, C> {
    type Output = C;
    type Residual = ControlFlow<B, Infallible>;

    fn from_output(output: C) -> Self {
        Continue(output)
    }

    fn from_residual(residual: Self::Residual) -> Self {
        let Break(value) = residual;
        Break(value)
    }

    fn branch(self) -> ControlFlow<Self::Residual, C> {
        match self {
            Continue(output) => Continue(output),
            Break(value) => Break(Break(value)),
        }
    }
}

impl<T> Sealed for Option<T> {}

impl<T> Try for Option<T> {
    type Output = T;
    type Residual = Option<Infallible>;

    fn from_output(output: T) -> Self {
        Some(output)
    }

    fn from_residual(_: Self::Residual) -> Self {
        None
    }

    fn branch(self) -> ControlFlow<Self::Residual, T> {
        match self {
            Some(output) => Continue(output),
            None => Break(None),
        }
    }
}

impl<T, E> Sealed for Result<T, E> {}

impl<T, E> Try for Result<T, E> {
    type Output = T;
    type Residual = Result<Infallible, E>;

    fn from_output(output: T) -> Self {
        Ok(output)
    }

    fn from_residual(residual: Self::Residual) -> Self {
        let Err(error) = residual;
        Err(error)
    }

    fn branch(self) -> ControlFlow<Self::Residual, T> {
        match self {
            Ok(output) => Continue(output),
            Err(error) => Break(Err(error)),
        }
    }
}

impl<T, E> Sealed for Poll<Result<T, E>> {}

impl<T, E> Try for Poll<Result<T, E>> {
    type Output = Poll<T>;
    type Residual = Result<Infallible, E>;

    fn from_output(output: Poll<T>) -> Self {
        output.map(Ok)
    }

    fn from_residual(residual: Self::Residual) -> Self {
        let Err(error) = residual;
        Poll::Ready(Err(error))
    }

    fn branch(self) -> ControlFlow<Self::Residual, Poll<T>> {
        match self {
            Poll::Pending => Continue(Poll::Pending),
            Poll::Ready(Ok(output)) => Continue(Poll::Ready(output)),
            Poll::Ready(Err(error)) => Break(Err(error)),
        }
    }
}

impl<T, E> Sealed for Poll<Option<Result<T, E>>> {}

impl<T, E> Try for Poll<Option<Result<T, E>>> {
    type Output = Poll<Option<T>>;
    type Residual = Result<Infallible, E>;

    fn from_output(output: Poll<Option<T>>) -> Self {
        output.map(|item| item.map(Ok))
    }

    fn from_residual(residual: Self::Residual) -> Self {
        let Err(error) = residual;
        Poll::Ready(Some(Err(error)))
    }

    fn branch(self) -> ControlFlow<Self::Residual, Poll<Option<T>>> {
        match self {
            Poll::Pending => Continue(Poll::Pending),
            Poll::Ready(None) => Continue(Poll::Ready(None)),
            Poll::Ready(Some(Ok(output))) => Continue(Poll::Ready(Some(output))),
            Poll::Ready(Some(Err(error))) => Break(Err(error)),
        }
    }
}
