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
    name: Option<Box<str>>,
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

    /// As [`spawn_blocking`](super::spawn_blocking()).
    ///
    /// ```
    /// let handle = heist::task::Builder::new().name("reader").spawn_blocking(|| 1);
    /// assert_eq!(heist::block_on(handle).unwrap(), 1);
    /// ```
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    #[track_caller]
    pub fn spawn_blocking<F, R>(self, f: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let name = self.name.clone();
        self.spawn(crate::offload::begin_blocking(f, Location::caller(), name))
    }

    /// As [`spawn_pinned`](super::spawn_pinned()).
    ///
    /// # Errors
    /// If the thread cannot be started.
    ///
    /// ```
    /// let handle = heist::task::Builder::new().name("window").spawn_pinned(|| async {
    ///     *std::rc::Rc::new(1)
    /// })?;
    /// assert_eq!(heist::block_on(handle).unwrap(), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    #[track_caller]
    pub fn spawn_pinned<M, F>(self, make: M) -> std::io::Result<JoinHandle<F::Output>>
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future + 'static,
        F::Output: Send + 'static,
    {
        Ok(self.spawn(crate::offload::begin_pinned(make)?))
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
