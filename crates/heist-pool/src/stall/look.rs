//! A look at the threads of all pools.

use super::shown::{PermitReport, PoolId, PoolReport, Progress, ThreadReport, TickReport};
use crate::metrics::WorkerState;
use crate::pool::Pool;
use crate::threads::{ThreadNow, ThreadState};
use crate::waits::WaitsFor;
use crate::worker::{Doing, Role, Status, WorkerShared};
use heist_sync::StdArc as Arc;
use heist_sync::std_atomic::Ordering;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// What was seen of a thread at the last look.
#[derive(Clone, Copy)]
struct Seen {
    status: Status,
    cpu_ns: Option<u64>,
    /// Since when it has that status, as far as anybody has looked, and since when it has used no CPU time.
    since: Instant,
    asleep_since: Instant,
}

/// What all looks have seen, by pool and thread.
#[derive(Default)]
pub(super) struct History(HashMap<(PoolId, u16), Seen>);

impl History {
    /// Looks at all these. The parts that could not be told are added to `unknown`.
    pub fn look(&mut self, pools: &[Arc<Pool>], unknown: &mut Vec<&'static str>) -> Vec<PoolReport> {
        self.0.retain(|(id, _), _| pools.iter().any(|pool| PoolId::of(pool) == *id));
        pools.iter().map(|pool| self.look_at(pool, unknown)).collect()
    }

    fn look_at(&mut self, pool: &Arc<Pool>, unknown: &mut Vec<&'static str>) -> PoolReport {
        let names = pool.threads().try_now().unwrap_or_else(|| {
            unknown.push("the names and closures of threads");
            Vec::new()
        });
        let ticks = pool.queues().ticks().try_running().unwrap_or_else(|| {
            unknown.push("the ticks that run");
            Vec::new()
        });
        let ticks: Vec<_> = ticks.into_iter().map(|(address, now)| TickReport::new(address, now)).collect();
        let table = pool.threads().table();
        let words = pool.permits().words();
        let permits = words.iter().take(pool.parallelism()).map(|hold| PermitReport {
            holder: hold.thread().map(usize::from),
            is_observed: hold.is_observed(),
            is_wanted: hold.is_wanted(),
        });
        let permits: Vec<_> = permits.collect();
        // The time of a guest is not counted, so it seems to be gone; but while it is there it does something.
        let is_there = |worker: &&WorkerShared| {
            worker.own().times.read().state != WorkerState::Gone || worker.status().doing() != Doing::Loop
        };
        let threads = table.iter().filter(is_there).map(|worker| {
            let named = names.iter().find(|(id, _)| *id == worker.id()).map(|(_, now)| now);
            self.thread(pool, worker, named, &ticks, &permits)
        });
        PoolReport {
            id: PoolId::of(pool),
            is_global: crate::global::is(pool),
            active: pool.active(),
            threads: threads.collect(),
            permits,
            queued_jobs: pool.queues().jobs.len()
                + table.iter().map(|w| w.queued() - w.queued_tasks().min(w.queued())).sum::<usize>(),
            queued_tasks: pool.queues().tasks.len()
                + table.iter().map(WorkerShared::queued_tasks).sum::<usize>(),
            ticks,
            rescues: pool.config().rescues(),
        }
    }

    fn thread(
        &mut self,
        pool: &Pool,
        worker: &WorkerShared,
        named: Option<&ThreadNow>,
        ticks: &[TickReport],
        permits: &[PermitReport],
    ) -> ThreadReport {
        let status = worker.status();
        let (progress, at_least, sleeps_in) = self.progress(pool, worker, status);
        let own = worker.own();
        let waits_for = if status.doing() == Doing::Wait { own.waits() } else { WaitsFor::Unknown };
        let holds = pool.permits().words().index_of(worker.id(), worker.home()).map(usize::from);
        let home = usize::from(worker.home());
        let lent = (status.doing() == Doing::Wait && holds.is_none())
            .then(|| (home, permits.get(home).and_then(|permit| permit.holder)));
        let running = own.running();
        let served = own.serves.now();
        let is_inside = status.doing() != Doing::Loop;
        let is_in = |doing: Doing| status.doing() == doing || status.doing() == Doing::Wait;
        ThreadReport {
            number: worker.id().into(),
            name: named.and_then(|now| now.name.clone()),
            is_guest: status.role() == Role::Guest,
            state: ThreadState::of(status.doing()),
            progress,
            at_least,
            closure: named.and_then(|now| now.closure).filter(|_| is_inside),
            scope_job: served.iter().rev().find_map(|(_, site)| *site).filter(|_| is_inside),
            // Its address for now; whoever has the tasks knows which it is.
            task: (is_in(Doing::Poll) && running != 0).then_some(running as u64),
            tick: ticks.iter().find(|tick| is_in(Doing::Tick) && tick.address == running).cloned(),
            holds,
            lent,
            waits_for,
            awaits: own.awaits().filter(|_| waits_for == WaitsFor::Future),
            sleeps_in,
            awaited: Some(own.awaited()).filter(|&address| address != 0 && status.doing() == Doing::Wait),
            serves: served.into_iter().map(|(what, _)| what).collect(),
        }
    }

    /// Whether the thread goes on, and for how long that has been so.
    fn progress(
        &mut self,
        pool: &Pool,
        worker: &WorkerShared,
        status: Status,
    ) -> (Progress, Duration, Option<Box<str>>) {
        let now = Instant::now();
        let (system, number) = (pool.system(), worker.number());
        let cpu_ns = number.and_then(|number| system.cpu_ns(number));
        let new = Seen { status, cpu_ns, since: now, asleep_since: now };
        let seen = self.0.entry((PoolId::of(pool), worker.id())).or_insert(new);
        if seen.status != status {
            *seen = new;
        }
        let is_first = seen.since == now;
        let is_runnable = || number.is_some_and(|number| system.cpu_of_runnable(number).is_some());
        let has_computed = seen.cpu_ns != cpu_ns || is_first || is_runnable();
        if has_computed {
            (seen.cpu_ns, seen.asleep_since) = (cpu_ns, now);
        }
        let since = now - seen.since;
        match status.doing() {
            Doing::Loop | Doing::Wait => {
                // It says itself since when.
                let spent = worker.own().times.read();
                let waits = Duration::from_nanos(spent.state_ns);
                let is_known = matches!(spent.state, WorkerState::Waiting | WorkerState::Parked);
                (Progress::Idle, if is_known { waits } else { since }, None)
            }
            // Between two calls it is not inside of a job, and nobody is told.
            _ if worker.own().is_maker.load(Ordering::Relaxed) => (Progress::Unknown, since, None),
            _ if is_first => (Progress::Moving, since, None),
            _ if cpu_ns.is_none() => (Progress::Unknown, since, None),
            _ if has_computed => (Progress::Computing, since, None),
            _ => {
                let sleeps_in = number.and_then(|number| system.sleeps_in(number));
                (Progress::Asleep, now - seen.asleep_since, sleeps_in)
            }
        }
    }
}
