//! Why a task has no output.

use super::Id;
use heist_pool::raw::job::Payload;
use std::error::Error;
use std::fmt;

/// Why a task has no output: it panicked, or it was cancelled; or it is the parent's, in a child process.
///
/// ```
/// let handle = heist::task::spawn(async {
///     if true {
///         panic!("no luck");
///     }
/// });
/// let error = heist::block_on(handle).unwrap_err();
/// assert!(error.is_panic());
/// assert_eq!(error.into_panic().downcast_ref::<&str>(), Some(&"no luck"));
/// ```
pub struct JoinError {
    id: Id,
    why: Why,
}

enum Why {
    Cancelled,
    Panicked(Unshared),
    /// It is a task of the parent process.
    Foreign,
}

/// A payload that is only given out by value.
struct Unshared(Payload);

// SAFETY: a shared `Unshared` lends its payload to nobody but `message`, which looks at strings and nothing else.
unsafe impl Sync for Unshared {}

impl Unshared {
    fn message(&self) -> Option<&str> {
        match self.0.downcast_ref::<&'static str>() {
            Some(message) => Some(message),
            None => self.0.downcast_ref::<String>().map(String::as_str),
        }
    }
}

impl JoinError {
    pub(super) fn cancelled(id: Id) -> Self {
        Self { id, why: Why::Cancelled }
    }

    pub(super) fn panicked(id: Id, payload: Payload) -> Self {
        Self { id, why: Why::Panicked(Unshared(payload)) }
    }

    pub(super) fn foreign(id: Id) -> Self {
        Self { id, why: Why::Foreign }
    }

    /// The task's id.
    ///
    /// ```
    /// let handle = heist::task::spawn(std::future::pending::<()>());
    /// let id = handle.id();
    /// handle.abort();
    /// assert_eq!(heist::block_on(handle).unwrap_err().id(), id);
    /// ```
    pub fn id(&self) -> Id {
        self.id
    }

    /// Whether it was aborted, or nobody was left who could have woken it.
    ///
    /// ```
    /// let handle = heist::task::spawn(std::future::pending::<()>());
    /// handle.abort();
    /// assert!(heist::block_on(handle).unwrap_err().is_cancelled());
    /// ```
    pub fn is_cancelled(&self) -> bool {
        matches!(self.why, Why::Cancelled)
    }

    /// Whether it is a task of the parent process, which had not ended when this one was made by `fork()`.
    ///
    /// ```
    /// let handle = heist::task::spawn(async { 1 });
    /// if let Err(error) = heist::block_on(handle) {
    ///     assert!(!error.is_foreign(), "nobody forks here");
    /// }
    /// ```
    pub fn is_foreign(&self) -> bool {
        matches!(self.why, Why::Foreign)
    }

    /// Whether it panicked.
    ///
    /// ```
    /// let handle = heist::task::spawn(async { assert_eq!(1, 2) });
    /// assert!(heist::block_on(handle).unwrap_err().is_panic());
    /// ```
    pub fn is_panic(&self) -> bool {
        matches!(self.why, Why::Panicked(_))
    }

    /// The panic's payload, for [`std::panic::resume_unwind`].
    ///
    /// # Panics
    /// If the task was cancelled.
    ///
    /// ```
    /// let handle = heist::task::spawn(async { std::panic::panic_any(7) });
    /// let payload = heist::block_on(handle).unwrap_err().into_panic();
    /// assert_eq!(payload.downcast_ref(), Some(&7));
    /// ```
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn std::any::Any + Send + 'static> {
        match self.try_into_panic() {
            Ok(payload) => payload,
            Err(error) => panic!("into_panic: {error}, so there is no payload"),
        }
    }

    /// The panic's payload, or the error itself if the task was cancelled.
    ///
    /// ```
    /// let handle = heist::task::spawn(std::future::pending::<()>());
    /// handle.abort();
    /// let error = heist::block_on(handle).unwrap_err();
    /// assert!(error.try_into_panic().is_err());
    /// ```
    pub fn try_into_panic(self) -> Result<Box<dyn std::any::Any + Send + 'static>, Self> {
        match self.why {
            Why::Panicked(payload) => Ok(payload.0),
            Why::Cancelled | Why::Foreign => Err(self),
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id;
        match &self.why {
            Why::Cancelled => write!(f, "task {id} was cancelled"),
            Why::Foreign => write!(
                f,
                "task {id} was spawned before fork() and goes on in the parent process; spawn it anew in the child"
            ),
            Why::Panicked(payload) => match payload.message() {
                Some(message) => write!(f, "task {id} panicked: {message}"),
                None => write!(f, "task {id} panicked"),
            },
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            Why::Cancelled => write!(f, "JoinError::Cancelled({})", self.id),
            Why::Foreign => write!(f, "JoinError::Foreign({}, spawned before fork())", self.id),
            Why::Panicked(payload) => write!(f, "JoinError::Panic({}, {:?})", self.id, payload.message()),
        }
    }
}

impl Error for JoinError {}

impl From<JoinError> for std::io::Error {
    fn from(error: JoinError) -> Self {
        Self::other(error)
    }
}
