//! How a tick is made.

use crate::cell::schedule::Schedule;
use crate::cell::{Cell, Spec};
use crate::context::{Context, Next};
use crate::error::Error;
use crate::handle::Handle;
use crate::stats::{PoolStats, Recorder, Stats};
use heist_policy::tick::Overrun;
use heist_pool::raw::global;
use heist_pool::raw::pool::Pool;
use heist_pool::raw::tick::{NEVER, Ticks};
use heist_sync::StdArc as Arc;
use heist_sync::clock::Instant;
use std::panic::Location;
use std::time::Duration;

/// What a panic of a run does to its tick.
///
/// ```
/// use heist::tick::{self, Next, OnPanic};
/// use std::time::Duration;
///
/// let mut runs = 0;
/// let tick = tick::every(Duration::from_millis(1)).on_panic(OnPanic::Continue).spawn(move |_| {
///     runs += 1;
///     assert!(runs > 1, "only the first run fails");
///     Next::Stop
/// });
/// tick.wait().unwrap();
/// assert_eq!(tick.stats().totals.panics, 1);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnPanic {
    /// The tick ends, and [`Handle::wait`] tells.
    #[default]
    Stop,
    /// It is counted and reported, and the tick goes on.
    Continue,
}

/// A tick that is about to be spawned: see [`every`].
#[must_use = "a tick runs once it is spawned"]
#[derive(Debug)]
pub struct Builder {
    period: Duration,
    name: Option<Box<str>>,
    start_at: Option<Instant>,
    overrun: Overrun,
    steal_after: Option<Duration>,
    is_pinned: bool,
    near: Option<usize>,
    on_panic: OnPanic,
    watchdog: Option<Duration>,
    percentiles: bool,
}

/// What names a pool: heist's `ThreadPool`.
pub trait InPool {
    /// The pool itself.
    #[doc(hidden)]
    fn pool(&self) -> &Arc<Pool>;
}

impl InPool for Arc<Pool> {
    fn pool(&self) -> &Arc<Pool> {
        self
    }
}

/// Begins a tick that runs every `period`, on the workers that also run jobs and tasks.
///
/// ```
/// use heist::tick::{self, Next};
/// use std::sync::mpsc::channel;
/// use std::time::Duration;
///
/// let (send, receive) = channel();
/// let heartbeat = tick::every(Duration::from_millis(10)).name("heartbeat").spawn(move |cx| {
///     send.send(cx.count()).unwrap();
///     Next::Continue
/// });
/// receive.recv().unwrap();
/// receive.recv().unwrap();
/// heartbeat.cancel_and_wait();
/// assert!(heartbeat.stats().ledger.is_balanced());
/// ```
pub fn every(period: Duration) -> Builder {
    Builder {
        period,
        name: None,
        start_at: None,
        overrun: Overrun::default(),
        steal_after: None,
        is_pinned: false,
        near: None,
        on_panic: OnPanic::default(),
        watchdog: None,
        percentiles: false,
    }
}

/// How all ticks of a pool are doing, those that are over included: of the calling thread's pool, or else of the global one. `ThreadPool::tick_stats` is the
/// same of another.
///
/// Of a pool the percentiles are always known; they cost 32 KiB once it has had a tick. In its ledger a run that is under way is still pending.
///
/// ```
/// use heist::tick::{self, Next, Window};
/// use std::time::Duration;
///
/// let tick = tick::every(Duration::from_millis(1)).spawn(|_| Next::Stop);
/// tick.wait().unwrap();
/// let all = tick::stats();
/// assert!(all.ledger.is_balanced() && all.totals.runs >= 1);
/// assert!(all.window(Window::Min1).mspt.p99.is_some());
/// ```
///
/// # Panics
/// In a child process, on a thread of the parent's pool.
#[track_caller]
pub fn stats() -> Stats {
    stats_of(&global::current())
}

/// As [`stats`], of that pool.
#[doc(hidden)]
#[track_caller]
pub fn stats_of(pool: &impl InPool) -> Stats {
    let pool = pool.pool();
    pool.refuse_if_foreign();
    PoolStats::snapshot(pool)
}

pub(crate) fn period_ns(period: Duration) -> Result<u64, Error> {
    match u64::try_from(period.as_nanos()).unwrap_or(NEVER) {
        0 => Err(Error::ZeroPeriod),
        ns => Ok(ns),
    }
}

/// How long after its spawning a tick runs first, so that many with the same period do not all run at once: the golden ratio's sequence
/// fills the period evenly, however many there are.
pub(crate) fn spread(ticks: &Ticks, period_ns: u64) -> u64 {
    /// 2^64 by the golden ratio.
    const RATIO: u64 = 0x9E37_79B9_7F4A_7C15;
    let fraction = ticks.next_spawned().wrapping_mul(RATIO);
    ((u128::from(fraction) * u128::from(period_ns)) >> u64::BITS) as u64
}

impl Builder {
    /// Names the tick, in reports.
    ///
    /// See [`Handle::name`] for an example.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into().into_boxed_str());
        self
    }

    /// When it runs first. By default the first runs of a pool's ticks are spread over their periods.
    ///
    /// ```
    /// use heist::tick::{self, Next};
    /// use std::time::{Duration, Instant};
    ///
    /// let first = Instant::now() + Duration::from_millis(2);
    /// let tick = tick::every(Duration::from_millis(10)).start_at(first).spawn(move |cx| {
    ///     assert!(cx.scheduled() >= first - Duration::from_micros(1) && Instant::now() >= first);
    ///     Next::Stop
    /// });
    /// tick.wait().unwrap();
    /// ```
    pub fn start_at(mut self, first: Instant) -> Self {
        self.start_at = Some(first);
        self
    }

    /// What happens to periods that it misses. [`Overrun::Skip`] unless this says otherwise.
    ///
    /// ```
    /// use heist::tick::{self, Next, Overrun};
    /// use std::time::Duration;
    ///
    /// let tick = tick::every(Duration::from_millis(1)).overrun(Overrun::Burst(5)).spawn(|_| Next::Stop);
    /// tick.wait().unwrap();
    /// ```
    pub fn overrun(mut self, overrun: Overrun) -> Self {
        self.overrun = overrun;
        self
    }

    /// How late it may be before another worker takes it over. 3 ms, unless this or `ThreadPoolBuilder::tick_steal_after` says otherwise.
    ///
    /// ```
    /// use heist::tick::{self, Next};
    /// use std::time::Duration;
    ///
    /// let tick = tick::every(Duration::from_millis(1)).steal_after(Duration::ZERO).spawn(|_| Next::Stop);
    /// tick.wait().unwrap();
    /// ```
    pub fn steal_after(mut self, lateness: Duration) -> Self {
        self.steal_after = Some(lateness);
        self
    }

    /// It stays with the worker that it is given to: always the same [`current_thread_index`], while a job, a task or another tick runs
    /// there for long, too. Then it is late, and the watchdog tells.
    ///
    /// [`current_thread_index`]: https://docs.rs/rayon/latest/rayon/fn.current_thread_index.html
    ///
    /// ```
    /// use heist::tick::{self, Next};
    /// use std::time::Duration;
    ///
    /// let tick = tick::every(Duration::from_millis(1)).pinned().spawn(|_| Next::Stop);
    /// tick.wait().unwrap();
    /// ```
    pub fn pinned(mut self) -> Self {
        self.is_pinned = true;
        self
    }

    /// On a machine whose memory is in several nodes (NUMA), it runs near the node with this number: it is given to a worker whose index belongs to that
    /// node, or else to the nearest one, and when it is late, workers on near nodes take it before others. One that was taken by a worker farther
    /// away comes back.
    ///
    /// Workers stay on their nodes if the pool was built with `pin(Pin::Node)`; without that, the node is a wish. On a machine with
    /// one node, or where nodes are not known, it has no effect, whatever the number.
    ///
    /// # Errors
    /// [`try_spawn`](Self::try_spawn) fails if there are several nodes, and none has this number and a CPU; [`spawn`](Self::spawn) panics.
    ///
    /// ```
    /// use heist::tick::{self, Next};
    /// use std::time::Duration;
    ///
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).pin(heist::Pin::Node).build()?;
    /// let tick = tick::every(Duration::from_millis(1)).near(0).spawn_on(&pool, |_| Next::Stop);
    /// tick.wait().unwrap();
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn near(mut self, node: usize) -> Self {
        self.near = Some(node);
        self
    }

    /// What a panic of a run does. [`OnPanic::Stop`] unless this says otherwise.
    ///
    /// See [`OnPanic`] for an example.
    pub fn on_panic(mut self, on_panic: OnPanic) -> Self {
        self.on_panic = on_panic;
        self
    }

    /// How long a run may take, and how long the tick may be due without being run, before that is reported. The larger of 1 s and 10
    /// periods, unless this says otherwise. It may be told half of that time later.
    ///
    /// ```
    /// use heist::tick::{self, Next};
    /// use std::time::Duration;
    ///
    /// let tick = tick::every(Duration::from_millis(1)).watchdog(Duration::from_millis(100)).spawn(|_| Next::Stop);
    /// tick.wait().unwrap();
    /// ```
    pub fn watchdog(mut self, watchdog: Duration) -> Self {
        self.watchdog = Some(watchdog);
        self
    }

    /// Keeps what it takes to tell percentiles of its run times and lateness, some 32 KiB.
    ///
    /// ```
    /// use heist::tick::{self, Next};
    /// use std::time::Duration;
    ///
    /// let tick = tick::every(Duration::from_millis(1)).percentiles().spawn(|_| Next::Stop);
    /// tick.wait().unwrap();
    /// ```
    pub fn percentiles(mut self) -> Self {
        self.percentiles = true;
        self
    }

    /// Spawns it on the pool of the calling thread, or else on the global one.
    ///
    /// See [`every`] for an example.
    ///
    /// # Panics
    /// If the period is zero, the pool is closed, or there is no such node as [`near`](Self::near) says.
    #[track_caller]
    pub fn spawn(self, f: impl FnMut(&mut Context) -> Next + Send + 'static) -> Handle {
        self.try_spawn(f).unwrap_or_else(|error| panic!("{error}"))
    }

    /// As [`spawn`](Self::spawn), without its panics.
    ///
    /// # Errors
    /// If the period is zero, the pool is closed, or there is no such node as [`near`](Self::near) says. See [`Error`] for an example.
    #[track_caller]
    pub fn try_spawn(self, f: impl FnMut(&mut Context) -> Next + Send + 'static) -> Result<Handle, Error> {
        self.try_spawn_on(&global::current(), f)
    }

    /// As [`spawn`](Self::spawn), on that pool.
    ///
    /// ```
    /// use heist::tick::{self, Next};
    /// use std::time::Duration;
    ///
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let tick = tick::every(Duration::from_millis(1)).spawn_on(&pool, |_| {
    ///     assert_eq!(heist::current_num_threads(), 2);
    ///     Next::Continue
    /// });
    /// pool.shutdown().unwrap();
    /// tick.wait().unwrap();
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    ///
    /// # Panics
    /// If the period is zero, or the pool is closed.
    #[track_caller]
    pub fn spawn_on(
        self,
        pool: &impl InPool,
        f: impl FnMut(&mut Context) -> Next + Send + 'static,
    ) -> Handle {
        self.try_spawn_on(pool, f).unwrap_or_else(|error| panic!("{error}"))
    }

    /// As [`spawn_on`](Self::spawn_on), without its panics.
    ///
    /// ```
    /// use heist::tick::{self, Next};
    /// use std::time::Duration;
    ///
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// let tick = tick::every(Duration::from_millis(1)).try_spawn_on(&pool, |_| Next::Stop);
    /// tick.unwrap().wait().unwrap();
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the period is zero, the pool is closed, or it is the parent process's.
    #[track_caller]
    pub fn try_spawn_on(
        self,
        pool: &impl InPool,
        f: impl FnMut(&mut Context) -> Next + Send + 'static,
    ) -> Result<Handle, Error> {
        let pool = pool.pool();
        let ticks = pool.queues().ticks();
        let period_ns = period_ns(self.period)?;
        if pool.is_foreign() {
            return Err(Error::Forked);
        }
        let near = self.near.and_then(|number| pool.places()?.node_with(number));
        if let (Some(number), None, true) = (self.near, near, pool.places().is_some()) {
            return Err(Error::UnknownNode(number));
        }
        let now_ns = ticks.now_ns();
        let at = |first_ns| Schedule::new(period_ns, self.overrun, first_ns);
        let schedule = match self.start_at {
            Some(first) => at(ticks.clock().ns_of(first)),
            None => at(now_ns.saturating_add(spread(ticks, period_ns))).counted_from(now_ns),
        };
        let spec = Spec {
            name: self.name,
            site: Location::caller(),
            steal_after: self.steal_after,
            is_pinned: self.is_pinned,
            near,
            stops_on_panic: self.on_panic == OnPanic::Stop,
            watchdog: self.watchdog,
        };
        Cell::spawn(pool, spec, schedule, Recorder::new(self.percentiles, now_ns), Box::new(f))
            .map(Handle::new)
    }
}
