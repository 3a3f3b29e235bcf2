//! What can go wrong with a tick.

use std::error;
use std::fmt;

/// What a tick of the parent process answers in a child.
pub(crate) const FORKED: &str = "the tick or its pool was made before fork(), and its threads do not exist in the child process; spawn \
                                 a new tick there, on a new pool or the global one";

/// Why a tick could not be spawned or rescheduled.
///
/// ```
/// use heist::tick::{self, Next};
/// use std::time::Duration;
///
/// let error = tick::every(Duration::ZERO).try_spawn(|_| Next::Continue).unwrap_err();
/// assert_eq!(error, tick::Error::ZeroPeriod);
/// assert!(error.to_string().contains("longer than zero"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The period is zero.
    ZeroPeriod,
    /// The pool is closed.
    PoolClosed,
    /// A tick that was not cancelled, or not to its end, cannot be rescheduled.
    NotCancelled,
    /// The machine has several nodes of memory, and none with this number.
    UnknownNode(usize),
    /// The tick or its pool was made before `fork()`: its threads do not exist in the child process.
    Forked,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownNode(number) => {
                return write!(
                    f,
                    "a tick is to run near node {number}, and this machine has no node of that number with a CPU; `heist doctor` lists \
                     those that it has"
                );
            }
            Self::Forked => FORKED,
            Self::ZeroPeriod => "a tick's period is zero; give it one that is longer than zero",
            Self::PoolClosed => {
                "the tick's pool is closed; spawn it on one that is open, such as the global pool"
            }
            Self::NotCancelled => {
                "the tick cannot be rescheduled, because it was not cancelled; call cancel_and_wait before"
            }
        })
    }
}

impl error::Error for Error {}

/// A closure that was not accepted, because its tick is over. It is given back.
///
/// ```
/// use heist::tick::{self, Next};
/// use std::time::Duration;
///
/// let tick = tick::every(Duration::from_secs(1)).spawn(|_| Next::Continue);
/// tick.cancel_and_wait();
/// let error = tick.submit(|| println!("hello")).unwrap_err();
/// assert!(error.to_string().contains("is over"));
/// error.into_inner()();
/// ```
pub struct SubmitError<F> {
    pub(crate) closure: F,
    /// The tick is the parent process's.
    pub(crate) is_foreign: bool,
}

impl<F> SubmitError<F> {
    /// The closure. See [`SubmitError`] for an example.
    pub fn into_inner(self) -> F {
        self.closure
    }
}

impl<F> fmt::Debug for SubmitError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubmitError").finish_non_exhaustive()
    }
}

impl<F> fmt::Display for SubmitError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.is_foreign {
            true => FORKED,
            false => "the closure was not accepted, because its tick is over; run it elsewhere, or reschedule the tick",
        })
    }
}

impl<F> error::Error for SubmitError<F> {}

/// A tick has ended because a run of it has panicked.
///
/// ```
/// use heist::tick::{self, Next};
/// use std::time::Duration;
///
/// let tick = tick::every(Duration::from_millis(1)).spawn(|_| -> Next { panic!("no luck") });
/// assert_eq!(tick.wait().unwrap_err().message(), "no luck");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panicked {
    pub(crate) message: String,
}

impl Panicked {
    /// What the panic said. See [`Panicked`] for an example.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the tick has panicked: {}", self.message)
    }
}

impl error::Error for Panicked {}
