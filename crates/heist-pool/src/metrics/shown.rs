//! The snapshot that users see.

use super::histogram::Histogram;
use super::polls::Polls;
use super::times::WorkerState;
use crate::permits::Count;
use crate::pool::Pool;
use crate::worker::{Doing, WorkerShared};
use std::time::Duration;

/// What the threads of a pool have done since it was built, and what waits there now.
///
/// Counts and times only grow, also from one snapshot to the next while the pool works. Each number is as it was at some moment during
/// the call, not all of them at the same: what is counted while threads run need not add up. A snapshot stops nobody, takes no lock, and
/// costs a few hundred nanoseconds a thread.
///
/// ```
/// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let (send, receive) = std::sync::mpsc::channel();
/// for n in 0..100 {
///     let send = send.clone();
///     pool.spawn(move || send.send(n).unwrap());
/// }
/// assert_eq!(receive.iter().take(100).count(), 100);
/// let metrics = pool.metrics();
/// assert_eq!(metrics.sum(|worker| worker.jobs), 100);
/// assert_eq!(metrics.active, 2);
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Metrics {
    /// Every thread that ever worked for the pool, by its number; guests too. One that has left stays here, and the next thread that comes
    /// takes its place and counts on.
    pub workers: Vec<WorkerMetrics>,
    /// How many threads there are, guests included.
    pub threads: usize,
    /// How many of these are guests: threads of the program's own.
    pub guests: usize,
    /// How many threads may run at once: the permits that are active.
    pub active: usize,
    /// Permits that nobody holds.
    pub free: usize,
    /// Threads that look for work everywhere.
    pub searching: usize,
    /// Threads that wait, or are inside of `blocking`, and have lent their permit.
    pub lent: usize,
    /// Threads that go on without a permit after a wait, because none is free.
    pub wanting: usize,
    /// Threads that run tasks without a permit, because all that hold one compute.
    pub overtaking: usize,
    /// Jobs in the queue that all threads share.
    pub injected_jobs: usize,
    /// Tasks in the queue that all threads share.
    pub injected_tasks: usize,
    /// Indices with a tick that is due.
    pub due_ticks: usize,
    /// How often a thread of the pool was woken for work by one that is none of the pool's.
    pub wakes_from_outside: u64,
}

/// One thread's part of [`Metrics`].
///
/// The times of a thread that is no guest add up to how long it has worked for the pool.
///
/// ```
/// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build()?;
/// assert_eq!(pool.install(|| 7), 7);
/// let worker = &pool.metrics().workers[0];
/// assert_eq!((worker.number, worker.jobs), (0, 1));
/// assert!(worker.busy + worker.searching + worker.parked + worker.waiting > std::time::Duration::ZERO);
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WorkerMetrics {
    /// Its number among the pool's threads. It is not the index: that goes from thread to thread.
    pub number: usize,
    /// The index of the permit that it holds now.
    pub index: Option<usize>,
    /// What it spends its time on now.
    pub state: WorkerState,
    /// How long it has run something, or looked into its own queues for the next. Time in which its thread waited for a core, or slept
    /// inside of a job, counts as well. Of guests it is not counted, nor is the next: they come and go too often for a clock.
    pub busy: Duration,
    /// How long it has looked for work everywhere.
    pub searching: Duration,
    /// How long it has slept because there was nothing to do.
    pub parked: Duration,
    /// How long it has waited for something, or was inside of `blocking`, and had lent its permit.
    pub waiting: Duration,
    /// Jobs that it took out of a queue and ran: spawned ones, those of scopes, `install`, broadcasts. The forks that it popped itself are
    /// not counted: that would cost more than they do.
    pub jobs: u64,
    /// Halves of forks that it ran for another thread.
    pub forks: u64,
    /// Turns that it gave to tasks: polls, and the drop of a future that was aborted.
    pub polls: u64,
    /// Turns that it gave to ticks.
    pub ticks: u64,
    /// How often it has looked into another thread's queues to steal something.
    pub steals_tried: u64,
    /// How often it got something.
    pub steals: u64,
    /// How often its run queue was full, and half of it went to the queue that all threads share.
    pub overflows: u64,
    /// How often it has woken another thread of the pool for work.
    pub wakes: u64,
    /// Whether halves of its forks can be stolen now.
    pub has_forks: bool,
    /// Jobs in its queue now.
    pub queued_jobs: usize,
    /// Tasks in its run queue now.
    pub queued_tasks: usize,
    /// How long its polls took, in nanoseconds. `None` unless the pool was built with `poll_histograms`.
    pub poll_times: Option<Histogram>,
    /// How long tasks were ready before it polled them, in nanoseconds. `None` unless the pool was built with `poll_histograms`.
    pub schedule_latency: Option<Histogram>,
}

impl Metrics {
    /// Those of this pool.
    #[doc(hidden)]
    pub fn of(pool: &Pool) -> Self {
        let (permits, threads, queues) = (pool.permits(), pool.threads(), pool.queues());
        let workers: Vec<_> = threads.table().iter().map(|worker| WorkerMetrics::of(pool, worker)).collect();
        Self {
            lent: workers.iter().filter(|worker| worker.state == WorkerState::Waiting).count(),
            workers,
            threads: threads.live(),
            guests: threads.guests(),
            active: pool.active(),
            free: permits.count(Count::Free),
            searching: permits.count(Count::Searching),
            wanting: permits.count(Count::Wanting),
            overtaking: permits.count(Count::Overtaking),
            injected_jobs: queues.jobs.len(),
            injected_tasks: queues.tasks.len(),
            due_ticks: pool.due().how_many(),
            wakes_from_outside: permits.wakes_from_outside(),
        }
    }

    /// The sum of one number over all threads.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.install(|| 7), 7);
    /// assert_eq!(pool.metrics().sum(|worker| worker.jobs), 1);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn sum(&self, of: impl Fn(&WorkerMetrics) -> u64) -> u64 {
        self.workers.iter().map(of).sum()
    }

    /// How long polls took, of all threads together, in nanoseconds. `None` unless the pool was built with `poll_histograms`.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).poll_histograms(true).build()?;
    /// pool.block_on(pool.spawn_task(async { 7 })).unwrap();
    /// println!("{:?}", pool.metrics().poll_times().unwrap());
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn poll_times(&self) -> Option<Histogram> {
        merge(self.workers.iter().filter_map(|worker| worker.poll_times.as_ref()))
    }

    /// How long tasks were ready before they were polled, of all threads together, in nanoseconds. `None` unless the pool was built with
    /// `poll_histograms`.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert!(pool.metrics().schedule_latency().is_none());
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn schedule_latency(&self) -> Option<Histogram> {
        merge(self.workers.iter().filter_map(|worker| worker.schedule_latency.as_ref()))
    }
}

fn merge<'a>(mut all: impl Iterator<Item = &'a Histogram>) -> Option<Histogram> {
    let mut sum = all.next()?.clone();
    all.for_each(|more| sum.merge(more));
    Some(sum)
}

impl WorkerMetrics {
    fn of(pool: &Pool, worker: &WorkerShared) -> Self {
        let own = worker.own();
        let spent = own.times.read();
        let time = |state: WorkerState| Duration::from_nanos(spent.ns[state as usize]);
        let timed = |of: fn(&Polls) -> Histogram| {
            // One that has not begun has none.
            let polls = || own.timed.get().map_or_else(Histogram::new, |polls| of(polls));
            pool.watched().times_polls().then(polls)
        };
        Self {
            number: worker.id().into(),
            index: pool.permits().words().index_of(worker.id(), worker.home()).map(usize::from),
            state: match (spent.state, worker.status().doing()) {
                // A guest.
                (WorkerState::Gone, Doing::Job) => WorkerState::Busy,
                (state, _) => state,
            },
            busy: time(WorkerState::Busy),
            searching: time(WorkerState::Searching),
            parked: time(WorkerState::Parked),
            waiting: time(WorkerState::Waiting),
            jobs: own.jobs.get(),
            forks: own.forks.get(),
            polls: own.polls.get(),
            ticks: own.ticks.get(),
            steals_tried: own.steals_tried.get(),
            steals: own.steals.get(),
            overflows: own.overflows.get(),
            wakes: own.wakes.get(),
            has_forks: worker.stack.has_jobs(),
            queued_jobs: worker.spawned.len(),
            queued_tasks: worker.queued_tasks(),
            poll_times: timed(Polls::took),
            schedule_latency: timed(Polls::waited),
        }
    }
}
