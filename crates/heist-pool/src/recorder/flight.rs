//! The flight recorder: the last while of a program, kept in memory, and written down when something goes wrong.

use super::collect::{self, NO_POOL, Sink, SinkId};
use heist_sync::Parker;
use heist_sync::process::{Origin, PerProcess};
use heist_trace::inside::{Inside, Slice, Step};
use heist_trace::{ChromeWriter, Event, Kind, Lost, name};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, Weak};
use std::time::{Duration, Instant};

/// What a flight recorder keeps, and when it writes by itself.
#[derive(Clone, Debug)]
pub struct Config {
    /// Events are kept for at least this long, if there is room.
    pub min_age: Duration,
    /// The events take no more than this.
    pub max_bytes: usize,
    /// Where it writes by itself.
    pub directory: PathBuf,
    /// Whether a panic makes it write.
    pub on_panic: bool,
    /// A tick that is late by this makes it write.
    pub late_tick: Option<Duration>,
    /// A poll that takes this long makes it write.
    pub slow_poll: Option<Duration>,
}

/// It writes by itself at most once in this time.
pub const AT_MOST_EVERY: Duration = Duration::from_secs(10);

/// So many names of threads are kept without a question whether they are still needed.
const MOST_NAMES: usize = 1 << 12;

#[derive(Debug)]
struct Batch {
    pool: u32,
    events: Box<[Event]>,
    lost: Lost,
}

impl Batch {
    fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.events)
    }

    fn last_ns(&self) -> u64 {
        self.events.last().map_or(0, |event| event.at_ns)
    }
}

/// What is kept.
#[derive(Debug)]
struct Kept {
    config: Config,
    batches: VecDeque<Batch>,
    bytes: usize,
    threads: BTreeMap<(u32, u16), String>,
    /// What each thread is inside of, and the beginning of the last poll that it is inside of and that was told to be slow.
    inside: BTreeMap<(u32, u16), (Inside, Option<u64>)>,
    /// Why to write, if there is a reason.
    reason: Option<String>,
    last_written: Option<Instant>,
    written: u32,
}

impl Kept {
    fn new(config: Config) -> Self {
        Self {
            config,
            batches: VecDeque::new(),
            bytes: 0,
            threads: BTreeMap::new(),
            inside: BTreeMap::new(),
            reason: None,
            last_written: None,
            written: 0,
        }
    }

    fn add(&mut self, batch: Batch) {
        for event in &batch.events {
            self.judge(batch.pool, event);
        }
        self.bytes += batch.bytes();
        self.batches.push_back(batch);
        while self.bytes > self.config.max_bytes && self.batches.len() > 1 {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some(oldest) = self.batches.pop_front() {
            self.bytes -= oldest.bytes();
        }
    }

    fn forget_before(&mut self, at_ns: u64) {
        while self.batches.front().is_some_and(|batch| batch.last_ns() < at_ns) {
            self.forget_oldest();
        }
    }

    /// Names of threads of which nothing is kept any more, in a program that makes many pools.
    fn forget_names(&mut self) {
        if self.threads.len() > MOST_NAMES {
            let kept: BTreeSet<u32> = self.batches.iter().map(|batch| batch.pool).collect();
            self.threads.retain(|(pool, _), _| kept.contains(pool));
            self.inside.retain(|(pool, _), _| kept.contains(pool));
        }
    }

    /// Whether this event is a reason to write.
    fn judge(&mut self, pool: u32, event: &Event) {
        let of = (pool, event.thread);
        let (inside, told) = self.inside.entry(of).or_default();
        let told = *told;
        let mut ended = None;
        inside.take(event, &mut |step| {
            if let Step::Ended { slice, is_known: true, .. } = step
                && slice.kind == Kind::PollStart
                && told < Some(slice.start_ns)
            {
                ended = Some(slice);
            }
        });
        let tick = inside.open().iter().rfind(|slice| slice.kind == Kind::TickStart).copied();
        if let Some(poll) = ended {
            self.judge_poll(of, &poll, event.at_ns, "took");
        }
        if event.kind == Kind::Late {
            let late = Duration::from_micros(event.arg.into());
            let called = tick.as_ref().map_or_else(String::new, called);
            if self.config.late_tick.is_some_and(|most| late >= most) {
                self.reason.get_or_insert_with(|| format!("a tick{called} was late by {late:?}"));
            }
        }
    }

    fn judge_poll(&mut self, (pool, thread): (u32, u16), poll: &Slice, at_ns: u64, has: &str) -> bool {
        let took = Duration::from_nanos(at_ns.saturating_sub(poll.start_ns));
        let is_slow = self.config.slow_poll.is_some_and(|most| took >= most);
        if is_slow {
            self.reason.get_or_insert_with(|| {
                format!("a poll{} on thread {thread} of pool {pool} {has} {took:?}", called(poll))
            });
        }
        is_slow
    }

    /// Polls that have not ended are slow as well.
    fn judge_open(&mut self, at_ns: u64) {
        let mut threads = std::mem::take(&mut self.inside);
        for (&of, (inside, told)) in &mut threads {
            // Those further in have begun later.
            for poll in inside.open().iter().filter(|slice| slice.kind == Kind::PollStart) {
                if *told < Some(poll.start_ns) && self.judge_poll(of, poll, at_ns, "has been running for") {
                    *told = Some(poll.start_ns);
                }
            }
        }
        self.inside = threads;
    }

    fn write(&self, w: impl Write, at_ns: u64) -> io::Result<()> {
        let mut out = ChromeWriter::new(BufWriter::new(w))?;
        let (mut pools, mut lost) = (BTreeMap::new(), 0);
        for batch in &self.batches {
            pools.entry(batch.pool).or_insert(());
            lost += batch.lost.0;
            batch.events.iter().try_for_each(|event| out.event(batch.pool, event, name::text))?;
        }
        for &pool in pools.keys() {
            let name = if pool == NO_POOL {
                "the program's own threads".into()
            } else {
                format!("heist pool {pool}")
            };
            out.process(pool, &name)?;
        }
        for (&(pool, thread), name) in self.threads.iter().filter(|((pool, _), _)| pools.contains_key(pool)) {
            out.thread(pool, thread, name)?;
        }
        out.lost(NO_POOL, lost)?;
        out.finish(at_ns)?.flush()
    }

    /// Whether it has not written by itself lately.
    fn may_write(&self) -> bool {
        self.last_written.is_none_or(|last| last.elapsed() >= AT_MOST_EVERY)
    }

    /// Writes because of `reason`, unless it has done so lately.
    fn write_for(&mut self, reason: &str, at_ns: u64) {
        if !self.may_write() {
            return;
        }
        self.last_written = Some(Instant::now());
        self.written += 1;
        let name = format!("heist-flight-{}-{}.json", std::process::id(), self.written);
        let path = self.config.directory.join(name);
        let result = File::create(&path).and_then(|file| self.write(file, at_ns));
        let path = path.display();
        match result {
            Ok(()) => heist_sync::warn(format_args!("{reason}: what happened before is in {path}")),
            Err(error) => {
                heist_sync::warn(format_args!("{reason}, but {path} could not be written: {error}"))
            }
        }
    }
}

/// What it is called, for a sentence.
fn called(slice: &Slice) -> String {
    name::text(slice.name).map_or_else(String::new, |text| format!(" ({text:?})"))
}

type Shared = Arc<Mutex<Kept>>;

fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

struct FlightSink(Shared);

impl Sink for FlightSink {
    fn batch(&mut self, pool: u32, thread: u16, name: Option<&str>, events: &[Event], lost: Lost) {
        let mut kept = lock(&self.0);
        if let Some(name) = name
            && kept.threads.get(&(pool, thread)).is_none_or(|before| before != name)
        {
            kept.threads.insert((pool, thread), name.into());
        }
        kept.add(Batch { pool, events: events.into(), lost });
    }

    fn turn(&mut self, at_ns: u64) -> bool {
        let mut kept = lock(&self.0);
        let min_age_ns = u64::try_from(kept.config.min_age.as_nanos()).unwrap_or(u64::MAX);
        kept.forget_before(at_ns.saturating_sub(min_age_ns));
        kept.forget_names();
        kept.judge_open(at_ns);
        if let Some(reason) = kept.reason.take() {
            kept.write_for(&reason, at_ns);
        }
        true
    }

    fn end(&mut self, _: u64) {}
}

/// A flight recorder that is on, until it is dropped.
#[derive(Debug)]
pub struct Flight {
    kept: Shared,
    id: SinkId,
    origin: Origin,
}

impl Flight {
    /// Starts it.
    ///
    /// # Errors
    /// If its thread cannot be started.
    pub fn start(config: Config) -> io::Result<Self> {
        let on_panic = config.on_panic;
        let kept = Arc::new(Mutex::new(Kept::new(config)));
        let id = collect::add(Box::new(FlightSink(Arc::clone(&kept))))?;
        if on_panic {
            write_on_panic(&kept);
        }
        Ok(Self { kept, id, origin: Origin::here() })
    }

    /// Writes what it has to `path`, also if it has written lately. The writing is done on a thread of its own.
    ///
    /// # Errors
    /// Those of the file; also in a child process, which has nothing to write.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        if self.origin.is_foreign() {
            return Err(io::Error::other(
                "the flight recorder was started before a fork, in another process",
            ));
        }
        let (kept, path) = (Arc::clone(&self.kept), path.to_owned());
        // The caller may have little stack.
        let writer = std::thread::Builder::new().name("heist-flight".into()).spawn(move || {
            collect::look_now(Duration::from_secs(1));
            let file = File::create(path)?;
            lock(&kept).write(file, heist_trace::now_ns())
        })?;
        writer.join().unwrap_or_else(|_| Err(io::Error::other("the writer has panicked")))
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if !self.origin.is_foreign() {
            collect::remove(&self.id);
        }
    }
}

/// Those that write when something panics.
static ON_PANIC: PerProcess<Mutex<Vec<Weak<Mutex<Kept>>>>> =
    PerProcess::new(Mutex::new(Vec::new()), Mutex::default);

/// From here on a panic makes it write, before whatever the program does about panics.
fn write_on_panic(kept: &Shared) {
    static HOOK: Once = Once::new();
    {
        let mut all = ON_PANIC.get().lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|kept| kept.strong_count() > 0);
        all.push(Arc::downgrade(kept));
    }
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            note_panic(info.location());
            before(info);
        }));
    });
}

/// Whoever waits for it goes on when it is dropped.
struct Done(Arc<Parker>);

impl Drop for Done {
    fn drop(&mut self) {
        self.0.unpark();
    }
}

fn note_panic(location: Option<&Location<'_>>) {
    // A thread that panics while it has one of these locks does without.
    let Ok(all) = ON_PANIC.get().try_lock() else { return };
    let all: Vec<Shared> = all.iter().filter_map(Weak::upgrade).collect();
    let place = location.map_or_else(String::new, |at| format!(" at {}:{}", at.file(), at.line()));
    for kept in all {
        // A program that catches many panics pays for one in ten seconds.
        if !kept.try_lock().is_ok_and(|kept| kept.may_write()) {
            continue;
        }
        // The panicking thread may have little stack, and hold any lock of the program's. So another one writes, and this one waits for it, but
        // not for ever: it may be the collector's own.
        let here = Arc::new(Parker::new());
        let done = Done(Arc::clone(&here));
        let reason = format!("a panic{place}");
        let write = move || {
            let _done = done;
            collect::look_now(Duration::from_millis(500));
            if let Ok(mut kept) = kept.try_lock() {
                kept.write_for(&reason, heist_trace::now_ns());
            }
        };
        if heist_sync::start_thread("heist-flight", Box::new(write)).is_ok() {
            here.park_timeout(Duration::from_secs(2));
        }
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    fn config() -> Config {
        Config {
            min_age: Duration::from_secs(1),
            max_bytes: 10_000,
            directory: PathBuf::new(),
            on_panic: false,
            late_tick: Some(Duration::from_millis(5)),
            slow_poll: Some(Duration::from_millis(50)),
        }
    }

    fn at(at_ns: u64, kind: Kind, arg: u32) -> Event {
        Event { at_ns, kind, thread: 3, worker: None, arg }
    }

    fn batch(events: impl IntoIterator<Item = Event>) -> Batch {
        Batch { pool: 1, events: events.into_iter().collect(), lost: Lost(0) }
    }

    #[test]
    fn it_keeps_what_is_young_and_never_more_than_it_may() {
        let mut kept = Kept::new(config());
        for n in 0..1_000 {
            kept.add(batch((0..10).map(|k| at(10 * n + k, Kind::Lend, 0))));
            assert!(kept.bytes <= 10_000);
        }
        assert!(kept.batches.len() > 20);
        assert_eq!(kept.batches.back().map(Batch::last_ns), Some(9_999));
        kept.forget_before(9_985);
        assert_eq!(kept.batches.len(), 2);
        assert_eq!(kept.bytes, kept.batches.iter().map(Batch::bytes).sum());
    }

    #[test]
    fn late_ticks_and_slow_polls_are_reasons_and_others_are_not() {
        let ms = 1_000_000;
        let reason = |events: &[Event], now_ns: u64| {
            let mut kept = Kept::new(config());
            kept.add(batch(events.iter().copied()));
            kept.judge_open(now_ns);
            let reason = kept.reason.take();
            kept.judge_open(now_ns + 1);
            assert_eq!(kept.reason, None, "it is told once");
            reason
        };
        assert_eq!(reason(&[at(0, Kind::Late, 4_999)], 0), None);
        assert!(reason(&[at(0, Kind::Late, 5_000)], 0).is_some());
        let (start, end) = (at(0, Kind::PollStart, 7), |at_ms: u64| at(at_ms * ms, Kind::PollEnd, 7));
        assert_eq!(reason(&[start, end(49)], 100 * ms), None);
        assert!(reason(&[start, end(50)], 100 * ms).unwrap().contains("took 50ms"));
        assert!(reason(&[start], 60 * ms).unwrap().contains("has been running for 60ms"));
        // A poll on top of another one does not hide it, and what was lost may have been its end.
        let inner = [at(ms, Kind::PollStart, 8), at(2 * ms, Kind::PollEnd, 8)];
        assert!(reason(&[start, inner[0], inner[1], end(50)], 60 * ms).unwrap().contains("took 50ms"));
        assert_eq!(reason(&[start, at(40 * ms, Kind::Gap, 5), end(70)], 100 * ms), None);
    }
}
