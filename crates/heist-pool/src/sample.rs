//! What one look from outside finds of a pool, for those who show pools: a plain value. Nobody is stopped for it, so its parts need not fit
//! together.

use crate::pool::Pool;
use crate::threads::{Closure, Named};
use crate::worker::{Doing, Role, WorkerShared};
use heist_sync::process::PerProcess;
use heist_sync::std_atomic::{AtomicBool, Ordering};
use std::sync::OnceLock;

/// A pool, as it was a moment ago.
#[derive(Debug)]
pub struct PoolNow {
    /// How many threads may run at once.
    pub active: usize,
    /// All threads that it has, guests included.
    pub threads: usize,
    /// By index.
    pub permits: Vec<PermitNow>,
    /// Threads that do something without a permit: that wait and have lent theirs, and those that run beyond the parallelism.
    pub others: Vec<ThreadNow>,
    /// Jobs in the queue that all share.
    pub injected_jobs: usize,
    /// Tasks in the queue that all share.
    pub injected_tasks: usize,
    /// How often its threads have stolen, and were woken, since it was built.
    pub steals: u64,
    /// See `steals`.
    pub wakes: u64,
}

/// A permit, as it was a moment ago.
#[derive(Debug)]
pub struct PermitNow {
    /// The thread that holds it; `None` if that sleeps, or there is none.
    pub holder: Option<ThreadNow>,
    /// Ticks in its queue.
    pub ticks: usize,
}

/// A thread of a pool, as it was a moment ago.
#[derive(Debug)]
pub struct ThreadNow {
    /// Its number among the pool's threads.
    pub number: u16,
    /// Its name, if it has one and is the pool's own.
    pub name: Option<Box<str>>,
    /// What it does.
    pub doing: Doing,
    /// What it is.
    pub role: Role,
    /// The innermost closure with a name that it is inside of.
    pub closure: Option<Closure>,
    /// The CPU time that it has used, if the system tells and it runs something.
    pub cpu_ns: Option<u64>,
    /// Forks that wait to be taken or popped.
    pub forks: usize,
    /// Spawned jobs that wait in its queue.
    pub jobs: usize,
    /// Tasks that wait in its run queue, with the one in front of it.
    pub tasks: usize,
}

impl PoolNow {
    /// Looks at the pool.
    pub fn of(pool: &Pool) -> Self {
        let (table, permits, queues) = (pool.threads().table(), pool.permits(), pool.queues());
        let mut closures = pool.threads().closures();
        let mut look = |worker: &WorkerShared| ThreadNow::of(pool, worker, &mut closures);
        let held: Vec<Option<u16>> =
            permits.words().iter().take(pool.parallelism()).map(|hold| hold.thread()).collect();
        let holder = |thread: Option<u16>, look: &mut dyn FnMut(&WorkerShared) -> ThreadNow| {
            thread.and_then(|thread| table.get(thread.into())).map(look)
        };
        let permits = (0..)
            .zip(&held)
            .map(|(index, &thread)| PermitNow {
                holder: holder(thread, &mut look),
                ticks: queues.ticks().queued(index),
            })
            .collect();
        let is_other = |worker: &&WorkerShared| {
            worker.status().doing() != Doing::Loop && !held.contains(&Some(worker.id()))
        };
        Self {
            active: pool.active(),
            threads: pool.threads().live(),
            permits,
            others: table.iter().filter(is_other).map(look).collect(),
            injected_jobs: queues.jobs.len(),
            injected_tasks: queues.tasks.len(),
            steals: table.iter().map(|worker| worker.own().steals.get()).sum(),
            wakes: table.iter().map(|worker| worker.own().wakes.get()).sum::<u64>()
                + pool.permits().wakes_from_outside(),
        }
    }
}

impl ThreadNow {
    fn of(pool: &Pool, worker: &WorkerShared, closures: &mut Vec<Named>) -> Self {
        let status = worker.status();
        let place = closures.iter().position(|(number, ..)| *number == worker.id());
        let (_, name, closure) = place.map_or((worker.id(), None, None), |place| closures.swap_remove(place));
        let runs = matches!(status.doing(), Doing::Job | Doing::Poll | Doing::Tick);
        Self {
            number: worker.id(),
            name,
            doing: status.doing(),
            role: status.role(),
            closure,
            cpu_ns: worker.number().filter(|_| runs).and_then(|number| pool.system().cpu_ns(number)),
            forks: worker.stack.seen_len(),
            jobs: worker.spawned.len(),
            tasks: worker.tasks.len() + usize::from(worker.tasks.has_lifo()),
        }
    }
}

static OBSERVER: OnceLock<fn()> = OnceLock::new();

/// Has `start` called whenever a pool has been built, on the thread that builds it. The first one counts.
pub fn set_observer(start: fn()) {
    let _ = OBSERVER.set(start);
}

/// A pool has been built.
pub(crate) fn start() {
    static HAS_TOLD: PerProcess<AtomicBool> = PerProcess::new(AtomicBool::new(false), AtomicBool::default);
    if let Some(start) = OBSERVER.get() {
        start();
    } else if std::env::var_os("HEIST_LIVE").is_some_and(|value| !value.is_empty())
        && !HAS_TOLD.get().swap(true, Ordering::Relaxed)
    {
        heist_sync::warn(format_args!(
            "HEIST_LIVE has no effect: the program was built without the feature `live`"
        ));
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;
    use crate::pool::Config;
    use crate::threads::ThreadStart;

    /// What runs, what waits and how much is queued behind it.
    #[test]
    fn a_sample_shows_what_a_blocked_worker_keeps_waiting() {
        let config = Config { parallelism: 1, is_hidden: true, ..Config::default() };
        let pool = config.build(ThreadStart::spawn).unwrap();
        let before = PoolNow::of(&pool);
        assert_eq!((before.active, before.permits.len(), before.injected_jobs), (1, 1, 0));
        let found = pool.install(|| PoolNow::of(&pool));
        let holder = found.permits[0].holder.as_ref().unwrap();
        assert_eq!((holder.doing, holder.forks, found.others.len()), (Doing::Job, 0, 0));
        assert!(!crate::global::all().iter().any(|other| std::ptr::eq(&**other, &*pool)));
        pool.close();
    }
}
