//! What one snapshot shows, as a plain value, and that value as JSON of a bounded size.

use std::fmt::Write;

/// No frame is longer than this.
pub const MOST_BYTES: usize = 64 << 10;

/// The most arrows of a frame.
pub const MOST_ARROWS: usize = 200;

/// A snapshot of the program.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// Counts the snapshots.
    pub seq: u64,
    /// When, in milliseconds since the view began.
    pub at_ms: f64,
    /// The program's name.
    pub program: String,
    /// The process's number.
    pub pid: u32,
    /// On how many cores it may run.
    pub cores: usize,
    /// Its pools, the global one first.
    pub pools: Vec<PoolFrame>,
    /// Its tasks.
    pub tasks: Tasks,
    /// Tasks that have held a worker for long, the longest first.
    pub slow: Vec<SlowTask>,
    /// Its ticks.
    pub ticks: Vec<TickRow>,
    /// Ticks that are not among these.
    pub ticks_left: usize,
    /// What the page says of a demonstration.
    pub demo: Option<DemoNow>,
    /// Whether it was made of a trace, which has no tables.
    pub is_recording: bool,
}

/// A pool in a [`Frame`].
#[derive(Clone, Debug, Default)]
pub struct PoolFrame {
    /// Tells it from the others.
    pub id: u64,
    /// What people call it.
    pub name: String,
    /// How many threads may run at once.
    pub active: usize,
    /// By index.
    pub workers: Vec<WorkerRow>,
    /// Threads without a permit.
    pub others: Vec<ThreadRow>,
    /// Jobs in the queue that all share.
    pub injected_jobs: usize,
    /// Tasks in the queue that all share.
    pub injected_tasks: usize,
    /// How often its threads have stolen since it was built.
    pub steals: u64,
    /// How often its threads were woken since it was built.
    pub wakes: u64,
    /// Steals since the last frame: when, from which index, to which.
    pub arrows: Vec<(f64, u16, u16)>,
    /// Steals that are not among these.
    pub arrows_left: usize,
}

/// What a worker or thread is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum State {
    /// It runs the program's code.
    Working,
    /// It looks for work.
    Searching,
    /// It sleeps, because there is nothing to do.
    #[default]
    Parked,
    /// It waits for other work.
    Waiting,
    /// It is inside of the program's code and uses no CPU.
    Blocked,
    /// The pool does not use it at present.
    Inactive,
}

impl State {
    /// The word for it on the page.
    pub fn word(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Searching => "searching",
            Self::Parked => "parked",
            Self::Waiting => "waiting",
            Self::Blocked => "blocked",
            Self::Inactive => "inactive",
        }
    }
}

/// What a thread is inside of.
#[derive(Clone, Debug, Default)]
pub struct Inside {
    /// `job`, `poll`, `tick` or nothing.
    pub does: &'static str,
    /// Its name, or where it was called.
    pub runs: String,
    /// For how long, in milliseconds.
    pub since_ms: f64,
}

/// A worker: one permit, and the queues of the thread that holds it.
#[derive(Clone, Debug, Default)]
pub struct WorkerRow {
    /// The index.
    pub index: u16,
    /// What it is called, if that is not its index.
    pub name: String,
    /// What it is doing.
    pub state: State,
    /// What it is inside of.
    pub inside: Inside,
    /// Pending forks.
    pub forks: usize,
    /// Spawned jobs.
    pub jobs: usize,
    /// Ready tasks.
    pub tasks: usize,
    /// Ticks that wait until they are due.
    pub ticks: usize,
}

/// A thread without a permit.
#[derive(Clone, Debug, Default)]
pub struct ThreadRow {
    /// Its number among the pool's threads.
    pub thread: u16,
    /// Its name.
    pub name: String,
    /// Why it has none.
    pub role: &'static str,
    /// What it is doing.
    pub state: State,
    /// What it is inside of.
    pub inside: Inside,
    /// What waits in its queues.
    pub queued: usize,
}

/// The program's tasks.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    /// How many there are: running, scheduled, waiting, leaked, done.
    pub counts: [usize; 5],
    /// Some of them, the most telling first.
    pub rows: Vec<TaskRow>,
}

/// The words for the states of a task, in the order of [`Tasks::counts`].
pub const TASK_STATES: [&str; 5] = ["running", "scheduled", "waiting", "leaked", "done"];

/// A task.
#[derive(Clone, Debug, Default)]
pub struct TaskRow {
    /// Its number, as it is printed elsewhere.
    pub id: String,
    /// Its name.
    pub name: Option<String>,
    /// Where it was spawned.
    pub site: String,
    /// Its place in [`TASK_STATES`].
    pub state: usize,
    /// For how long, in milliseconds.
    pub since_ms: f64,
    /// How often it was polled since somebody looks.
    pub polls: u64,
}

/// A task that has held a worker for long.
#[derive(Clone, Debug, Default)]
pub struct SlowTask {
    /// Its number, as it is printed elsewhere.
    pub id: String,
    /// Its name.
    pub name: Option<String>,
    /// Where it was spawned.
    pub site: String,
    /// The longest of its polls that were seen, in milliseconds.
    pub longest_ms: f64,
    /// Whether that goes on.
    pub is_running: bool,
}

/// A tick; times are in milliseconds, over the last 5 seconds.
#[derive(Clone, Debug, Default)]
pub struct TickRow {
    /// Its name.
    pub name: Option<String>,
    /// Where it was spawned.
    pub site: String,
    /// How often it should run.
    pub period_ms: f64,
    /// Runs per second.
    pub tps: f64,
    /// How long runs took: the mean, and the longest.
    pub took_ms: (f64, f64),
    /// How late they began: the mean, and the latest.
    pub late_ms: (f64, f64),
    /// Periods that were skipped since the beginning.
    pub skipped: u64,
}

/// What the page says of a demonstration.
#[derive(Clone, Debug, Default)]
pub struct DemoNow {
    /// Whether its work goes on.
    pub runs: bool,
    /// What it is.
    pub note: String,
}

/// What each part of a frame may take, so that none crowds out another. What all of them leave is for the frame's own words.
mod share {
    pub const POOLS: usize = 16;
    pub const WORKERS: usize = 18 << 10;
    pub const OTHERS: usize = 3 << 10;
    pub const ARROWS: usize = 7 << 10;
    pub const TASKS: usize = 14 << 10;
    pub const SLOW: usize = 3 << 10;
    pub const TICKS: usize = 7 << 10;
}

/// The longest name that is shown, in characters; what is longer ends in an ellipsis.
const MOST_NAME: usize = 120;
const MOST_NOTE: usize = 500;

impl Frame {
    /// The frame as one line of JSON, at most [`MOST_BYTES`] long. What does not fit is left out and counted.
    pub fn to_json(&self) -> String {
        let mut out = String::with_capacity(8 << 10);
        let _ = write!(out, "{{\"v\":1,\"seq\":{},\"at\":{:.2},\"program\":", self.seq, finite(self.at_ms));
        string(&mut out, &self.program, MOST_NAME);
        let _ = write!(out, ",\"pid\":{},\"cores\":{},\"pools\":[", self.pid, self.cores);
        let mut budget = Budget { workers: share::WORKERS, others: share::OTHERS, arrows: share::ARROWS };
        for (n, pool) in self.pools.iter().take(share::POOLS).enumerate() {
            if n > 0 {
                out.push(',');
            }
            pool.write(&mut out, &mut budget);
        }
        let _ = write!(out, "],\"pools_left\":{}", self.pools.len().saturating_sub(share::POOLS));
        self.tasks.write(&mut out);
        list(&mut out, "slow", &self.slow, 0, share::SLOW, SlowTask::write);
        list(&mut out, "ticks", &self.ticks, self.ticks_left, share::TICKS, TickRow::write);
        if self.is_recording {
            out.push_str(",\"recording\":true");
        }
        if let Some(demo) = &self.demo {
            let _ = write!(out, ",\"demo\":{{\"runs\":{},\"note\":", demo.runs);
            string(&mut out, &demo.note, MOST_NOTE);
            out.push('}');
        }
        out.push('}');
        debug_assert!(out.len() <= MOST_BYTES, "a frame of {} bytes", out.len());
        out
    }
}

/// What is left for the parts that all pools share.
struct Budget {
    workers: usize,
    others: usize,
    arrows: usize,
}

impl PoolFrame {
    fn write(&self, out: &mut String, budget: &mut Budget) {
        let _ = write!(out, "{{\"id\":\"{}\",\"name\":", self.id);
        string(out, &self.name, MOST_NAME / 4);
        let _ = write!(
            out,
            ",\"active\":{},\"injected_jobs\":{},\"injected_tasks\":{},\"steals\":{},\"wakes\":{}",
            self.active, self.injected_jobs, self.injected_tasks, self.steals, self.wakes
        );
        budget.workers -= list(out, "workers", &self.workers, 0, budget.workers, WorkerRow::write);
        budget.others -= list(out, "others", &self.others, 0, budget.others, ThreadRow::write);
        let arrows = &self.arrows[..self.arrows.len().min(MOST_ARROWS)];
        let more = self.arrows_left + self.arrows.len() - arrows.len();
        budget.arrows -= list(out, "arrows", arrows, more, budget.arrows, |&(at_ms, from, to), out| {
            let _ = write!(out, "[{:.2},{from},{to}]", finite(at_ms));
        });
        out.push('}');
    }
}

impl Inside {
    fn write(&self, out: &mut String) {
        let _ = write!(out, ",\"does\":\"{}\",\"runs\":", self.does);
        string(out, &self.runs, MOST_NAME / 2);
        let _ = write!(out, ",\"since\":{:.0}", finite(self.since_ms));
    }
}

impl WorkerRow {
    fn write(&self, out: &mut String) {
        let Self { index, name, state, inside, forks, jobs, tasks, ticks } = self;
        let _ = write!(out, "{{\"index\":{index},\"state\":\"{}\"", state.word());
        if !name.is_empty() {
            out.push_str(",\"name\":");
            string(out, name, MOST_NAME / 2);
        }
        inside.write(out);
        let _ = write!(out, ",\"forks\":{forks},\"jobs\":{jobs},\"tasks\":{tasks},\"ticks\":{ticks}}}");
    }
}

impl ThreadRow {
    fn write(&self, out: &mut String) {
        let Self { thread, name, role, state, inside, queued } = self;
        let _ = write!(out, "{{\"thread\":{thread},\"name\":");
        string(out, name, MOST_NAME / 2);
        let _ = write!(out, ",\"role\":\"{role}\",\"state\":\"{}\",\"queued\":{queued}", state.word());
        inside.write(out);
        out.push('}');
    }
}

impl Tasks {
    fn write(&self, out: &mut String) {
        let total: usize = self.counts.iter().sum();
        let _ = write!(out, ",\"tasks\":{{\"total\":{total}");
        for (state, n) in TASK_STATES.iter().zip(self.counts) {
            let _ = write!(out, ",\"{state}\":{n}");
        }
        let more = total.saturating_sub(self.rows.len());
        list(out, "rows", &self.rows, more, share::TASKS, TaskRow::write);
        out.push('}');
    }
}

/// `,"name":..` of something that may have none, and where it comes from.
fn named(out: &mut String, name: Option<&str>, site: &str) {
    out.push_str("\"name\":");
    match name {
        Some(name) => string(out, name, MOST_NAME),
        None => out.push_str("null"),
    }
    out.push_str(",\"site\":");
    string(out, site, MOST_NAME);
}

impl TaskRow {
    fn write(&self, out: &mut String) {
        let _ = write!(out, "{{\"id\":\"{}\",", self.id);
        named(out, self.name.as_deref(), &self.site);
        let state = TASK_STATES.get(self.state).unwrap_or(&"waiting");
        let (since, polls) = (finite(self.since_ms), self.polls);
        let _ = write!(out, ",\"state\":\"{state}\",\"since\":{since:.0},\"polls\":{polls}}}");
    }
}

impl SlowTask {
    fn write(&self, out: &mut String) {
        let _ = write!(out, "{{\"id\":\"{}\",", self.id);
        named(out, self.name.as_deref(), &self.site);
        let _ = write!(out, ",\"longest\":{:.1},\"running\":{}}}", finite(self.longest_ms), self.is_running);
    }
}

impl TickRow {
    fn write(&self, out: &mut String) {
        out.push('{');
        named(out, self.name.as_deref(), &self.site);
        let (took, late) = (self.took_ms, self.late_ms);
        let _ = write!(
            out,
            ",\"period\":{:.3},\"tps\":{:.2},\"mspt\":{:.3},\"mspt_max\":{:.3},\"late\":{:.3},\"late_max\":{:.3},\"skipped\":{}}}",
            finite(self.period_ms),
            finite(self.tps),
            finite(took.0),
            finite(took.1),
            finite(late.0),
            finite(late.1),
            self.skipped
        );
    }
}

/// JSON has no infinities.
fn finite(number: f64) -> f64 {
    if number.is_finite() { number.clamp(-1e15, 1e15) } else { 0.0 }
}

/// `,"key":[..],"key_left":n`, as many of the items as fit in `most` bytes. `more` others are not among the items. Returns how many bytes the items
/// take.
fn list<T>(
    out: &mut String,
    key: &str,
    items: &[T],
    more: usize,
    most: usize,
    write_item: impl Fn(&T, &mut String),
) -> usize {
    let _ = write!(out, ",\"{key}\":[");
    let begin = out.len();
    let mut written = 0;
    for item in items {
        let end = out.len();
        if written > 0 {
            out.push(',');
        }
        write_item(item, out);
        if out.len() - begin > most {
            out.truncate(end);
            break;
        }
        written += 1;
    }
    let taken = out.len() - begin;
    let left = more + items.len() - written;
    let key = if key == "rows" { String::new() } else { format!("{key}_") };
    let _ = write!(out, "],\"{key}left\":{left}");
    taken
}

/// A string of JSON, of at most so many characters. What could end a `<script>` is escaped, too.
pub(crate) fn string(out: &mut String, text: &str, most: usize) {
    out.push('"');
    for (n, c) in text.chars().enumerate() {
        if n == most {
            out.push('…');
            break;
        }
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '<' | '>' | '&' | '\u{0}'..='\u{1f}' | '\u{7f}' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn read(frame: &Frame) -> Value {
        let text = frame.to_json();
        assert!(text.len() <= MOST_BYTES, "{} bytes", text.len());
        assert!(!text.contains('\n') && !text.contains('<'));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    #[test]
    fn an_empty_frame_is_whole() {
        let told = read(&Frame::default());
        assert_eq!(told["tasks"]["total"], 0);
        assert_eq!(told["pools"].as_array().unwrap().len(), 0);
        assert_eq!(told["demo"], Value::Null);
    }

    #[test]
    fn names_arrive_as_they_were() {
        let names = ["<img src=x onerror=alert(1)>", "</script>", "a \"b\" \\ \n\t\u{0}\u{2028} é 🦀", ""];
        let row = |name: &&str| TaskRow { name: Some(String::from(*name)), ..TaskRow::default() };
        let tasks = Tasks { counts: [0, 0, 4, 0, 0], rows: names.iter().map(row).collect() };
        let told = read(&Frame { tasks, ..Frame::default() });
        for (name, row) in names.iter().zip(told["tasks"]["rows"].as_array().unwrap()) {
            assert_eq!(row["name"], *name);
        }
    }

    /// The worst that a program can do: everything at its longest, in characters that escape to six bytes.
    #[test]
    fn a_frame_is_cut_and_says_by_how_much() {
        let nasty = "\u{1}".repeat(10_000);
        let inside = Inside { does: "poll", runs: nasty.clone(), since_ms: f64::MAX };
        let worker = |index| WorkerRow {
            index,
            name: nasty.clone(),
            state: State::Searching,
            inside: inside.clone(),
            forks: usize::MAX,
            jobs: usize::MAX,
            tasks: usize::MAX,
            ticks: usize::MAX,
        };
        let thread = |thread| ThreadRow {
            thread,
            name: nasty.clone(),
            role: "has lent its permit",
            state: State::Waiting,
            inside: inside.clone(),
            queued: usize::MAX,
        };
        let pool = |id| PoolFrame {
            id,
            name: nasty.clone(),
            active: usize::MAX,
            workers: (0..1000).map(worker).collect(),
            others: (0..300).map(thread).collect(),
            injected_jobs: usize::MAX,
            injected_tasks: usize::MAX,
            steals: u64::MAX,
            wakes: u64::MAX,
            arrows: vec![(1e12, u16::MAX, u16::MAX); 5000],
            arrows_left: 7,
        };
        let task = |id: usize| TaskRow {
            id: format!("{id}.4294967295"),
            name: Some(nasty.clone()),
            site: nasty.clone(),
            state: 2,
            since_ms: f64::INFINITY,
            polls: u64::MAX,
        };
        let slow = |id: usize| SlowTask {
            id: format!("{id}.4294967295"),
            name: Some(nasty.clone()),
            site: nasty.clone(),
            longest_ms: f64::MAX,
            is_running: true,
        };
        let tick = |_| TickRow {
            name: Some(nasty.clone()),
            site: nasty.clone(),
            period_ms: f64::MAX,
            tps: f64::MAX,
            took_ms: (f64::MAX, f64::MAX),
            late_ms: (f64::MAX, f64::NAN),
            skipped: u64::MAX,
        };
        let frame = Frame {
            seq: u64::MAX,
            at_ms: f64::MAX,
            program: nasty.clone(),
            pid: u32::MAX,
            cores: usize::MAX,
            pools: (0..40).map(pool).collect(),
            tasks: Tasks { counts: [0, 0, 10_000, 0, 0], rows: (0..10_000).map(task).collect() },
            slow: (0..1000).map(slow).collect(),
            ticks: (0..1000).map(tick).collect(),
            ticks_left: 9000,
            demo: Some(DemoNow { runs: true, note: nasty.clone() }),
            is_recording: true,
        };
        let told = read(&frame);
        let len = |value: &Value| value.as_array().unwrap().len() as u64;
        let first = &told["pools"][0];
        assert!(len(&first["workers"]) > 10);
        assert_eq!(len(&first["workers"]) + first["workers_left"].as_u64().unwrap(), 1000);
        assert_eq!(len(&first["arrows"]), MOST_ARROWS as u64);
        assert_eq!(first["arrows_left"], 5007 - MOST_ARROWS as u64);
        assert_eq!(told["pools"][9]["workers_left"], 1000);
        assert_eq!(len(&told["pools"]) + told["pools_left"].as_u64().unwrap(), 40);
        assert_eq!(len(&told["tasks"]["rows"]) + told["tasks"]["left"].as_u64().unwrap(), 10_000);
        assert_eq!(len(&told["ticks"]) + told["ticks_left"].as_u64().unwrap(), 10_000);
        assert_eq!(len(&told["slow"]) + told["slow_left"].as_u64().unwrap(), 1000);
    }

    #[test]
    fn what_fits_is_not_cut() {
        let workers = (0..64).map(|index| WorkerRow { index, ..WorkerRow::default() }).collect();
        let pools = vec![PoolFrame { workers, ..PoolFrame::default() }];
        let told = read(&Frame { pools, ..Frame::default() });
        assert_eq!(told["pools"][0]["workers"].as_array().unwrap().len(), 64);
        assert_eq!(told["pools"][0]["workers_left"], 0);
    }
}
