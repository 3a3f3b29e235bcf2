//! One look at a pool.
//!
//! **Tasks that wait** behind polls and jobs that do not end: if a permit is free, a thread is woken for it. If every thread that
//! holds one is still inside of the poll or job in which it was seen at the last look, one more thread runs tasks without a permit,
//! for as long as that lasts: the long poll is not stopped but overtaken.
//!
//! **Polls that block**: a thread inside of a poll that has used no CPU time since the last look loses its permit, unless it has
//! asked for its index, and another thread runs jobs and tasks with it (Go's hand-off).
//!
//! **Jobs that block** hold their permit, as in rayon. Only if the program has asked for it, and all have used no CPU time for a
//! second, do spare threads run the queued jobs.

use crate::permits::{Count, Permits};
use crate::pool::Pool;
use crate::queues::Queues;
use crate::threads::{Table, ThreadNow, ThreadStart, ThreadState, Threads};
use crate::worker::{Doing, Role, Status, WorkerShared};
use heist_os::WokenFor;
use heist_policy::{self as policy, Overtake, TasksView, tuning};
use heist_sync::StdArc as Arc;
use heist_sync::atomic::Ordering;
use std::sync::Weak;
use std::time::{Duration, Instant};

/// When the monitor looks again.
#[must_use]
pub(super) enum Next {
    /// As soon as may be: something waits, and nobody has got to it.
    Soon,
    /// Something may still wait.
    Later,
    /// Then, though nothing waits now: a tick is due about that time.
    At(Instant),
    /// When the pool asks again.
    Forget,
}

/// What the monitor knows about a pool.
pub struct Look {
    pool: Weak<Pool>,
    /// By thread number, what each did at the last look, and what CPU time it had used.
    seen: Vec<Seen>,
    /// Since when no thread that could run jobs has used CPU time, and how much it had used.
    asleep: Option<(Instant, Vec<(u16, u64)>)>,
    /// When it looks next.
    pub(super) at: Instant,
    /// The pool has asked for that; else it is by plan.
    pub(super) is_asked: bool,
}

#[derive(Clone, Copy)]
struct Seen {
    status: Status,
    since: Instant,
    cpu_ns: Option<u64>,
}

impl Look {
    /// The pool has asked for a look at that time.
    pub fn new(pool: Weak<Pool>, at: Instant) -> Self {
        Self { pool, seen: Vec::new(), asleep: None, at, is_asked: true }
    }

    /// The pool asks, though a look was planned.
    pub(super) fn ask(&mut self, at: Instant) {
        self.at = self.at.min(at);
        self.is_asked = true;
    }

    /// Whether this pool is the one that it looks at.
    pub(super) fn is_at(&self, pool: &Weak<Pool>) -> bool {
        self.pool.ptr_eq(pool)
    }

    pub(super) fn look(&mut self) -> Next {
        let Some(pool) = self.pool.upgrade() else { return Next::Forget };
        let next = match (self.look_at(&pool), pool.queues().ticks().clock().manual()) {
            // Where time is virtual, everything is to happen in the same order whenever it happens: nobody is overtaken for being slow.
            (Next::Soon | Next::Later, Some(_)) => {
                Next::At(Instant::now() + Duration::from_nanos(tuning::MANUAL_CLOCK_LOOK_NS))
            }
            (next, _) => next,
        };
        release(pool);
        next
    }

    fn look_at(&mut self, pool: &Arc<Pool>) -> Next {
        pool.watched().withdraw_plan();
        pool.queues().ticks().watchdog().look(pool);
        let table = pool.threads().table();
        let has_tasks = pool.queues().has_tasks(table);
        let is_neglected = pool.due().is_driver_left() && pool.driver().is_neglected();
        let has_jobs = pool.watched().minds_jobs() && pool.queues().has_jobs(table);
        let mut view = TasksView {
            waiting: has_tasks || is_neglected,
            free_permits: pool.permits().count(Count::Free),
            ..TasksView::default()
        };
        let something_waits = view.waiting || has_jobs;
        let mut has_handed_off = false;
        // A thread that holds a permit is inside of a poll or tick of which nobody knows how long it will be.
        let mut has_unknown = false;
        let mut holders = 0;
        for worker in table.iter() {
            let index = self.index_of(pool, worker);
            let is_stuck = self.is_stuck(worker);
            holders += usize::from(index.is_some());
            match (index, is_stuck) {
                (Some(_), false) => {
                    view.moving_holders += 1;
                    has_unknown |= matches!(worker.status().doing(), Doing::Poll | Doing::Tick);
                }
                (Some(index), true) if something_waits && view.free_permits == 0 => {
                    has_handed_off |= self.hand_off(pool, worker, index);
                }
                (None, false) if worker.status().is_overtaking() => view.moving_overtakers += 1,
                _ => {}
            }
        }
        // A thread that starts with a permit will get there.
        view.moving_holders += pool.permits().in_use().saturating_sub(view.free_permits + holders);
        let overtake = match pool.active() {
            0 => Overtake::No,
            _ if has_handed_off => Overtake::Wake,
            _ => policy::overtake(view),
        };
        let has_acted = match overtake {
            Overtake::No => false,
            Overtake::Wake => {
                pool.permits().announce(pool, if has_tasks { WokenFor::Task } else { WokenFor::Job });
                true
            }
            Overtake::One => self.overtake(pool),
        };
        if has_jobs && pool.watched().rescues && pool.active() > 0 {
            self.rescue(pool);
        }
        let is_short = is_short(pool.permits(), pool.queues(), table);
        if is_short {
            pool.permits().wake_visible(pool);
        }
        // Nothing waits behind that poll now, but what is woken next should not have to wait for two looks.
        let may_wait = has_unknown && view.free_permits == 0;
        if pool.active() > 0 && (something_waits || is_short || may_wait || pool.due().is_driver_left()) {
            pool.watched().is_on.keep();
            return if has_acted { Next::Soon } else { Next::Later };
        }
        self.forget(pool)
    }

    /// Nothing waits, or nothing may run: the pool asks again when something does.
    fn forget(&self, pool: &Pool) -> Next {
        let table = pool.threads().table();
        // LIVENESS: who lets permits be active again asks for a look after that.
        let waits = || {
            pool.active() > 0
                && (pool.queues().has_tasks(table)
                    || pool.due().is_driver_left()
                    || is_short(pool.permits(), pool.queues(), table)
                    || (pool.watched().minds_jobs()
                        && pool.permits().count(Count::Free) == 0
                        && pool.queues().has_jobs(table)))
        };
        if !pool.watched().is_on.lower(waits) {
            return Next::Later;
        }
        let Some(left_ns) = pool.due().next_look_in_ns() else { return Next::Forget };
        pool.watched().plan(pool.queues().ticks().now_ns().saturating_add(left_ns));
        // A time that the system's clock does not have does not come.
        Instant::now().checked_add(Duration::from_nanos(left_ns)).map_or(Next::Forget, Next::At)
    }

    /// The permit that the thread holds.
    fn index_of(&self, pool: &Pool, worker: &WorkerShared) -> Option<u16> {
        pool.permits().words().index_of(worker.id(), worker.home())
    }

    /// Whether the thread is in the same poll, tick or job as at the last look. A poll or a tick is then known to be a long one.
    fn is_stuck(&mut self, worker: &WorkerShared) -> bool {
        let status = worker.status();
        let id = usize::from(worker.id());
        let now = Seen { status, since: Instant::now(), cpu_ns: None };
        match self.seen.get_mut(id) {
            Some(seen) if seen.status == status => {
                if matches!(status.doing(), Doing::Poll | Doing::Tick) {
                    worker.note_long_poll(status);
                }
                return matches!(status.doing(), Doing::Job | Doing::Poll | Doing::Tick);
            }
            // It moves.
            Some(seen) => *seen = now,
            // Seen for the first time: it moves.
            None => self.seen.push(now),
        }
        false
    }

    /// A thread that holds a permit is stuck, and something waits. If it is in a poll or a tick and has used no CPU time since the last look,
    /// the permit is taken from it. True if that was so. Where CPU times are unknown, a poll that lasts for long enough counts as
    /// blocked: a permit that was not observed can be taken from a poll that computes, too; there is a thread more then.
    fn hand_off(&mut self, pool: &Pool, worker: &WorkerShared, index: u16) -> bool {
        let seen = &mut self.seen[usize::from(worker.id())];
        if !matches!(seen.status.doing(), Doing::Poll | Doing::Tick) || pool.config().is_bound() {
            return false;
        }
        let system = pool.system();
        let cpu_ns = worker.number().and_then(|number| system.cpu_ns(number));
        let before = std::mem::replace(&mut seen.cpu_ns, cpu_ns);
        let is_blocked = match cpu_ns {
            None => seen.since.elapsed().as_nanos() >= u128::from(tuning::UNKNOWN_BLOCKED_NS),
            // On a busy machine it may merely wait for a core.
            Some(_) => {
                before == cpu_ns
                    && worker.number().and_then(|number| system.cpu_of_runnable(number)).is_none()
            }
        };
        if !is_blocked {
            return false;
        }
        let mut open = pool.permits().open();
        let Some(grant) = open.revoke(worker.id(), index) else { return false };
        open.hand_over(pool.threads().table(), grant);
        true
    }

    /// One more thread runs tasks, without a permit: a parked one, or a new one. False if none can be had.
    fn overtake(&self, pool: &Arc<Pool>) -> bool {
        let threads = pool.threads();
        let Some(mut open) = pool.permits().open().wake_overtaker(threads.table()) else { return true };
        if !threads.may_start(pool) {
            return false;
        }
        open.count(Count::Overtaking);
        drop(open);
        ThreadStart::start_without_permit(pool, Role::Overtaker);
        true
    }

    /// Every thread that could run jobs has blocked, unannounced, and jobs are queued. If none has used any CPU time for a second,
    /// perhaps they wait for just these jobs. Where CPU times are unknown: no.
    fn rescue(&mut self, pool: &Arc<Pool>) {
        let used = |worker: &WorkerShared| {
            let cpu_ns = worker.number().and_then(|number| pool.system().cpu_ns(number));
            cpu_ns.map(|ns| (worker.id(), ns))
        };
        let runs_jobs = |worker: &&WorkerShared| {
            worker.status().doing() == Doing::Job
                && (worker.status().role() == Role::Rescuer || self.index_of(pool, worker).is_some())
        };
        let all: Option<Vec<_>> = pool.threads().table().iter().filter(runs_jobs).map(used).collect();
        let is_full = pool.permits().count(Count::Free) == 0;
        let Some(all) = all.filter(|all| is_full && !all.is_empty()) else {
            self.asleep = None;
            return;
        };
        let now = Instant::now();
        match &self.asleep {
            Some((since, before)) if *before == all => {
                let asleep_ns = now.duration_since(*since).as_nanos() as u64;
                if policy::last_resort(asleep_ns) && pool.threads().may_start(pool) {
                    self.asleep = None;
                    if !pool.watched().has_warned.swap(true, Ordering::Relaxed) {
                        heist_sync::warn(format_args!(
                            "every worker of a pool has used no CPU time for a second while jobs are queued; spare threads run \
                             those. Wrap calls that block in heist::blocking(|| ...){}",
                            blocked(pool.threads())
                        ));
                    }
                    ThreadStart::start_without_permit(pool, Role::Rescuer);
                }
            }
            _ => self.asleep = Some((now, all)),
        }
    }
}

/// Whether jobs or tasks wait though a permit is free. If the system has refused a thread for them, nobody else tries again. Not so for ticks: one
/// thread may run all that are due, and while it does it looks after the driver.
fn is_short(permits: &Permits, queues: &Queues, table: &Table) -> bool {
    permits.count(Count::Free) > 0 && queues.has_visible_work(table)
}

/// The jobs that threads of the pool are inside of, as far as they have names, each on a line of its own.
fn blocked(threads: &Threads) -> String {
    let in_jobs = |thread: &ThreadNow| thread.state == ThreadState::Job;
    let closures = threads.now().into_iter().filter(in_jobs).filter_map(|thread| thread.closure);
    closures
        .map(|closure| format!("\n  a job has been running for {:?}, from {}", closure.since, closure.site))
        .collect()
}

/// Lets go of a pool. If that was the last reference, its handlers' captures are dropped, which is the user's code, on a thread of
/// its own.
pub(crate) fn release(pool: Arc<Pool>) {
    if let Some(pool) = Arc::into_inner(pool) {
        // If no thread can be had, the closure is dropped here, and the pool with it.
        let _ = heist_sync::start_thread("heist-last", Box::new(move || drop(pool)));
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;
    use crate::pool::Config;
    use crate::queues::job::heap_job;
    use std::sync::mpsc::channel;

    /// A thread for a job was refused, and that was forgotten: one that was asked for before has come since. The next look starts one.
    #[test]
    fn work_beside_a_free_permit_gets_a_thread() {
        let pool = Pool::new(Config { parallelism: 1, ..Config::default() });
        let (ran, has_run) = channel();
        // SAFETY: it does not unwind and borrows nothing.
        let job = unsafe { heap_job(move || ran.send(()).unwrap(), std::ptr::null()) };
        pool.queues().jobs.push(job);
        pool.watched().is_on.keep();
        let mut look = Look::new(Arc::downgrade(&pool), Instant::now());
        assert!(!matches!(look.look(), Next::Forget), "something waits");
        has_run.recv().unwrap();
        pool.close();
    }

    /// Nothing waits behind a poll while every permit is in use. It is looked at twice all the same, and is then known to be long; what
    /// becomes ready next finds that out by itself.
    #[test]
    fn a_long_poll_is_known_before_anything_waits_behind_it() {
        let pool = Pool::new(Config { parallelism: 1, ..Config::default() });
        let worker = pool.threads().table().enrol().unwrap().shared;
        assert_eq!(pool.permits().open().acquire(worker.id(), 0), Some(0));
        worker.set_doing(Doing::Poll);
        pool.watched().is_on.keep();
        let mut look = Look::new(Arc::downgrade(&pool), Instant::now());
        assert!(matches!(look.look(), Next::Later) && !worker.computes());
        assert!(matches!(look.look(), Next::Forget) && worker.computes());
        // The next poll is another one.
        worker.set_doing(Doing::Loop);
        worker.set_doing(Doing::Poll);
        assert!(matches!(look.look(), Next::Later) && !worker.computes());
        // With a permit to be had, a thread that is woken runs what is ready.
        assert_eq!(pool.permits().open().release(worker.id(), 0), None);
        assert!(matches!(look.look(), Next::Forget));
        worker.set_doing(Doing::Loop);
    }
}
