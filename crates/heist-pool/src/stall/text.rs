//! The report as text: what is wrong, then everything that is known.

use super::graph;
use super::shown::{
    CallReport, Finding, Node, PoolReport, Progress, Report, TaskReport, ThreadReport, TickReport,
};
use crate::threads::{Closure, ClosureKind, ThreadState};
use crate::waits::WaitsFor;
use std::fmt;
use std::time::Duration;

/// To a millisecond: nobody has looked closer.
fn short(time: Duration) -> Duration {
    Duration::from_millis(time.as_millis() as u64)
}

/// So many of something.
fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// The advice for threads that are blocked while others wait for them.
const ADVICE: &str = "let whatever blocks run inside of heist::blocking, or give it to task::spawn_blocking; or build the pool with \
                      rescue_blocked(true), and spare threads run what is queued";

/// So many tasks are printed; the structured report has all.
const TASKS_MOST: usize = 200;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stalls = self.findings.iter().filter(|finding| finding.is_stall()).count();
        match stalls {
            0 => writeln!(f, "stall report: nothing is stalled, as far as one can tell")?,
            n => writeln!(f, "stall report: {}", count(n, "finding"))?,
        }
        for finding in &self.findings {
            self.finding(f, finding)?;
        }
        for part in &self.unknown {
            writeln!(f, "  unknown, because it was being changed all the while: {part}")?;
        }
        self.pools.iter().try_for_each(|pool| self.pool(f, pool))?;
        if !self.tasks.is_empty() {
            writeln!(f, "{}", count(self.tasks.len(), "task"))?;
        }
        for task in self.tasks.iter().take(TASKS_MOST) {
            write!(f, "  {task}")?;
            if let Some(other) = task.awaits {
                write!(f, ", awaits {}", Named(self, Node::Task(other)))?;
            }
            writeln!(f)?;
        }
        if self.tasks.len() > TASKS_MOST {
            writeln!(f, "  and {} more", self.tasks.len() - TASKS_MOST)?;
        }
        if !self.calls.is_empty() {
            writeln!(
                f,
                "{}",
                match self.calls.len() {
                    1 => "1 blocking call or computation".into(),
                    n => format!("{n} blocking calls and computations"),
                }
            )?;
        }
        for call in self.calls.iter().take(TASKS_MOST) {
            writeln!(f, "  {call}")?;
        }
        Ok(())
    }
}

impl Report {
    fn finding(&self, f: &mut fmt::Formatter<'_>, finding: &Finding) -> fmt::Result {
        match finding {
            Finding::Cycle(nodes) => {
                write!(f, "  a circle of waits: ")?;
                for node in nodes {
                    write!(f, "{} waits for ", Named(self, *node))?;
                }
                match nodes.first() {
                    Some(first) => writeln!(f, "{}", Named(self, *first)),
                    None => writeln!(f),
                }
            }
            Finding::Asleep { pool, thread, at_least } => {
                let at_least = short(*at_least);
                writeln!(
                    f,
                    "  asleep in the kernel for {at_least:?}, at a lock, a channel or another call: {}",
                    Named(self, Node::Thread(*pool, *thread))
                )
            }
            Finding::AllBlocked { pool, jobs, tasks } => writeln!(
                f,
                "  every worker of pool {pool} is blocked while {} and {} are queued; {ADVICE}",
                count(*jobs, "job"),
                count(*tasks, "task")
            ),
            Finding::NobodyWakes { task } => {
                writeln!(
                    f,
                    "  nobody will wake {}: it waits, and no waker of it is left",
                    Named(self, Node::Task(*task))
                )
            }
            Finding::AllAsleep { tasks, without_waker } => writeln!(
                f,
                "  all tasks are asleep: block_on waits, nothing is queued, no timer is set, no socket is registered and no blocking call \
                 runs; {}, {without_waker} of them without a waker; a waker that a thread of the program's own holds could still help",
                count(*tasks, "task")
            ),
            Finding::LongRunning { pool, thread, at_least } => {
                let at_least = short(*at_least);
                writeln!(
                    f,
                    "  long-running, not stalled: {} computes, for {at_least:?}",
                    Named(self, Node::Thread(*pool, *thread))
                )
            }
        }
    }

    fn pool(&self, f: &mut fmt::Formatter<'_>, pool: &PoolReport) -> fmt::Result {
        let PoolReport { id, active, queued_jobs, queued_tasks, .. } = pool;
        let global = if pool.is_global { ", the global one" } else { "" };
        let free = pool.permits.iter().take(*active).filter(|permit| permit.holder.is_none()).count();
        writeln!(
            f,
            "pool {id}{global}: {} may run, {} free, {} and {} queued",
            count(*active, "thread"),
            count(free, "permit"),
            count(*queued_jobs, "job"),
            count(*queued_tasks, "task")
        )?;
        for thread in &pool.threads {
            write!(f, "  {thread}")?;
            match thread.waits_for {
                WaitsFor::Unknown => {}
                WaitsFor::Half(thief) => write!(f, ", for the half of a join that thread {thief} has taken")?,
                WaitsFor::Jobs => f.write_str(", for the jobs of a scope or a broadcast, or for a tick")?,
                WaitsFor::Call(to) => write!(f, ", for a call into pool {to}")?,
                WaitsFor::Future => f.write_str(", for a future that it blocks on")?,
                WaitsFor::Permit(index) => write!(f, ", to have permit {index} back")?,
                WaitsFor::Blocking => f.write_str(", inside of blocking")?,
            }
            for runner in graph::runners(&self.pools, thread) {
                write!(f, ", which runs on {}", Named(self, runner))?;
            }
            if let Some(task) = thread.awaits {
                write!(f, ", awaits {}", Named(self, Node::Task(task)))?;
            }
            if let Some(task) = thread.task {
                write!(f, ", polls {}", Named(self, Node::Task(task)))?;
            }
            writeln!(f)?;
        }
        for tick in &pool.ticks {
            writeln!(f, "  {tick}")?;
        }
        for (index, permit) in pool.permits.iter().enumerate().filter(|(_, permit)| permit.is_wanted) {
            let holder = permit.holder.map_or("nobody".into(), |thread| format!("thread {thread}"));
            writeln!(f, "  permit {index} is wanted back from {holder}")?;
        }
        Ok(())
    }
}

/// A thread or task by its name, and what it runs.
struct Named<'a>(&'a Report, Node);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            Node::Task(id) => match self.0.task(id) {
                None => write!(f, "task {}.{}", id as u32, id >> 32),
                Some(task) => {
                    write!(f, "task {}", task.shown)?;
                    if let Some(name) = &task.name {
                        write!(f, " ({name})")?;
                    }
                    write!(f, ", spawned at {}", task.site)
                }
            },
            Node::Thread(pool, number) => {
                write!(f, "thread {number}")?;
                let Some(thread) = self.0.thread(pool, number) else { return write!(f, " of pool {pool}") };
                if let Some(name) = &thread.name {
                    write!(f, " ({name})")?;
                }
                write!(f, " of pool {pool}")?;
                match (thread.task, &thread.tick, thread.closure, thread.scope_job) {
                    (Some(task), ..) => write!(f, ", in a poll of {}", Named(self.0, Node::Task(task)))?,
                    (_, Some(tick), ..) => write!(f, ", in {tick}")?,
                    (_, _, Some(closure), _) => write!(f, ", in {}", Called(closure))?,
                    (_, _, _, None) if thread.state == ThreadState::Job => {
                        f.write_str(", in a half of a join")?
                    }
                    _ => {}
                }
                match thread.scope_job {
                    Some(site) => write!(f, ", in a job of a scope, spawned at {site}"),
                    None => Ok(()),
                }
            }
        }
    }
}

/// What a thread is inside of.
struct Called(Closure);

impl fmt::Display for Called {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.0.kind {
            ClosureKind::Job => "a job",
            ClosureKind::Install => "an installed job",
            ClosureKind::Blocking => "a blocking call in place",
            ClosureKind::Compute => "a computation",
        };
        write!(f, "{kind} from {}, for {:?}", self.0.site, short(self.0.since))
    }
}

impl fmt::Display for ThreadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guest = if self.is_guest { ", a guest" } else { "" };
        write!(
            f,
            "thread {} ({}{guest}) {}",
            self.number,
            self.name.as_deref().unwrap_or("no name"),
            self.state
        )?;
        match self.progress {
            Progress::Idle if self.state == ThreadState::Waiting => {
                write!(f, " for {:?}", short(self.at_least))?
            }
            Progress::Idle | Progress::Moving => {}
            Progress::Computing => write!(f, " and computes, for {:?} at least", short(self.at_least))?,
            Progress::Asleep => write!(f, " and is asleep, for {:?} at least", short(self.at_least))?,
            Progress::Unknown => write!(
                f,
                ", for {:?} at least; whether it computes or sleeps is unknown",
                short(self.at_least)
            )?,
        }
        if let Some(place) = &self.sleeps_in {
            write!(f, " ({place})")?;
        }
        if let Some(closure) = self.closure {
            write!(f, ": {}", Called(closure))?;
        }
        if let Some(tick) = &self.tick {
            write!(f, ": {tick}")?;
        }
        if let Some(site) = self.scope_job {
            write!(f, ", in a job of a scope, spawned at {site}")?;
        }
        if let Some(index) = self.holds {
            write!(f, ", holds permit {index}")?;
        }
        match self.lent {
            Some((index, Some(thread))) if thread != self.number => {
                write!(f, ", has lent permit {index}, which thread {thread} holds")
            }
            Some((index, _)) => write!(f, ", has lent permit {index}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for CallReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_computation { "computation" } else { "blocking call" };
        let state = if self.is_running { "running" } else { "queued" };
        write!(f, "{kind} {state} for {:?}, called at {}", short(self.since), self.site)?;
        match &self.name {
            Some(name) => write!(f, " ({name})"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for TickReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (site, since) = (self.site, short(self.since));
        match &self.name {
            Some(name) => write!(f, "the tick {name:?} from {site}, running for {since:?}"),
            None => write!(f, "a tick from {site}, running for {since:?}"),
        }
    }
}

impl fmt::Display for TaskReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {}", self.shown)?;
        if let Some(name) = &self.name {
            write!(f, " ({name})")?;
        }
        let (state, since, site) = (self.state, short(self.since), self.site);
        let wakers = count(self.wakers as usize, "waker");
        write!(f, " {state} for {since:?}, {wakers}, spawned at {site}, {}", self.type_name)
    }
}
