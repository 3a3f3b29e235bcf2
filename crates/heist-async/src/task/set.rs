//! A set of tasks that are awaited in the order in which they end.

use super::cell::Tail;
use super::handle::{AbortHandle, JoinHandle};
use super::home::Home;
use super::{JoinError, spawn, turn};
use crate::budget;
use heist_pool::raw::job::{Payload, halt_unwinding};
use heist_sync::process::Origin;
use heist_sync::{Mutex, StdArc as Arc, lock};
use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::task::{Context, Poll, Waker, ready};

/// Tasks with the same kind of output, awaited as they end. Dropped, it aborts those that have not ended.
///
/// ```
/// use heist::task::JoinSet;
///
/// let sum = heist::block_on(async {
///     let mut set = JoinSet::new();
///     for i in 0..10 {
///         set.spawn(async move { i });
///     }
///     let mut sum = 0;
///     while let Some(result) = set.join_next().await {
///         sum += result.unwrap();
///     }
///     sum
/// });
/// assert_eq!(sum, 45);
/// ```
pub struct JoinSet<T> {
    /// By place; `None` if the place is free.
    handles: Vec<Option<JoinHandle<T>>>,
    free: Vec<u32>,
    ended: Arc<Ended>,
    /// The process in which its tasks are.
    origin: Origin,
}

/// The places of tasks that have ended and were not asked for yet.
struct Ended(Mutex<Ends>);

struct Ends {
    places: VecDeque<u32>,
    waiter: Option<Waker>,
}

struct Member {
    ended: Arc<Ended>,
    place: u32,
}

impl Tail for Member {
    const TELLS: bool = true;

    fn done(&self, home: Home, orphan: Option<Payload>) {
        let mut ends = lock(&self.ended.0);
        ends.places.push_back(self.place);
        let waiter = ends.waiter.take();
        drop(ends);
        let told = halt_unwinding(|| {
            if let Some(waiter) = waiter {
                waiter.wake();
            }
        });
        for payload in orphan.into_iter().chain(told.err()) {
            // SAFETY: it is there for as long as this call.
            unsafe { home.deliver_panic(payload) };
        }
    }
}

impl Ended {
    fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Ends { places: VecDeque::new(), waiter: None })))
    }
}

impl<T> JoinSet<T> {
    /// An empty set.
    ///
    /// ```
    /// let set = heist::task::JoinSet::<()>::new();
    /// assert!(set.is_empty());
    /// ```
    pub fn new() -> Self {
        Self { handles: Vec::new(), free: Vec::new(), ended: Ended::new(), origin: Origin::here() }
    }

    /// How many tasks are in the set, with those that have ended and were not asked for.
    ///
    /// ```
    /// let mut set = heist::task::JoinSet::new();
    /// set.spawn(async {});
    /// assert_eq!(set.len(), 1);
    /// ```
    pub fn len(&self) -> usize {
        self.handles.len() - self.free.len()
    }

    /// Whether it has no task.
    ///
    /// ```
    /// assert!(heist::task::JoinSet::<()>::new().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Aborts every task. They stay in the set, to be awaited.
    ///
    /// ```
    /// let mut set = heist::task::JoinSet::new();
    /// set.spawn(std::future::pending::<()>());
    /// set.abort_all();
    /// let result = heist::block_on(set.join_next()).unwrap();
    /// assert!(result.unwrap_err().is_cancelled());
    /// ```
    pub fn abort_all(&mut self) {
        self.handles.iter().flatten().for_each(JoinHandle::abort);
    }

    /// Takes every task out of the set and lets it run on its own.
    ///
    /// ```
    /// let mut set = heist::task::JoinSet::new();
    /// set.spawn(async {});
    /// set.detach_all();
    /// assert!(set.is_empty());
    /// ```
    pub fn detach_all(&mut self) {
        // Those who leave may still tell their places; nobody will look there.
        self.ended = Ended::new();
        self.free.clear();
        self.handles.clear();
    }

    /// Aborts every task and waits until all have ended. Panics are dropped.
    ///
    /// ```
    /// let mut set = heist::task::JoinSet::new();
    /// set.spawn(std::future::pending::<()>());
    /// heist::block_on(set.shutdown());
    /// assert!(set.is_empty());
    /// ```
    pub async fn shutdown(&mut self) {
        self.abort_all();
        while self.join_next().await.is_some() {}
    }

    /// Waits for the next task to end. `None` if the set is empty.
    ///
    /// Dropped before it is ready, it takes nothing out of the set.
    ///
    /// ```
    /// let mut set = heist::task::JoinSet::new();
    /// set.spawn(async { 1 });
    /// assert_eq!(heist::block_on(set.join_next()).unwrap().unwrap(), 1);
    /// assert!(heist::block_on(set.join_next()).is_none());
    /// ```
    pub async fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        poll_fn(|cx| self.poll_join_next(cx)).await
    }

    /// Waits for all tasks and gives their outputs, in the order in which they end.
    ///
    /// Dropped before it is ready, it aborts those that have not ended.
    ///
    /// # Panics
    /// If a task has panicked, that goes on here; if one was cancelled, it panics as well. The others are aborted.
    ///
    /// ```
    /// let set: heist::task::JoinSet<_> = (0..3).map(|i| async move { i * i }).collect();
    /// let mut squares = heist::block_on(set.join_all());
    /// squares.sort();
    /// assert_eq!(squares, [0, 1, 4]);
    /// ```
    pub async fn join_all(mut self) -> Vec<T> {
        let mut outputs = Vec::with_capacity(self.len());
        while let Some(result) = self.join_next().await {
            match result.map_err(JoinError::try_into_panic) {
                Ok(output) => outputs.push(output),
                Err(Ok(payload)) => std::panic::resume_unwind(payload),
                Err(Err(error)) => panic!("JoinSet::join_all: {error}"),
            }
        }
        outputs
    }

    /// As [`join_next`](Self::join_next), if a task has ended already.
    ///
    /// ```
    /// let mut set = heist::task::JoinSet::<()>::new();
    /// assert!(set.try_join_next().is_none());
    /// ```
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        if self.origin.is_foreign() {
            return self.take_foreign();
        }
        let place = lock(&self.ended.0).places.pop_front()?;
        Some(self.take(place))
    }

    /// As [`join_next`](Self::join_next), one poll of it.
    ///
    /// ```
    /// use std::task::{Context, Poll, Waker};
    ///
    /// let mut set = heist::task::JoinSet::<()>::new();
    /// assert!(matches!(set.poll_join_next(&mut Context::from_waker(Waker::noop())), Poll::Ready(None)));
    /// ```
    pub fn poll_join_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, JoinError>>> {
        if self.is_empty() {
            return Poll::Ready(None);
        }
        if self.origin.is_foreign() {
            return Poll::Ready(self.take_foreign());
        }
        let ends = lock(&self.ended.0);
        if ends.places.is_empty() {
            if ends.waiter.as_ref().is_some_and(|waiter| waiter.will_wake(cx.waker())) {
                return Poll::Pending;
            }
            // Foreign code does not run under our lock. LIVENESS: who ends meanwhile finds the old waiter or none, so we look
            // again after the new one is in place.
            drop(ends);
            let waiter = cx.waker().clone();
            let mut ends = lock(&self.ended.0);
            let old = ends.waiter.replace(waiter);
            let has_none = ends.places.is_empty();
            drop(ends);
            drop(old);
            if has_none {
                return Poll::Pending;
            }
        } else {
            drop(ends);
        }
        // Only now: a task may poll any number of sets in which nothing has ended.
        ready!(budget::poll_proceed(cx));
        // Nobody else takes from the set, so what was there still is.
        Poll::Ready(self.try_join_next())
    }

    /// The result of a task that has told its place.
    fn take(&mut self, place: u32) -> Result<T, JoinError> {
        let mut handle = self.handles[place as usize].take().expect("a place is told once");
        self.free.push(place);
        handle.try_take().expect("a task tells after it is done")
    }

    /// In a child process: a task's result, if it had one when the process forked, or an error.
    #[cold]
    fn take_foreign(&mut self) -> Option<Result<T, JoinError>> {
        let place = self.handles.iter().position(Option::is_some)?;
        let mut handle = self.handles[place].take()?;
        self.free.push(place as u32);
        Some(handle.try_take().unwrap_or_else(|| Err(handle.give_up())))
    }

    pub(crate) fn add<F>(&mut self, future: F, home: Home, site: &'static Location<'static>) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        if self.origin.is_foreign() {
            assert!(
                self.is_empty(),
                "this JoinSet has tasks that were spawned before fork() and go on in the parent process; make a new one in the child"
            );
            *self = Self::new();
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.handles.push(None);
            u32::try_from(self.handles.len() - 1).expect("fewer tasks than places for them")
        });
        let member = Member { ended: Arc::clone(&self.ended), place };
        let handle = spawn::with_tail(future, member, home, site);
        let abort = handle.abort_handle();
        self.handles[place as usize] = Some(handle);
        abort
    }

    /// As [`spawn`](Self::spawn), on behalf of somebody at `site`.
    pub(crate) fn spawn_at<F>(&mut self, future: F, site: &'static Location<'static>) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        self.add(future, turn::home(), site)
    }

    /// Spawns a task into the set, as [`spawn`](super::spawn()) does.
    ///
    /// ```
    /// let mut set = heist::task::JoinSet::new();
    /// let abort = set.spawn(std::future::pending::<()>());
    /// abort.abort();
    /// assert!(heist::block_on(set.join_next()).unwrap().is_err());
    /// ```
    #[track_caller]
    pub fn spawn<F>(&mut self, future: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        self.add(future, turn::home(), Location::caller())
    }

    /// Spawns a task into the set, as [`spawn_in`](super::spawn_in()) does.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// let mut set = heist::task::JoinSet::new();
    /// set.spawn_in(&pool, async { 1 });
    /// assert_eq!(heist::block_on(set.join_next()).unwrap().unwrap(), 1);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[track_caller]
    pub fn spawn_in<F>(&mut self, pool: &impl super::InPool, future: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        self.add(future, Home::of(pool.pool()), Location::caller())
    }
}

/// Spawns each future, as [`JoinSet::spawn`] does.
///
/// See [`JoinSet::join_all`] for an example.
impl<T, F> FromIterator<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = F>>(futures: I) -> Self {
        let site = Location::caller();
        let mut set = Self::new();
        for future in futures {
            set.spawn_at(future, site);
        }
        set
    }
}

impl<T> Default for JoinSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Drop for JoinSet<T> {
    fn drop(&mut self) {
        self.abort_all();
    }
}

impl<T> fmt::Debug for JoinSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinSet").field("len", &self.len()).finish()
    }
}
