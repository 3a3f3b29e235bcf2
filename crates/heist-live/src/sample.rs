//! Looks at the process's pools, and makes a [`Frame`] of what it finds.

use crate::frame::{
    Frame, Inside, PoolFrame, SlowTask, State, TaskRow, Tasks, ThreadRow, TickRow, WorkerRow,
};
use crate::recorded::Recorded;
use heist_async::task::{self, Info};
use heist_pool::raw::global;
use heist_pool::raw::pool::Pool;
use heist_pool::raw::sample::{Doing, PoolNow, Role, ThreadNow};
use heist_pool::raw::threads::ClosureKind;
use heist_sync::StdArc as Arc;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::Weak;
use std::time::{Duration, Instant};

/// A poll counts as slow from then on.
const SLOW_NS: u64 = 10_000_000;
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
    tasks: Tasks,
    tasks_at: Option<Instant>,
    /// How often each task was polled since somebody looks, and since the last look at tasks, by its number in events.
    polls: HashMap<u32, (task::Id, u64)>,
    new_polls: HashMap<u32, u64>,
    slow: Vec<Slow>,
    /// Whether the pools' threads record what they do.
    is_recorded: bool,
    /// Whether what only waits is shown as work.
    pub waits_are_work: bool,
}

/// A pool that was seen before.
struct Known {
    pool: Weak<Pool>,
    /// Per thread, the CPU time that it had used, and since when that is so.
    cpu: HashMap<u16, (u64, Instant)>,
    recorded: Option<Recorded>,
}

/// A slow task, by its name or else the place where it was spawned: that is what events tell, too.
struct Slow {
    called: String,
    row: SlowTask,
    seen: Instant,
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
            tasks: Tasks::default(),
            tasks_at: None,
            polls: HashMap::new(),
            new_polls: HashMap::new(),
            slow: Vec::new(),
            is_recorded: false,
            waits_are_work: false,
        }
    }

    /// From here on the pools' threads record what they do, or no longer do.
    pub fn set_recorded(&mut self, is_recorded: bool) {
        self.is_recorded = is_recorded;
        self.pools.iter_mut().for_each(|known| known.recorded = None);
        self.polls.clear();
        self.new_polls.clear();
    }

    /// What goes on now, and the pools that it has looked at. The last reference to one of them may be among these: they are not to be dropped
    /// under a lock.
    pub fn frame(&mut self) -> (Frame, Vec<Arc<Pool>>) {
        let now = Instant::now();
        self.seq += 1;
        let mut pools = global::all();
        pools.retain(|pool| !pool.is_foreign());
        pools.sort_by_key(|pool| !global::is(pool));
        self.pools.retain(|known| known.pool.strong_count() > 0);
        let frames = pools.iter().filter_map(|pool| self.look_at(pool, now)).collect();
        self.look_at_tasks(&pools, now);
        let (mut ticks, mut ticks_left) = (Vec::new(), 0);
        for pool in &pools {
            let (shown, left) = pool.queues().ticks().shown(MOST_ROWS.saturating_sub(ticks.len()));
            ticks.extend(shown.into_iter().map(tick_row));
            ticks_left += left;
        }
        let frame = Frame {
            seq: self.seq,
            at_ms: ms(now - self.begun),
            program: self.program.clone(),
            pid: std::process::id(),
            cores: self.cores,
            pools: frames,
            tasks: self.tasks.clone(),
            slow: self.slow.iter().map(|slow| slow.row.clone()).collect(),
            ticks,
            ticks_left,
            demo: None,
            is_recording: false,
        };
        (frame, pools)
    }

    /// `None` if all its threads have left.
    fn look_at(&mut self, pool: &Arc<Pool>, now: Instant) -> Option<PoolFrame> {
        let sample = PoolNow::of(pool);
        if sample.threads == 0 {
            return None;
        }
        let place = self.pools.iter().position(|known| std::ptr::eq(known.pool.as_ptr(), &raw const **pool));
        let place = place.unwrap_or_else(|| {
            self.pools.push(Known { pool: Arc::downgrade(pool), cpu: HashMap::new(), recorded: None });
            self.pools.len() - 1
        });
        let (waits_are_work, begun_ns) = (self.waits_are_work, self.begun_ns);
        let known = &mut self.pools[place];
        if self.is_recorded && known.recorded.is_none() {
            known.recorded = Some(Recorded::from_now(pool));
        }
        let found = known.recorded.as_mut().map(|recorded| recorded.look(pool, &sample, SLOW_NS));
        let found = found.unwrap_or_default();
        let mut row = |thread: &ThreadNow| {
            let is_asleep = known.is_asleep(pool, thread, now) && !waits_are_work;
            let state = match thread.doing {
                Doing::Loop => State::Searching,
                Doing::Wait => State::Waiting,
                Doing::Job | Doing::Poll | Doing::Tick if is_asleep => State::Blocked,
                Doing::Job | Doing::Poll | Doing::Tick => State::Working,
            };
            (state, inside(thread, known.recorded.as_ref()))
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
            let (name, ticks) = (String::new(), permit.ticks);
            workers.push(WorkerRow { index, name, state, inside, forks, jobs, tasks, ticks });
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
        let at_ms = |at_ns: u64| at_ns.saturating_sub(begun_ns) as f64 / 1e6;
        for (number, polls) in found.polls {
            *self.new_polls.entry(number).or_default() += polls;
        }
        for (called, took_ns) in found.slow {
            self.note_slow(called, called, None, took_ns as f64 / 1e6, false, now);
        }
        let id = pool.recorder().number();
        Some(PoolFrame {
            id: id.into(),
            name: name(pool, id, sample.permits.len()),
            active: sample.active,
            workers,
            others,
            injected_jobs: sample.injected_jobs,
            injected_tasks: sample.injected_tasks,
            steals: sample.steals,
            wakes: sample.wakes,
            arrows: found.arrows.iter().map(|&(at_ns, from, to)| (at_ms(at_ns), from, to)).collect(),
            arrows_left: found.arrows_left,
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
        self.count_polls(&all);
        let polls = |info: &Info| self.polls.get(&info.number()).map_or(0, |(_, polls)| *polls);
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
            polls: polls(info),
        };
        self.tasks = Tasks { counts, rows: rows.iter().map(row).collect() };
        self.look_at_slow(&all, now);
    }

    /// Adds the polls since the last look to those of the tasks that are there now. A number belongs to another task once its own has ended.
    fn count_polls(&mut self, all: &[Info]) {
        let mut polls = HashMap::with_capacity(self.polls.len());
        for info in all {
            let number = info.number();
            let before =
                self.polls.get(&number).filter(|(id, _)| *id == info.id()).map_or(0, |known| known.1);
            match before + self.new_polls.remove(&number).unwrap_or(0) {
                0 => {}
                n => drop(polls.insert(number, (info.id(), n))),
            }
        }
        self.polls = polls;
        self.new_polls.clear();
    }

    fn look_at_slow(&mut self, all: &[Info], now: Instant) {
        self.slow.iter_mut().for_each(|slow| slow.row.is_running = false);
        for info in all.iter().filter(|info| info.state() == task::State::Running) {
            if info.since().as_nanos() >= SLOW_NS.into() {
                let place = format!("{}:{}", info.site().file(), info.site().line());
                let called = info.name().unwrap_or(&place);
                self.note_slow(called, &place, Some(info), ms(info.since()), true, now);
            }
        }
        self.slow.retain(|slow| now - slow.seen < SLOW_KEPT);
        self.slow.sort_by(|a, b| b.row.longest_ms.total_cmp(&a.row.longest_ms));
        self.slow.truncate(MOST_ROWS);
    }

    /// A poll of the task that is called so has taken so long, or does.
    fn note_slow(
        &mut self,
        called: &str,
        place: &str,
        info: Option<&Info>,
        took_ms: f64,
        is_running: bool,
        now: Instant,
    ) {
        let at = self.slow.iter().position(|slow| slow.called == called).unwrap_or_else(|| {
            let is_named = info.map_or(called == shortened(called), |info| info.name().is_some());
            let row = SlowTask {
                id: info.map_or_else(String::new, |info| info.id().to_string()),
                name: is_named.then(|| called.into()),
                site: if is_named && info.is_none() { String::new() } else { shortened(place) },
                ..SlowTask::default()
            };
            self.slow.push(Slow { called: called.into(), row, seen: now });
            self.slow.len() - 1
        });
        let slow = &mut self.slow[at];
        if let Some(info) = info {
            slow.row.site = site(info.site());
        }
        slow.row.longest_ms = slow.row.longest_ms.max(took_ms);
        slow.row.is_running |= is_running;
        slow.seen = now;
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
        before == cpu_ns
            && now - since >= ASLEEP
            && pool.threads().table().is_runnable(thread.number) == Some(false)
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// What people call a pool.
fn name(pool: &Pool, id: u32, workers: usize) -> String {
    let workers = match workers {
        1 => "1 worker".into(),
        n => format!("{n} workers"),
    };
    if global::is(pool) { format!("global, {workers}") } else { format!("pool {id}, {workers}") }
}

/// The file with the folder that it is in, and the line.
fn site(location: &Location<'_>) -> String {
    let place = format!("{}:{}", location.file(), location.line());
    shortened(&place)
}

/// A place in a source is told by the last of its folders. What is no such place stays as it is.
fn shortened(name: &str) -> String {
    let is_place = name.rsplit_once(':').is_some_and(|(file, line)| {
        file.ends_with(".rs") && !line.is_empty() && line.bytes().all(|c| c.is_ascii_digit())
    });
    let mut separators = name.rmatch_indices(['/', '\\']);
    match separators.nth(1) {
        Some((at, _)) if is_place => name[at + 1..].into(),
        _ => name.into(),
    }
}

/// What a thread is inside of.
fn inside(thread: &ThreadNow, recorded: Option<&Recorded>) -> Inside {
    let does = match thread.doing {
        Doing::Job => "job",
        Doing::Poll => "poll",
        Doing::Tick => "tick",
        Doing::Loop | Doing::Wait => "",
    };
    let Some(closure) = &thread.closure else {
        // The closure is published where it runs; a task's or tick's name is only recorded.
        let runs = recorded.filter(|_| !does.is_empty()).and_then(|recorded| recorded.runs(thread.number));
        return Inside { does, runs: shortened(runs.unwrap_or_default()), since_ms: 0.0 };
    };
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
        assert_eq!(shortened("/a/b/c.rs:7"), "b/c.rs:7");
        assert_eq!(shortened("c.rs:7"), "c.rs:7");
        assert_eq!(shortened("GET /a/b/c"), "GET /a/b/c");
    }
}
