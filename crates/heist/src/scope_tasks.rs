//! Tasks of a scope.

use heist_async::task::{AbortHandle, spawn_scoped_raw};
use heist_fork::raw::{AnyScope, Attached, Base};
use heist_fork::{Scope, ScopeFifo};

/// Tasks in a [`scope`](crate::scope), as [`Scope::spawn`] spawns jobs. Also in the [`prelude`](crate::prelude).
///
/// Needs the feature `async`, which is on by default.
///
/// ```
/// use heist::SpawnTask;
///
/// let words = ["steal", "half"];
/// let mut letters = 0;
/// heist::scope(|s| s.spawn_task(async { letters = words.iter().map(|w| w.len()).sum() }));
/// assert_eq!(letters, 9);
/// ```
pub trait SpawnTask<'scope>: AnyScope<'scope> {
    /// Spawns an async task that may borrow from outside of the scope. The scope waits for it.
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut n = 0;
    /// heist::scope_fifo(|s| s.spawn_task(async { n += 1 }));
    /// assert_eq!(n, 1);
    /// ```
    ///
    /// # Panics
    /// A panic of the task goes on where the scope was opened. If the scope's body, one of its jobs or one of its tasks panics, its
    /// tasks are aborted, and then waited for.
    #[track_caller]
    fn spawn_task<F>(&self, future: F)
    where
        F: Future<Output = ()> + Send + 'scope;
}

impl<'scope> SpawnTask<'scope> for Scope<'scope> {
    #[track_caller]
    fn spawn_task<F>(&self, future: F)
    where
        F: Future<Output = ()> + Send + 'scope,
    {
        spawn_in_scope(self.base(), future);
    }
}

impl<'scope> SpawnTask<'scope> for ScopeFifo<'scope> {
    #[track_caller]
    fn spawn_task<F>(&self, future: F)
    where
        F: Future<Output = ()> + Send + 'scope,
    {
        spawn_in_scope(self.base(), future);
    }
}

/// The tasks of one scope, to be aborted.
#[derive(Default)]
struct Tasks(Vec<AbortHandle>);

impl Attached for Tasks {
    fn cancel(self: Box<Self>) {
        for task in self.0 {
            task.abort();
        }
    }
}

#[track_caller]
fn spawn_in_scope<'scope>(scope: &Base<'scope>, future: impl Future<Output = ()> + Send + 'scope) {
    let (pool, address) = scope.attach();
    // SAFETY: the scope does not end before `detach` has been called, and what the future borrows outlives the scope; `detach`
    // does not unwind.
    let task = unsafe { spawn_scoped_raw(pool, future, Base::detach, address) };
    scope.keep_attached(|Tasks(tasks)| {
        if tasks.len() == tasks.capacity() {
            tasks.retain(|task| !task.is_finished());
        }
        tasks.push(task);
    });
}
