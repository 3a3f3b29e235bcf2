//! Blocking calls and pinned futures by way of a [`Builder`] or a [`JoinSet`].

use super::{begin_blocking, begin_pinned};
use crate::task::{AbortHandle, Builder, JoinHandle, JoinSet, turn};
use std::future::Future;
use std::panic::Location;

impl Builder {
    /// As [`spawn_blocking`](crate::task::spawn_blocking()).
    ///
    /// ```
    /// let handle = heist::task::Builder::new().name("reader").spawn_blocking(|| 1);
    /// assert_eq!(heist::block_on(handle).unwrap(), 1);
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F, R>(self, f: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let name = self.name.clone();
        self.spawn(begin_blocking(f, Location::caller(), name))
    }

    /// As [`spawn_pinned`](crate::task::spawn_pinned()).
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
    #[track_caller]
    pub fn spawn_pinned<M, F>(self, make: M) -> std::io::Result<JoinHandle<F::Output>>
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future + 'static,
        F::Output: Send + 'static,
    {
        Ok(self.spawn(begin_pinned(make)?))
    }
}

impl<T> JoinSet<T> {
    /// Runs a closure that blocks, as [`spawn_blocking`](crate::task::spawn_blocking()) does, as a task of the set.
    ///
    /// ```
    /// let mut set = heist::task::JoinSet::new();
    /// set.spawn_blocking(|| std::fs::read("Cargo.toml"));
    /// let bytes = heist::block_on(set.join_next()).unwrap().unwrap();
    /// assert!(!bytes.unwrap().is_empty());
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F>(&mut self, f: F) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let site = Location::caller();
        self.add(begin_blocking(f, site, None), turn::home(), site)
    }
}
