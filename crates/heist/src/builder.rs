//! How a pool is made, and what can be wrong with the wish.

use crate::thread_pool::ThreadPool;
use heist_pool::raw::build::BuildError;
#[cfg(any(feature = "async", feature = "tick"))]
use heist_pool::raw::clock::ManualClock;
use heist_pool::raw::global;
use heist_pool::raw::job::Payload;
use heist_pool::raw::pool::{Config, MOST_INDICES, MOST_THREADS, Pin, Pool};
use heist_pool::raw::threads::ThreadStart;
use heist_sync::{Arc, Mutex, lock};
use std::error::Error;
use std::fmt;
use std::io;

/// Makes a [`ThreadPool`], or sets up the global one.
///
/// ```
/// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
/// assert_eq!(pool.install(heist::current_num_threads), 2);
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    config: Config,
    spawn: S,
}

/// Threads are started by the pool.
#[derive(Debug, Default)]
pub struct DefaultSpawn(());

/// Threads are started by the given closure.
#[derive(Debug)]
pub struct CustomSpawn<F>(F);

/// How threads are started.
pub trait ThreadSpawn {
    /// Starts a thread that calls [`ThreadBuilder::run`].
    #[doc(hidden)]
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;
    /// Whether the pool may start spare threads of its own.
    #[doc(hidden)]
    const IS_OWN: bool;
}

impl ThreadSpawn for DefaultSpawn {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        thread.start.spawn(thread.name)
    }
    const IS_OWN: bool = true;
}

impl<F: FnMut(ThreadBuilder) -> io::Result<()>> ThreadSpawn for CustomSpawn<F> {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }
    const IS_OWN: bool = false;
}

/// A thread that a [`spawn_handler`](ThreadPoolBuilder::spawn_handler) has to start: it must call [`run`](Self::run) on it.
///
/// ```
/// let pool = heist::ThreadPoolBuilder::new()
///     .num_threads(2)
///     .spawn_handler(|thread| {
///         let mut builder = std::thread::Builder::new();
///         builder = builder.name(thread.name().map_or_else(|| format!("mine {}", thread.index()), String::from));
///         if let Some(size) = thread.stack_size() {
///             builder = builder.stack_size(size);
///         }
///         builder.spawn(|| thread.run())?;
///         Ok(())
///     })
///     .build()?;
/// let name = pool.install(|| std::thread::current().name().map(String::from));
/// assert!(name.unwrap().starts_with("mine "));
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
pub struct ThreadBuilder {
    name: Option<String>,
    start: ThreadStart,
}

impl ThreadBuilder {
    /// The index that the thread will have.
    pub fn index(&self) -> usize {
        self.start.index()
    }

    /// The name that was asked for.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The stack size that was asked for.
    pub fn stack_size(&self) -> Option<usize> {
        self.start.stack_size()
    }

    /// The thread's work, until the pool ends.
    ///
    /// # Panics
    /// On a thread that is already part of a pool: inside a job or a task, or below [`fork`](crate::fork()). The pool then goes on
    /// without this thread, as if the builder had been dropped.
    ///
    /// # Blocking
    /// For the whole life of the pool.
    #[track_caller]
    pub fn run(self) {
        self.start.run();
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("index", &self.index())
            .field("name", &self.name())
            .field("stack_size", &self.stack_size())
            .finish_non_exhaustive()
    }
}

/// Why a pool could not be made.
///
/// ```
/// let most = heist::max_num_threads();
/// let error = heist::ThreadPoolBuilder::new().num_threads(most + 1).build().unwrap_err();
/// assert!(error.to_string().contains("more than a pool can have"));
/// ```
pub struct ThreadPoolBuildError {
    kind: Kind,
}

enum Kind {
    AlreadyInitialized,
    CurrentThreadInPool,
    BadValue(String),
    /// Not one thread could be started.
    Io(io::Error),
    /// The program's own way of starting threads has failed.
    SpawnHandler(io::Error),
}

impl From<io::Error> for ThreadPoolBuildError {
    fn from(error: io::Error) -> Self {
        Self { kind: Kind::Io(error) }
    }
}

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            // These two are rayon's to the letter: programs compare them.
            Kind::AlreadyInitialized => f.write_str("The global thread pool has already been initialized."),
            Kind::CurrentThreadInPool => {
                f.write_str("The current thread is already part of another thread pool.")
            }
            Kind::BadValue(message) => f.write_str(message),
            Kind::Io(error) => write!(
                f,
                "not one thread of the pool could be started: {error}. Raise the limit on threads or on memory (ulimit -u, \
                 ulimit -v, pids.max), or ask for a smaller stack_size"
            ),
            Kind::SpawnHandler(error) => write!(
                f,
                "the pool's spawn_handler could not start a thread: {error}. Such a pool needs all of its threads: ask for fewer, \
                 or leave out the handler (or build_scoped), and the pool goes on with those that start"
            ),
        }
    }
}

/// What `unwrap` shows: the message, and what to do where that is no part of it.
impl fmt::Debug for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)?;
        match &self.kind {
            Kind::AlreadyInitialized => f.write_str(
                " Call build_global once, before anything uses that pool; or make a pool of its own with build",
            ),
            Kind::CurrentThreadInPool => {
                f.write_str(" Call build on a thread that is in none, or leave out use_current_thread")
            }
            Kind::BadValue(_) | Kind::Io(_) | Kind::SpawnHandler(_) => Ok(()),
        }
    }
}

impl Error for ThreadPoolBuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            Kind::Io(error) | Kind::SpawnHandler(error) => Some(error),
            Kind::AlreadyInitialized | Kind::CurrentThreadInPool | Kind::BadValue(_) => None,
        }
    }
}

impl ThreadPoolBuilder {
    /// A builder with all defaults.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().build()?;
    /// assert!(pool.current_num_threads() >= 1);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a pool of scoped threads, lends it to `with_pool`, and waits for its threads after.
    ///
    /// Each thread calls `wrapper` with its [`ThreadBuilder`], so that it can set up what it may borrow.
    ///
    /// ```
    /// let greeting = String::from("hello");
    /// let n = heist::ThreadPoolBuilder::new().num_threads(2).build_scoped(
    ///     |thread| {
    ///         assert_eq!(greeting, "hello");
    ///         thread.run();
    ///     },
    ///     |pool| pool.install(heist::current_num_threads),
    /// )?;
    /// assert_eq!(n, 2);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    ///
    /// # Errors
    /// As [`build`](Self::build).
    ///
    /// # Deadlocks
    /// A pool of scoped threads cannot start spare ones: see [`spawn_handler`](Self::spawn_handler).
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        std::thread::scope(|scope| {
            let wrapper = &wrapper;
            let pool = self
                .spawn_handler(|thread| {
                    let mut builder = std::thread::Builder::new();
                    if let Some(name) = thread.name() {
                        builder = builder.name(name.to_string());
                    }
                    if let Some(size) = thread.stack_size() {
                        builder = builder.stack_size(size);
                    }
                    builder.spawn_scoped(scope, move || wrapper(thread))?;
                    Ok(())
                })
                .build()?;
            Ok(with_pool(&pool))
        })
    }

    /// Starts the pool's threads by `spawn` instead of by the pool itself.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .spawn_handler(|thread| {
    ///         std::thread::Builder::new().spawn(move || thread.run())?;
    ///         Ok(())
    ///     })
    ///     .build()?;
    /// assert_eq!(pool.install(|| 1), 1);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    ///
    /// # Errors
    /// An error of `spawn` fails the build.
    ///
    /// # Deadlocks
    /// Such a pool cannot start spare threads. When a wait finds nothing of its own to do, it runs other jobs instead of
    /// lending its permit, and says so once on standard error: a lock held across a wait may deadlock there, as in rayon.
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder { config: self.config, spawn: CustomSpawn(spawn) }
    }
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        Self { config: Config::default(), spawn: DefaultSpawn::default() }
    }
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Makes the pool.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().build()?;
    /// assert_eq!(pool.install(|| 1 + 1), 2);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    ///
    /// # Errors
    /// A value that cannot be had (the message names it), not one thread that could be started, or any error of a
    /// [`spawn_handler`](ThreadPoolBuilder::spawn_handler). If only some threads could be started, the pool has that many,
    /// and a warning says so.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        self.build_pool(false).map(ThreadPool::new)
    }

    /// Makes the global pool, before its first use.
    ///
    /// ```no_run
    /// heist::ThreadPoolBuilder::new().num_threads(4).build_global()?;
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    ///
    /// # Errors
    /// As [`build`](Self::build), and if there is a global pool already.
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        match global::set(|| self.build_pool(true)) {
            Ok(true) => Ok(()),
            Ok(false) => Err(ThreadPoolBuildError { kind: Kind::AlreadyInitialized }),
            Err(error) => Err(error),
        }
    }

    fn build_pool(mut self, guests: bool) -> Result<Arc<Pool>, ThreadPoolBuildError> {
        self.config.guests.get_or_insert(guests);
        self.config.foreign_threads = !S::IS_OWN;
        let built = self.config.build(|start, name| self.spawn.spawn(ThreadBuilder { name, start }));
        built.map_err(|error| ThreadPoolBuildError {
            kind: match error {
                BuildError::CurrentThreadInPool => Kind::CurrentThreadInPool,
                BuildError::BadValue(message) => Kind::BadValue(message),
                BuildError::Io(error) if S::IS_OWN => Kind::Io(error),
                BuildError::Io(error) => Kind::SpawnHandler(error),
            },
        })
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// How many threads run at once; 0, the default, for as many as there are CPUs to use.
    ///
    /// `HEIST_NUM_THREADS` in the environment, or else `RAYON_NUM_THREADS`, can lower it. With 0, it is that variable, or
    /// else what the machine allows: the CPUs of the calling thread and of its control group, the CPU quota of that group and of all above it,
    /// and the threads that may still be started.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(3).build()?;
    /// assert_eq!(pool.current_num_threads(), 3);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.config.parallelism = num_threads;
        self
    }

    /// Lets as many threads run as the machine allows now, up to [`max_num_threads`](Self::max_num_threads): CPU masks, cpusets, and the quotas of all
    /// control groups above the process are read again once a second while the pool is busy. An idle pool reads nothing; one with
    /// [`use_current_thread`](Self::use_current_thread) counts as busy, because that thread always runs. Default: they are read once, when the pool is
    /// built.
    ///
    /// A change of the limits overrides what [`num_threads`](Self::num_threads) and [`ThreadPool::set_num_threads`] said, except that a pool with
    /// no active thread keeps none, and that nothing is raised above `HEIST_NUM_THREADS`. Without `max_num_threads` the number can only go down, and
    /// up again to what the pool was built with.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().max_num_threads(64).follow_limits(true).build()?;
    /// assert!(pool.active_num_threads() <= 64);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn follow_limits(mut self, follow_limits: bool) -> Self {
        self.config.follow_limits = follow_limits;
        self
    }

    /// How far [`ThreadPool::set_num_threads`] can raise the number of threads later: all indices are below this for the pool's life, and it is what
    /// [`ThreadPool::current_num_threads`] returns. Without it, or with 0, the number that the pool starts with.
    ///
    /// A pool that does not say by [`num_threads`](Self::num_threads) how many it starts with starts with no more than this, however many
    /// CPUs there are. One that says more is an error.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(1).max_num_threads(4).build()?;
    /// assert_eq!((pool.active_num_threads(), pool.current_num_threads()), (1, 4));
    /// pool.set_num_threads(3).unwrap();
    /// assert_eq!((pool.active_num_threads(), pool.current_num_threads()), (3, 4));
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn max_num_threads(mut self, max_num_threads: usize) -> Self {
        self.config.max_parallelism = max_num_threads;
        self
    }

    /// How many threads the pool may have in all, with those that sleep in a wait; 0, the default, for 256 more than run at
    /// once. Guests, threads of the program that call [`fork`](crate::fork()), do not count.
    ///
    /// Where it is reached, a wait that finds nothing of its own to do runs other jobs: see
    /// [`spawn_handler`](ThreadPoolBuilder::spawn_handler).
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).max_threads(8).build()?;
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn max_threads(mut self, max_threads: usize) -> Self {
        self.config.max_threads = max_threads;
        self
    }

    /// The calling thread becomes the pool's thread 0, for as long as it lives. It works for the pool only while it waits
    /// in it. A pool of that thread alone has no spare threads: see [`spawn_handler`](ThreadPoolBuilder::spawn_handler).
    ///
    /// ```
    /// std::thread::spawn(|| {
    ///     let pool = heist::ThreadPoolBuilder::new().num_threads(2).use_current_thread().build().unwrap();
    ///     assert_eq!(pool.current_thread_index(), Some(0));
    /// }).join().unwrap();
    /// ```
    pub fn use_current_thread(mut self) -> Self {
        self.config.use_current_thread = true;
        self
    }

    /// Names threads by the index that they start with. Without it they are called `heist-` and the index.
    ///
    /// Names are not unique: there may be more threads than indices, and an index goes from thread to thread. A spare thread that starts
    /// without a permit has no index. It is called by its number among the pool's threads, modulo
    /// [`num_threads`](Self::num_threads), so that the number is below that for every thread.
    ///
    /// The closure is called for each thread before it starts, also for those that start later, in the middle of a wait. A thread
    /// that starts while the closure is busy with another one's name gets the default name.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).thread_name(|i| format!("worker {i}")).build()?;
    /// let name = pool.install(|| std::thread::current().name().map(String::from));
    /// assert!(name.unwrap().starts_with("worker "));
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    ///
    /// # Panics
    /// A panic of the closure goes on in [`build`](Self::build). Of a thread that starts later, it goes to the
    /// [`panic_handler`](Self::panic_handler), and the thread has the default name.
    pub fn thread_name<F>(mut self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + Send + 'static,
    {
        let names = Names(Mutex::new(Some(Box::new(closure))));
        self.config.thread_name = Some(Box::new(move |index| names.of(index)));
        self
    }

    /// The stack size of the threads, in bytes; 0 for the system's default.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).stack_size(8 << 20).build()?;
    /// assert_eq!(pool.install(|| [1u8; 4 << 20].len()), 4 << 20);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.config.stack_size = (stack_size != 0).then_some(stack_size);
        self
    }

    /// What happens to the payload when a detached job panics. Without a handler the pool goes on and says nothing more
    /// than the panic hook did.
    ///
    /// ```
    /// let (send, receive) = std::sync::mpsc::channel();
    /// let send = std::sync::Mutex::new(send);
    /// let pool = heist::ThreadPoolBuilder::new()
    ///     .num_threads(1)
    ///     .panic_handler(move |payload| send.lock().unwrap().send(payload).unwrap())
    ///     .build()?;
    /// pool.spawn(|| std::panic::panic_any(7));
    /// assert_eq!(*receive.recv().unwrap().downcast::<i32>().unwrap(), 7);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn panic_handler<H>(mut self, panic_handler: H) -> Self
    where
        H: Fn(Payload) + Send + Sync + 'static,
    {
        self.config.panic_handler = Some(Box::new(panic_handler));
        self
    }

    /// Called on each thread when it starts, with the index that it starts with: see [`thread_name`](Self::thread_name), also for
    /// those that start without one. Of threads that run at the same time, several may have been given the same number here; what must
    /// be one thread's alone belongs into a thread-local, not into an array by that number.
    ///
    /// Spare threads call it, too, whenever they start. Guests do not.
    ///
    /// ```
    /// thread_local!(static FROM: std::cell::Cell<usize> = const { std::cell::Cell::new(0) });
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(1).start_handler(|_| FROM.set(5)).build()?;
    /// assert_eq!(pool.install(|| FROM.get()), 5);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn start_handler<H>(mut self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.config.start_handler = Some(Box::new(start_handler));
        self
    }

    /// Called on each thread before it ends, with the number that the [`start_handler`](Self::start_handler) was given.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// use std::sync::Arc;
    ///
    /// let ended = Arc::new(AtomicUsize::new(0));
    /// let count = ended.clone();
    /// let handler = move |_| { count.fetch_add(1, Ordering::Relaxed); };
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).exit_handler(handler).build()?;
    /// pool.shutdown().unwrap();
    /// assert!(ended.load(Ordering::Relaxed) >= 2);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn exit_handler<H>(mut self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.config.exit_handler = Some(Box::new(exit_handler));
        self
    }

    /// Whether spare threads run queued jobs once every worker is blocked: once none of them has used any CPU time for a second.
    ///
    /// By default they do not. A job that blocks its thread without [`blocking`](crate::blocking) keeps its permit, as in rayon:
    /// [`num_threads`](Self::num_threads) bounds how many jobs run at once, and programs rely on that bound for downloads and
    /// subprocesses. (A *task* that blocks never holds up others.) With `true`, jobs that wait for each other, by channels or
    /// locks, come to an end even if there are more of them than threads. `HEIST_RESCUE=1` in the environment does the same for
    /// every pool of the program that does not say.
    ///
    /// The threads are spare ones, so there are never more than [`max_threads`](Self::max_threads). Who is blocked is known by the CPU
    /// clocks of threads: where [`os_hints`](Self::os_hints) are off, or the system has no such clocks, nobody is rescued.
    ///
    /// # Errors
    /// [`build`](Self::build) fails if the program asks for rescue and rules it out: by `os_hints(false)`, a
    /// [`spawn_handler`](ThreadPoolBuilder::spawn_handler), [`build_scoped`](ThreadPoolBuilder::build_scoped), `max_threads` not above
    /// `num_threads`, or a pool of the calling thread alone. If that comes from the environment (`HEIST_RESCUE`, `HEIST_OS_HINTS`,
    /// `HEIST_NUM_THREADS`), a warning says so, and the pool goes on without.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(1).rescue_blocked(true).build()?;
    /// assert_eq!(pool.install(|| 1), 1);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn rescue_blocked(mut self, rescue_blocked: bool) -> Self {
        self.config.rescue_blocked = Some(rescue_blocked);
        self
    }

    /// Whether the pool may tell the system on which cores its threads should run and which of them asks for little time, and read their CPU
    /// clocks. Without a word of the program's, `HEIST_OS_HINTS=0` in the environment turns it off.
    ///
    /// `false` turns all of that off: threads are left on the cores that the system chooses for them, and nobody reads their clocks.
    /// The pool is as correct as with it. What it loses is a few microseconds when a thread is woken, and the knowledge which of its
    /// threads are blocked: jobs behind a task that blocks then wait for 20 ms, and [`rescue_blocked`](Self::rescue_blocked) cannot be had.
    /// Spare threads then have the CPUs of the thread that started them, not those that the pool was built with.
    /// For sandboxes that forbid such calls, for programs that place their threads themselves, and to find out what the hints are worth.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).os_hints(false).build()?;
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn os_hints(mut self, os_hints: bool) -> Self {
        self.config.os_hints = Some(os_hints);
        self
    }

    /// On which CPUs the pool's threads are kept, on a machine whose memory is in several nodes (NUMA). By default nowhere: the system moves
    /// them as it likes, and a thief visits first whoever is on its own node.
    ///
    /// With [`Pin::Node`] a thread runs only on the CPUs of one node, of those that the calling thread may use. It is the node of the index
    /// that the thread has; indices are spread over the nodes by how many CPUs each has, neighbours beside each other. A thread that gets an
    /// index of another node goes there. Threads of the program's own, guests and the one of [`use_current_thread`](Self::use_current_thread),
    /// are left where they are. On a machine with one node it has no effect.
    ///
    /// # Errors
    /// [`build`](Self::build) fails if [`os_hints`](Self::os_hints) are off. If `HEIST_OS_HINTS=0` has done that, a warning says so, and the
    /// pool goes on without.
    ///
    /// ```
    /// use heist::{Pin, ThreadPoolBuilder};
    ///
    /// let pool = ThreadPoolBuilder::new().num_threads(2).pin(Pin::Node).build()?;
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn pin(mut self, pin: Pin) -> Self {
        self.config.pin = pin;
        self
    }

    /// Prints a [report](crate::stall) on standard error when a thread or task of the program has not gone on for so long. The program goes on.
    /// `HEIST_STALL=5` in the environment asks for 5 s in every pool of the program that does not say. By default nobody looks.
    ///
    /// All pools are watched once one asks for it, by one thread; the shortest of their times counts.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).stall_after(Duration::from_secs(5)).build()?;
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    ///
    /// # Errors
    /// [`build`](Self::build) fails for a time that is too short to be told, which is 0.1 s.
    #[must_use]
    pub fn stall_after(mut self, limit: std::time::Duration) -> Self {
        self.config.stall_after = Some(limit);
        self
    }

    /// Whether the pool's [`metrics`](mod@crate::metrics) have histograms of how long polls take, and of how long tasks are ready before they are
    /// polled. By default they have not: it takes two looks at the clock for each poll, and one for each task that becomes ready, some 25 ns
    /// each. `HEIST_POLL_HISTOGRAMS=1` in the environment asks for them in every pool of the program that does not say.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).poll_histograms(true).build()?;
    /// assert!(pool.metrics().poll_times().is_some());
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn poll_histograms(mut self, poll_histograms: bool) -> Self {
        self.config.poll_histograms = Some(poll_histograms);
        self
    }

    /// How late a tick of this pool may be before another worker takes it over, if the tick does not say itself
    /// ([`tick::Builder::steal_after`](crate::tick::Builder::steal_after)). 3 ms unless this says otherwise. Needs the feature `tick`.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).tick_steal_after(Duration::from_millis(1)).build()?;
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[cfg(feature = "tick")]
    pub fn tick_steal_after(mut self, lateness: std::time::Duration) -> Self {
        self.config.tick_steal_after = Some(lateness);
        self
    }

    /// The clock that the pool's timers and ticks go by, for tests: time passes when the program says so. By default it is the
    /// system's.
    ///
    /// [`ThreadPool::shutdown`] waits for tasks that sleep, as ever: cancel them, or move the clock on before. Needs the feature `async` or `tick`.
    ///
    /// ```
    /// use heist::time::{ManualClock, interval};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(1).clock(&clock).build()?;
    /// let third = pool.spawn_task(async {
    ///     let mut hourly = interval(Duration::from_secs(3600));
    ///     hourly.tick().await;
    ///     hourly.tick().await;
    ///     hourly.tick().await
    /// });
    /// clock.advance(Duration::from_secs(2 * 3600));
    /// assert_eq!(heist::block_on(third).unwrap(), clock.now());
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    ///
    /// # Errors
    /// [`build`](Self::build) fails if [`use_current_thread`](Self::use_current_thread) is asked for, too: the clock waits until all threads of the pool
    /// sleep.
    #[cfg(any(feature = "async", feature = "tick"))]
    pub fn clock(mut self, clock: &ManualClock) -> Self {
        self.config.clock = Some(clock.clone());
        self
    }

    /// Whether a thread of the program's own may run its call in this pool itself, as a *guest*, instead of waiting for a worker. `true`
    /// for the global pool, `false` for others, unless this says otherwise. `HEIST_GUESTS=0` in the environment turns it off everywhere.
    ///
    /// A small `join` or loop then costs nanoseconds from outside, where the way to a worker and back takes some 20 us; a large one begins
    /// at once while others are woken to share it. The guest uses a permit that no worker holds, and is counted by
    /// [`num_threads`](Self::num_threads) like a worker. Calls queue for a worker as before if no permit is free, if the caller has little
    /// stack left, and in pools whose threads have something that a guest would lack: names, a start or exit handler, a stack size or
    /// [`spawn_handler`](Self::spawn_handler) of their own, or what a `broadcast` may have set up on them.
    ///
    /// What a program can notice: closures run on the calling thread, under its name and with its thread-locals.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).guests(true).build()?;
    /// // On this thread, as soon as a worker has gone to sleep for want of work; until then on a worker.
    /// assert_eq!(pool.install(|| 7), 7);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn guests(mut self, guests: bool) -> Self {
        self.config.guests = Some(guests);
        self
    }

    /// Has no effect: jobs spawned with `spawn_fifo` and scopes opened with `scope_fifo` run in order.
    #[deprecated(note = "use `scope_fifo` and `spawn_fifo` for similar effect")]
    pub fn breadth_first(self) -> Self {
        self
    }
}

/// The closure that names threads. It is taken out while it runs: it is the program's, and runs under no lock of ours.
struct Names(Mutex<Option<Namer>>);

type Namer = Box<dyn FnMut(usize) -> String + Send>;

impl Names {
    /// `None`, which means the default name, while the closure runs on another thread, or below on this one.
    fn of(&self, index: usize) -> Option<String> {
        /// Puts the closure back, also if it panics.
        struct PutBack<'a>(&'a Names, Option<Namer>);
        impl Drop for PutBack<'_> {
            fn drop(&mut self) {
                *lock(&self.0.0) = self.1.take();
            }
        }
        let closure = lock(&self.0).take()?;
        let mut put_back = PutBack(self, Some(closure));
        put_back.1.as_mut().map(|closure| closure(index))
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.config.parallelism)
            .field("max_num_threads", &self.config.max_parallelism)
            .field("max_threads", &self.config.max_threads)
            .field("use_current_thread", &self.config.use_current_thread)
            .field("stack_size", &self.config.stack_size)
            .finish_non_exhaustive()
    }
}

const _: () = assert!(MOST_INDICES < MOST_THREADS);
