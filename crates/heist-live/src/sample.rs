//! Looks at the process's pools, and makes a [`Frame`] of what it finds.

use crate::frame::{
    Frame, Inside, PoolFrame, SlowTask, State, TaskRow, Tasks, ThreadRow, TickRow, WorkerRow,
};
use heist_async::task::{self, Info};
use heist_pool::raw::global;
use heist_pool::raw::pool::Pool;
use heist_pool::raw::sample::{Doing, PoolNow, Role, ThreadNow};
use heist_pool::raw::threads::ClosureKind;
use heist_sync::StdArc as Arc;
use heist_trace::{Kind, Position};
use std::collections::HashMap;
use std::panic::Location;
use std::sync::Weak;
use std::time::{Duration, Instant};

/// A poll counts as slow from then on.
const SLOW_MS: f64 = 10.0;
/// For so long after it was seen last a slow task is shown.
const SLOW_KEPT: Duration = Duration::from_secs(30);
/// A thread that has used no CPU for so long sleeps in the system.
const ASLEEP: Duration = Duration::from_millis(40);
/// Above so many tasks the table is made anew less often.
const MANY_TASKS: usize = 1000;
const MANY_TASKS_EVERY: Duration = Duration::from_millis(250);
/// Ticks and tasks in the tables; a frame has room for some of them.
const MOST_ROWS: usize = 200;

/// See the module. It remembers what the next look needs.
pub struct Sampler {
    begun: Instant,
    /// The same moment, by the clock of events.
    begun_ns: u64,
    seq: u64,
    program: String,
    cores: usize,
    pools: Vec<Known>,
    next_pool: u64,
    tasks: Tasks,
    tasks_at: Option<Instant>,
    slow: Vec<(SlowTask, Instant)>,
    /// Whether what only waits is shown as work.
    pub waits_are_work: bool,
}

/// A pool that was seen before.
struct Known {
    id: u64,
    pool: Weak<Pool>,
    /// Per thread, the CPU time that it had used, and since when that is so.
    cpu: HashMap<u16, (u64, Instant)>,
    /// Per thread, how far its events were read.
    read: HashMap<u16, Position>,
}

impl Sampler {
    pub fn new() -> Self {
        let path = std::env::current_exe().ok();
        let name = path.as_deref().and_then(|path| path.file_stem());
        Self {
            begun: Instant::now(),
            begun_ns: heist_trace::now_ns(),
            seq: 0,
            program: name.map_or_else(|| "a program".into(), |name| name.to_string_lossy().into_owned()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            pools: Vec::new(),
            next_pool: 1,
            tasks: Tasks::default(),
            tasks_at: None,
            slow: Vec::new(),
            waits_are_work: false,
        }
    }

    /// What goes on now.
    pub fn frame(&mut self) -> Frame {
        let now = Instant::now();
        self.seq += 1;
        let mut pools = global::all();
        pools.retain(|pool| !pool.is_foreign());
        pools.sort_by_key(|pool| !global::is(pool));
        self.look_at_tasks(&pools, now);
        self.pools.retain(|known| known.pool.strong_count() > 0);
        let frames = pools.iter().filter_map(|pool| self.look_at(pool, now)).collect();
        let (mut ticks, mut ticks_left) = (Vec::new(), 0);
        for pool in &pools {
            let (shown, left) = pool.queues().ticks().shown(MOST_ROWS.saturating_sub(ticks.len()));
            ticks.extend(shown.into_iter().map(tick_row));
            ticks_left += left;
        }
        Frame {
            seq: self.seq,
            at_ms: ms(now - self.begun),
            program: self.program.clone(),
            pid: std::process::id(),
            cores: self.cores,
            pools: frames,
            tasks: self.tasks.clone(),
            slow: self.slow.iter().map(|(slow, _)| slow.clone()).collect(),
            ticks,
            ticks_left,
            demo: None,
        }
    }

    /// `None` if all its threads have left.
    fn look_at(&mut self, pool: &Arc<Pool>, now: Instant) -> Option<PoolFrame> {
        let sample = PoolNow::of(pool);
        if sample.threads == 0 {
            return None;
        }
        let place = self.pools.iter().position(|known| std::ptr::eq(known.pool.as_ptr(), &raw const **pool));
        let place = place.unwrap_or_else(|| {
            let known = Known {
                id: self.next_pool,
                pool: Arc::downgrade(pool),
                cpu: HashMap::new(),
                read: HashMap::new(),
            };
            self.next_pool += 1;
            self.pools.push(known);
            self.pools.len() - 1
        });
        let (waits_are_work, begun_ns) = (self.waits_are_work, self.begun_ns);
        let known = &mut self.pools[place];
        let mut row = |thread: &ThreadNow| {
            let is_asleep = known.is_asleep(pool, thread, now) && !waits_are_work;
            let state = match thread.doing {
                Doing::Loop => State::Searching,
                Doing::Wait => State::Waiting,
                Doing::Job | Doing::Poll | Doing::Tick if is_asleep => State::Blocked,
                Doing::Job | Doing::Poll | Doing::Tick => State::Working,
            };
            (state, inside(thread))
        };
        let mut workers = Vec::new();
        for (index, permit) in (0..).zip(&sample.permits) {
            let (state, inside) = match &permit.holder {
                Some(thread) => row(thread),
                None if usize::from(index) < sample.active => (State::Parked, Inside::default()),
                None => (State::Inactive, Inside::default()),
            };
            let (forks, jobs, tasks) =
                permit.holder.as_ref().map_or((0, 0, 0), |t| (t.forks, t.jobs, t.tasks));
            workers.push(WorkerRow { index, state, inside, forks, jobs, tasks, ticks: permit.ticks });
        }
        let others = sample.others.iter().map(|thread| {
            let (state, inside) = row(thread);
            ThreadRow {
                thread: thread.number,
                name: thread.name.as_deref().unwrap_or_default().into(),
                role: role(thread),
                state,
                inside,
                queued: thread.forks + thread.jobs + thread.tasks,
            }
        });
        let others = others.collect();
        let arrows = known.arrows(pool, &sample, begun_ns);
        Some(PoolFrame {
            id: known.id,
            name: name(pool, known.id, sample.permits.len()),
            active: sample.active,
            workers,
            others,
            injected_jobs: sample.injected_jobs,
            injected_tasks: sample.injected_tasks,
            steals: sample.steals,
            wakes: sample.wakes,
            arrows,
            arrows_left: 0,
        })
    }

    fn look_at_tasks(&mut self, pools: &[Arc<Pool>], now: Instant) {
        let total: usize = self.tasks.counts.iter().sum();
        let is_fresh = self.tasks_at.is_some_and(|at| now - at < MANY_TASKS_EVERY);
        if total > MANY_TASKS && is_fresh {
            return;
        }
        self.tasks_at = Some(now);
        let all: Vec<Info> = pools.iter().flat_map(|pool| task::dump_of(pool)).collect();
        let mut counts = [0; 5];
        let mut rows: Vec<(usize, &Info)> = Vec::with_capacity(all.len());
        for info in &all {
            let (state, rank) = place_of(info.state());
            counts[state] += 1;
            rows.push((rank, info));
        }
        rows.sort_by_key(|(rank, info)| (*rank, std::cmp::Reverse(info.since())));
        rows.truncate(MOST_ROWS);
        let row = |(_, info): &(usize, &Info)| TaskRow {
            id: info.id().to_string(),
            name: info.name().map(String::from),
            site: site(info.site()),
            state: place_of(info.state()).0,
            since_ms: ms(info.since()),
        };
        self.tasks = Tasks { counts, rows: rows.iter().map(row).collect() };
        self.note_slow(&all, now);
    }

    fn note_slow(&mut self, all: &[Info], now: Instant) {
        self.slow.iter_mut().for_each(|(slow, _)| slow.is_running = false);
        for info in all.iter().filter(|info| info.state() == task::State::Running) {
            let (id, since_ms) = (info.id().to_string(), ms(info.since()));
            if since_ms < SLOW_MS {
                continue;
            }
            match self.slow.iter_mut().find(|(slow, _)| slow.id == id) {
                Some((slow, seen)) => {
                    (slow.longest_ms, slow.is_running) = (slow.longest_ms.max(since_ms), true);
                    *seen = now;
                }
                None => {
                    let (name, site) = (info.name().map(String::from), site(info.site()));
                    let slow = SlowTask { id, name, site, longest_ms: since_ms, is_running: true };
                    self.slow.push((slow, now));
                }
            }
        }
        self.slow.retain(|(_, seen)| now - *seen < SLOW_KEPT);
        self.slow.sort_by(|(a, _), (b, _)| b.longest_ms.total_cmp(&a.longest_ms));
        self.slow.truncate(MOST_ROWS);
    }
}

impl Known {
    /// Whether the thread is inside of the program's code and has used no CPU since the last looks. A thread that only waits for a core is not
    /// asleep.
    fn is_asleep(&mut self, pool: &Pool, thread: &ThreadNow, now: Instant) -> bool {
        let Some(cpu_ns) = thread.cpu_ns else {
            self.cpu.remove(&thread.number);
            return false;
        };
        let (before, since) = *self.cpu.entry(thread.number).or_insert((cpu_ns, now));
        if before != cpu_ns {
            self.cpu.insert(thread.number, (cpu_ns, now));
        }
        before == cpu_ns && now - since >= ASLEEP && pool.is_runnable(thread.number) == Some(false)
    }

    /// The steals that the pool's threads have recorded since the last look.
    fn arrows(&mut self, pool: &Pool, sample: &PoolNow, begun_ns: u64) -> Vec<(f64, u16, u16)> {
        let mut arrows = Vec::new();
        let index_of = |thread: u16| {
            let held = |permit: &_| holder(permit) == Some(thread);
            let place = sample.permits.iter().position(held).map(|index| index as u16);
            place.or_else(|| pool.last_index(thread))
        };
        let mut events = Vec::new();
        for thread in 0..pool.threads().table().len() as u16 {
            let from = self.read.get(&thread).copied();
            events.clear();
            let Some((next, _)) = pool.recorded(thread, from.unwrap_or_default(), &mut events) else {
                continue;
            };
            self.read.insert(thread, next);
            // What was recorded before the view looked for the first time is not news.
            if from.is_none() && events.len() > 1000 {
                continue;
            }
            for steal in events.iter().filter(|event| event.kind == Kind::Steal) {
                let thief = steal.worker.or_else(|| index_of(thread));
                if let (Some(from), Some(to)) = (index_of(steal.arg as u16), thief) {
                    arrows.push((steal.at_ns.saturating_sub(begun_ns) as f64 / 1e6, from, to));
                }
            }
        }
        arrows
    }
}

fn holder(permit: &heist_pool::raw::sample::PermitNow) -> Option<u16> {
    permit.holder.as_ref().map(|thread| thread.number)
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// What people call a pool.
fn name(pool: &Pool, id: u64, workers: usize) -> String {
    let workers = match workers {
        1 => "1 worker".into(),
        n => format!("{n} workers"),
    };
    if global::is(pool) { format!("global, {workers}") } else { format!("pool {id}, {workers}") }
}

/// The file with the folder that it is in, and the line.
fn site(location: &Location<'_>) -> String {
    let mut parts = location.file().rsplit(['/', '\\']);
    let file = parts.next().unwrap_or_default();
    match parts.next() {
        Some(folder) => format!("{folder}/{file}:{}", location.line()),
        None => format!("{file}:{}", location.line()),
    }
}

/// What a thread is inside of.
fn inside(thread: &ThreadNow) -> Inside {
    let does = match thread.doing {
        Doing::Job => "job",
        Doing::Poll => "poll",
        Doing::Tick => "tick",
        Doing::Loop | Doing::Wait => "",
    };
    let Some(closure) = &thread.closure else { return Inside { does, ..Inside::default() } };
    let place = site(closure.site);
    let runs = match closure.kind {
        ClosureKind::Job => place,
        ClosureKind::Install => format!("install at {place}"),
        ClosureKind::Blocking => format!("blocking at {place}"),
        ClosureKind::Compute => format!("compute at {place}"),
    };
    Inside { does, runs, since_ms: ms(closure.since) }
}

/// Why a thread has no permit.
fn role(thread: &ThreadNow) -> &'static str {
    match (thread.role, thread.doing) {
        (Role::Guest, Doing::Wait) => "a thread of the program's own, waits",
        (Role::Guest, _) => "a thread of the program's own",
        (_, Doing::Wait) => "has lent its permit",
        (Role::Resumed, _) => "goes on after a wait",
        (Role::Overtaker, _) => "runs tasks while all workers compute",
        (Role::Rescuer, _) => "runs jobs while all workers are blocked",
        (Role::Holder, _) => "has just given its permit away",
    }
}

/// The place of a state in the table's counts, and of its rows among the others.
fn place_of(state: task::State) -> (usize, usize) {
    match state {
        task::State::Running => (0, 0),
        task::State::Scheduled => (1, 2),
        task::State::Waiting => (2, 3),
        task::State::Leaked => (3, 1),
        _ => (4, 4),
    }
}

fn tick_row(tick: heist_pool::raw::tick::TickShown) -> TickRow {
    TickRow {
        name: tick.name.map(String::from),
        site: site(tick.site),
        period_ms: ms(tick.period),
        tps: tick.tps,
        took_ms: (ms(tick.took.0), ms(tick.took.1)),
        late_ms: (ms(tick.late.0), ms(tick.late.1)),
        skipped: tick.skipped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_short_and_tells_the_line() {
        let here = Location::caller();
        assert_eq!(site(here), format!("src/sample.rs:{}", here.line()));
    }
}
