//! Tasks with a name.

use super::cell::Tail;
use super::handle::JoinHandle;
use super::home::Home;
use super::{spawn, turn};
use std::future::Future;
use std::panic::Location;

/// Says more about a task before it is spawned.
///
/// ```
/// let handle = heist::task::Builder::new().name("answer").spawn(async { 42 });
/// assert_eq!(heist::block_on(handle).unwrap(), 42);
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a Builder does nothing until it spawns"]
pub struct Builder {
    pub(crate) name: Option<Box<str>>,
}

struct Name(Box<str>);

impl Tail for Name {
    fn name(&self) -> Option<&str> {
        Some(&self.0)
    }
}

impl Builder {
    /// Nothing said yet.
    ///
    /// ```
    /// let handle = heist::task::Builder::new().spawn(async {});
    /// heist::block_on(handle).unwrap();
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// What [`dump`](super::dump()) and [`dump_calls`](super::dump_calls()) show.
    ///
    /// ```
    /// let handle = heist::task::Builder::new().name("sleeper").spawn(std::future::pending::<()>());
    /// assert!(heist::task::dump().iter().any(|task| task.name() == Some("sleeper")));
    /// # drop(handle);
    /// ```
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into().into_boxed_str());
        self
    }

    /// As [`spawn`](super::spawn()).
    ///
    /// ```
    /// let handle = heist::task::Builder::new().name("n").spawn(async { 1 });
    /// assert_eq!(heist::block_on(handle).unwrap(), 1);
    /// ```
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.spawn_at(future, turn::home(), Location::caller())
    }

    /// As [`spawn_in`](super::spawn_in()).
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// let handle = heist::task::Builder::new().name("n").spawn_in(&pool, async { 1 });
    /// assert_eq!(heist::block_on(handle).unwrap(), 1);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[track_caller]
    pub fn spawn_in<F>(self, pool: &impl super::InPool, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.spawn_at(future, Home::of(pool.pool()), Location::caller())
    }

    fn spawn_at<F>(self, future: F, home: Home, site: &'static Location<'static>) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        match self.name {
            Some(name) => spawn::with_tail(future, Name(name), home, site),
            None => spawn::with_tail(future, (), home, site),
        }
    }
}
