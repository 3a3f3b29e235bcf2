//! Several tasks that succeed or fail together.

use crate::task::{AbortHandle, JoinSet};
use heist_sync::process::Origin;
use heist_sync::{Mutex, MutexGuard, StdArc as Arc, lock};
use std::fmt;
use std::future::Future;
use std::panic::Location;

/// Tasks of which the first error cancels the rest. In `heist` it needs the feature `async`, which is on by default.
///
/// [`wait`](Self::wait) gives that error once all have ended, or `Ok`. Dropping the group cancels what still runs.
///
/// The error cancels the others at once, not only when somebody waits.
///
/// ```
/// use heist::TaskGroup;
///
/// let result = heist::block_on(async {
///     let mut group = TaskGroup::new().limit(2);
///     for n in 0..10 {
///         group.spawn(async move { if n == 7 { Err("seven") } else { Ok(()) } }).await;
///     }
///     group.wait().await
/// });
/// assert_eq!(result, Err("seven"));
/// ```
pub struct TaskGroup<E> {
    set: JoinSet<()>,
    limit: usize,
    shared: Arc<Mutex<Shared<E>>>,
    /// The process in which its tasks are.
    origin: Origin,
}

struct Shared<E> {
    error: Option<E>,
    failed: bool,
    /// To cancel all of them from within one that fails.
    aborts: Vec<AbortHandle>,
}

impl<E> Default for TaskGroup<E> {
    fn default() -> Self {
        let shared = Shared { error: None, failed: false, aborts: Vec::new() };
        let shared = Arc::new(Mutex::new(shared));
        Self { set: JoinSet::new(), limit: usize::MAX, shared, origin: Origin::here() }
    }
}

impl<E: Send + 'static> TaskGroup<E> {
    /// A group without tasks and without a limit.
    ///
    /// ```
    /// let group = heist::TaskGroup::<()>::new();
    /// assert!(heist::block_on(group.wait()).is_ok());
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// At most `n` tasks run at a time; [`spawn`](Self::spawn) waits for one to end if there are as many.
    ///
    /// # Panics
    /// If `n` is 0: nothing could ever be spawned.
    ///
    /// ```
    /// use heist::{TaskGroup, time};
    /// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    ///
    /// static RUNNING: AtomicUsize = AtomicUsize::new(0);
    /// heist::block_on(async {
    ///     let mut group = TaskGroup::<()>::new().limit(3);
    ///     for _ in 0..10 {
    ///         let task = async {
    ///             assert!(RUNNING.fetch_add(1, Relaxed) < 3);
    ///             time::sleep(time::Duration::from_millis(1)).await;
    ///             RUNNING.fetch_sub(1, Relaxed);
    ///             Ok(())
    ///         };
    ///         group.spawn(task).await;
    ///     }
    ///     group.wait().await
    /// })
    /// .unwrap();
    /// ```
    #[must_use]
    pub fn limit(mut self, n: usize) -> Self {
        assert!(n > 0, "TaskGroup::limit(0) would never let a task run; give at least 1");
        self.limit = n;
        self
    }

    /// Whether a task has failed: the others are being cancelled, and new ones are not started.
    ///
    /// ```
    /// let mut group = heist::TaskGroup::<()>::new();
    /// assert!(!group.has_failed());
    /// ```
    pub fn has_failed(&self) -> bool {
        self.shared().failed
    }

    /// Runs `future` as a task of the group, once there is room for it. After a failure it is dropped instead.
    ///
    /// # Panics
    /// If a task of the group has panicked, that goes on here or in [`wait`](Self::wait), after the others have ended.
    ///
    /// ```
    /// let mut group = heist::TaskGroup::<std::num::ParseIntError>::new();
    /// heist::block_on(async {
    ///     for text in ["1", "2"] {
    ///         group.spawn(async { text.parse::<i32>().map(drop) }).await;
    ///     }
    ///     group.wait().await
    /// })
    /// .unwrap();
    /// ```
    #[track_caller]
    pub fn spawn<F>(&mut self, future: F) -> impl Future<Output = ()> + use<'_, E, F>
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
    {
        let site = Location::caller();
        async move {
            while self.set.len() >= self.limit {
                self.one_ends().await;
            }
            if self.has_failed() {
                return;
            }
            let shared = Arc::clone(&self.shared);
            let task = async move {
                if let Err(error) = future.await {
                    fail(&shared, Some(error));
                }
            };
            let abort = self.set.spawn_at(task, site);
            let mut shared = self.shared();
            if shared.failed {
                // It has failed meanwhile, and could not see this one.
                drop(shared);
                abort.abort();
            } else {
                if shared.aborts.len() == shared.aborts.capacity() {
                    shared.aborts.retain(|abort| !abort.is_finished());
                }
                shared.aborts.push(abort);
            }
        }
    }

    /// Waits for any of the tasks.
    /// # Panics
    /// In a child process: its tasks are the parent's, and may have had the lock.
    fn shared(&self) -> MutexGuard<'_, Shared<E>> {
        assert!(
            !self.origin.is_foreign(),
            "this TaskGroup was made before fork(), and its tasks go on in the parent process; make a new one in the child"
        );
        lock(&self.shared)
    }

    async fn one_ends(&mut self) {
        if let Some(Err(error)) = self.set.join_next().await
            && let Ok(payload) = error.try_into_panic()
        {
            self.set.shutdown().await;
            std::panic::resume_unwind(payload);
        }
    }

    /// Waits until every task has ended, and gives the first error.
    ///
    /// # Errors
    /// The first error of a task.
    ///
    /// # Panics
    /// As [`spawn`](Self::spawn).
    ///
    /// ```
    /// let mut group = heist::TaskGroup::new();
    /// let result = heist::block_on(async {
    ///     // It would never end by itself.
    ///     group.spawn(std::future::pending()).await;
    ///     group.spawn(async { Err("no luck") }).await;
    ///     group.wait().await
    /// });
    /// assert_eq!(result, Err("no luck"));
    /// ```
    pub async fn wait(mut self) -> Result<(), E> {
        while !self.set.is_empty() {
            self.one_ends().await;
        }
        let error = self.shared().error.take();
        error.map_or(Ok(()), Err)
    }
}

/// Cancels all tasks of the group. The first error is kept.
fn fail<E>(shared: &Mutex<Shared<E>>, error: Option<E>) {
    let mut shared = lock(shared);
    let late = if shared.failed { error } else { std::mem::replace(&mut shared.error, error) };
    shared.failed = true;
    let aborts = std::mem::take(&mut shared.aborts);
    drop(shared);
    for abort in &aborts {
        abort.abort();
    }
    // The user's drop, so outside of the lock.
    drop(late);
}

impl<E> fmt::Debug for TaskGroup<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskGroup").field("tasks", &self.set.len()).finish_non_exhaustive()
    }
}
